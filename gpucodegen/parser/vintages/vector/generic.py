"""Generic forms of 2019 to 2024 of the vector dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import ArrayAttr, DenseArrayAttr, IntegerAttr, OpaqueAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS
from gpucodegen.ir.types import I32, I64, INDEX, FloatType, element_type
from gpucodegen.parser.parser import Parser

OldForm = Callable[[Parser, State], None]


def as_index(p: Parser, value: Value) -> Value:
    """The value, converted where it is no index."""
    if value.type == INDEX:
        return value
    result = Value(INDEX, value.name, value.location)
    p.emit(Operation("arith.index_cast", (value,), (result,), location=value.location))
    return result


def at(positions: Sequence[Value]) -> DenseArrayAttr:
    """The static part of a position that is not known before it runs."""
    return DenseArrayAttr(I64, (DYNAMIC_MARK,) * len(positions))


def typed_kind(p: Parser, state: State) -> None:
    """``max`` and ``min`` became kinds of their own for integers and floats."""
    del p
    word = str(state.attributes.get("kind")).strip('"').removeprefix("#vector.kind<")
    if word.removesuffix(">") in ("max", "min"):
        is_float = isinstance(element_type(state.operands[0].type), FloatType)
        suffix = "numf" if is_float else "si"
        today = f"#vector.kind<{word.removesuffix('>')}{suffix}>"
        state.attributes["kind"] = OpaqueAttr(today)


def _arrays(*names: str, old: str = "") -> OldForm:
    """``name = [1, 0]`` is ``array<i64: 1, 0>`` today; ``old`` is a former name."""

    def adapt(p: Parser, state: State) -> None:
        del p
        for name in names:
            value = state.attributes.pop(old, None) or state.attributes.get(name)
            if isinstance(value, ArrayAttr):
                entries = (e for e in value.values if isinstance(e, IntegerAttr))
                value = DenseArrayAttr(I64, tuple(e.value for e in entries))
            if value is not None:
                state.attributes[name] = value

    return adapt


def _position(first: int) -> OldForm:
    """``position = [1]``; positions that are operands start at ``first``."""
    adapt_array = _arrays("static_position", old="position")

    def adapt(p: Parser, state: State) -> None:
        adapt_array(p, state)
        if "static_position" not in state.attributes:
            position = [as_index(p, v) for v in state.operands[first:]]
            state.operands[first:] = position
            state.attributes["static_position"] = at(position)

    return adapt


def _segments(shaped: int, fills: int) -> OldForm:
    """Transfers without segment sizes: no mask; ``fills`` operands follow indices."""

    def adapt(p: Parser, state: State) -> None:
        del p
        if OPERAND_SEGMENTS not in state.attributes:
            count = len(state.operands) - shaped - fills
            sizes = (*(1,) * shaped, count, *(1,) * fills, 0)
            state.attributes[OPERAND_SEGMENTS] = DenseArrayAttr(I32, sizes)

    return adapt


GENERIC: dict[str, OldForm] = {
    "vector.constant_mask": _arrays("mask_dim_sizes"),
    "vector.extract": _position(1),
    "vector.insert": _position(2),
    "vector.multi_reduction": _arrays("reduction_dims"),
    "vector.reduction": typed_kind,
    "vector.shuffle": _arrays("mask"),
    "vector.transfer_read": _segments(1, 1),
    "vector.transfer_write": _segments(2, 0),
    "vector.transpose": _arrays("permutation", old="transp"),
}
