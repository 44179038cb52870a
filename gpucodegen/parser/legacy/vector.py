"""Text of 2019 to 2024 of the vector dialect, in custom and generic forms.

``FORMS`` are read after a name that no longer exists, ``SPELLINGS`` after a name in use
whose operands were once in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework.syntax import State, Use, read_type
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import ArrayAttr, DenseArrayAttr, IntegerAttr, OpaqueAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Block, Operation, Region, Value
from gpucodegen.ir.types import (
    I32,
    I64,
    INDEX,
    FloatType,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.parser.legacy import generic_forms
from gpucodegen.parser.legacy.text_2018 import FORMS as FORMS_OF_2018
from gpucodegen.parser.legacy.text_2019 import FORMS as FORMS_OF_2019
from gpucodegen.parser.legacy.text_2019 import OldForm, renamed
from gpucodegen.parser.parser import Parser


def as_index(p: Parser, value: Value) -> Value:
    """The value, cast to ``index`` if necessary."""
    if value.type == INDEX:
        return value
    result = Value(INDEX, value.name, value.location)
    p.emit(Operation("arith.index_cast", (value,), (result,), location=value.location))
    return result


def at(positions: Sequence[Value]) -> DenseArrayAttr:
    """The static part of a position: markers for dynamic entries."""
    return DenseArrayAttr(I64, (DYNAMIC_MARK,) * len(positions))


def typed_kind(_: Parser, state: State) -> None:
    """Map ``max`` and ``min`` to today's kinds for integers and floats."""
    word = str(state.attributes.get("kind")).strip('"').removeprefix("#vector.kind<")
    if word.removesuffix(">") in ("max", "min"):
        is_float = isinstance(element_type(state.operands[0].type), FloatType)
        suffix = "numf" if is_float else "si"
        today = f"#vector.kind<{word.removesuffix('>')}{suffix}>"
        state.attributes["kind"] = OpaqueAttr(today)


def _arrays(*names: str, old: str = "") -> OldForm:
    """Convert ``name = [1, 0]`` to ``array<i64: 1, 0>``; ``old`` is a former name."""

    def adapt(_: Parser, state: State) -> None:
        for name in names:
            value = state.attributes.pop(old, None) or state.attributes.get(name)
            if isinstance(value, ArrayAttr):
                entries = (e for e in value.values if isinstance(e, IntegerAttr))
                value = DenseArrayAttr(I64, tuple(e.value for e in entries))
            if value is not None:
                state.attributes[name] = value

    return adapt


def _position(first: int) -> OldForm:
    """Convert ``position = [1]``; dynamic positions are operands from ``first`` on."""
    adapt_array = _arrays("static_position", old="position")

    def adapt(p: Parser, state: State) -> None:
        adapt_array(p, state)
        if "static_position" not in state.attributes:
            position = [as_index(p, v) for v in state.operands[first:]]
            state.operands[first:] = position
            state.attributes["static_position"] = at(position)

    return adapt


def _segments(shaped: int, fills: int) -> OldForm:
    """Add segment sizes to transfers: no mask; ``fills`` operands follow indices."""

    def adapt(_: Parser, state: State) -> None:
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


Spelling = Callable[[Parser, State], bool]

# -- single elements -------------------------------------------------------------------


def _bracketed(p: Parser) -> list[Value]:
    """``[%i : i32]`` or ``[]``, the position as an index."""
    p.expect("[")
    if p.accept("]"):
        return []
    use = p.use()
    p.expect(":")
    value = p.resolve(use, p.type())
    p.expect("]")
    return [as_index(p, value)]


def _extractelement(p: Parser, state: State) -> None:
    """``vector.extractelement %v[%i : i32] : vector``; numbers in 2019."""
    resume, vector = p.start, p.use()
    if p.peek()[:1].isdigit():
        p.move_to(resume)
        renamed("vector.extract")(p, state)
        return
    position = _bracketed(p)
    state.name = "vector.extract"
    ty = read_type(p, state)
    state.operands = [p.resolve(vector, ty), *position]
    state.attributes["static_position"] = at(position)
    state.result_types = [element_type(ty)]


def _insertelement(p: Parser, state: State) -> None:
    """``vector.insertelement %x, %v[%i : i32] : vector``."""
    value = p.use()
    p.expect(",")
    vector, position = p.use(), _bracketed(p)
    state.name = "vector.insert"
    ty = read_type(p, state)
    element = p.resolve(value, element_type(ty))
    state.operands = [element, p.resolve(vector, ty), *position]
    state.attributes["static_position"] = at(position)
    state.result_types = [ty]


# -- regions ---------------------------------------------------------------------------


def _warp_execute(p: Parser, state: State) -> None:
    """``vector.warp_execute_on_lane_0`` is of the gpu dialect today."""
    renamed("gpu.warp_execute_on_lane_0")(p, state)
    state.regions = [Region(tuple(map(_yielding, r.blocks))) for r in state.regions]


def _yielding(block: Block) -> Block:
    *before, last = block.operations
    if last.name != "vector.yield":
        return block
    end = Operation("gpu.yield", last.operands, location=last.location)
    return block.with_operations([*before, end])


FORMS: dict[str, OldForm] = {
    "vector.extractelement": _extractelement,
    "vector.insertelement": _insertelement,
    "vector.splat": FORMS_OF_2019["splat"],
    "vector.warp_execute_on_lane_0": _warp_execute,
}


# -- accesses to memory ----------------------------------------------------------------


def _zeros(p: Parser, base: Type, start: int) -> list[Value]:
    """Zero indices: the position of a buffer's first element."""
    rank = base.rank if isinstance(base, MemRefType) else 0
    return [generic_forms.constant(p, 0, INDEX, start) for _ in range(rank)]


def _masked(brackets: int) -> Spelling:
    """``%m, %mask, %v : types`` of 2020: access from the first element on.

    Today ``brackets`` index lists follow the buffer, whose type was once written last,
    after ``into``.
    """

    def read(p: Parser, state: State) -> bool:
        resume, base = p.start, p.use()
        positions: list[Use] = []
        written = 0
        while p.token == "[":
            positions += p.listed("[", "]", p.use)
            written += 1
        if written == brackets:
            p.move_to(resume)
            return False
        p.expect(",")
        uses = [base, *positions, *p.separated(p.use)]
        state.attributes = p.attr_dict()
        p.expect(":")
        types, results = _types(p)
        if isinstance(types[0], VectorType):
            types, results = [*results, *types], []
        buffer, *vectors = p.resolve_all(uses, types, resume)
        zeros = _zeros(p, buffer.type, resume)
        state.operands, state.result_types = [buffer, *zeros, *vectors], results
        return True

    return read


def _types(p: Parser) -> tuple[list[Type], list[Type]]:
    """``(types) -> type``, ``types into type`` or ``types``."""
    if p.token == "(":
        signature = p.function_type()
        return list(signature.inputs), list(signature.results)
    types = p.types()
    if p.token != "into":
        return types, []
    p.advance()
    return types, [p.type()]


def _transfer_read(p: Parser, state: State) -> bool:
    """``%m[%i] {..}`` or ``%m[%i], (%pad) {..}`` of 2019; ``%m, %i`` of 2018."""
    resume, source = p.start, p.use()
    if p.token == ",":
        p.move_to(resume)
        FORMS_OF_2018["vector_transfer_read"](p, state)
        return True
    indices = p.listed("[", "]", p.use)
    padding: list[Use] = []
    if p.accept(","):
        if p.token != "(":
            p.move_to(resume)
            return False
        padding = p.listed("(", ")", p.use)
    shaped = read_type(p, state)
    p.expect(",")
    vector = p.type()
    element = element_type(shaped)
    fill = [p.resolve(use, element) for use in padding]
    groups = [
        [p.resolve(source, shaped)],
        [p.resolve(use, INDEX) for use in indices],
        fill or [generic_forms.constant(p, 0, element, resume)],
        [],
    ]
    state.give(groups)
    state.result_types = [vector]
    return True


def _transfer_write(p: Parser, state: State) -> bool:
    """``%v, %m, %i {..} : vector, memref, index`` of 2018."""
    resume = p.start
    p.use()
    p.expect(",")
    p.use()
    is_old = p.token != "["
    p.move_to(resume)
    if is_old:
        FORMS_OF_2018["vector_transfer_write"](p, state)
    return is_old


def _type_cast(p: Parser, state: State) -> bool:
    """``vector.type_cast %m : memref, memref`` of 2019."""
    resume, use = p.start, p.use()
    source = read_type(p, state)
    if not p.accept(","):
        p.move_to(resume)
        return False
    state.operands, state.result_types = [p.resolve(use, source)], [p.type()]
    _drop_unit(state)
    return True


def _drop_unit(state: State) -> None:
    """``memref<1xvector<..>>`` is ``memref<vector<..>>`` today."""
    (ty,) = state.result_types
    if isinstance(ty, MemRefType) and ty.shape == (1,):
        state.result_types = [MemRefType((), ty.element, None, ty.memory_space)]


def _reduction(p: Parser, state: State) -> bool:
    """``vector.reduction "max", %v : vector into type`` of 2020."""
    is_old = p.token[:1] == '"'
    if is_old:
        renamed("vector.reduction")(p, state)
        typed_kind(p, state)
    return is_old


SPELLINGS: dict[str, Spelling] = {
    "vector.compressstore": _masked(1),
    "vector.expandload": _masked(1),
    "vector.gather": _masked(2),
    "vector.maskedload": _masked(1),
    "vector.maskedstore": _masked(1),
    "vector.reduction": _reduction,
    "vector.scatter": _masked(2),
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
    "vector.type_cast": _type_cast,
}
