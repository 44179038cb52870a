"""Every operation against its definition: counts, attributes, types, own checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gpucodegen import errors
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.definition import Op, Slot
from gpucodegen.dialects.framework.operands import focus
from gpucodegen.dialects.verifier.regions import check_regions
from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS
from gpucodegen.ir.types import DialectType, Type

Groups = dict[str, tuple[Value, ...]]


def check_structure(root: Operation) -> None:
    """Each operation has what its table entry asks for."""
    for op in root.walk():
        definition = registry.lookup(op.name)
        if definition is None:
            continue
        check_attributes(op, definition)
        check_counts(op, definition)
        check_regions(op, definition)
        groups = definition.operand_groups(op) | definition.result_groups(op)
        check_types(op, definition, groups)
        check_equal_types(op, definition, groups)
        check_inferred_types(op, definition, groups)
        for check in definition.checks:
            check(op)


# -- attributes ------------------------------------------------------------------------


def check_attributes(op: Operation, definition: Op) -> None:
    """Required attributes are there, and each is of its kind."""
    for name, kind in definition.attributes.items():
        value = op.attributes.get(name)
        if value is None:
            if not kind.optional:
                raise errors.MissingAttribute(op.location, operation=op.name, name=name)
        elif not kind.accepts(value):
            raise errors.WrongAttribute(
                op.location,
                operation=op.name,
                problem=f"attribute '{name}' must be {kind.what}, found {value}",
                hint=f"Write {kind.what}",
            )


# -- counts ----------------------------------------------------------------------------


def check_counts(op: Operation, definition: Op) -> None:
    """Operands, results and successors are as many as declared."""
    if definition.is_segmented:
        _check_segments(op, definition)
    elif not _fits(definition.operands, len(op.operands)):
        raise errors.WrongOperandCount(
            op.location,
            operation=op.name,
            expected=_expected(definition.operands),
            actual=len(op.operands),
        )
    if not _fits(definition.results, len(op.results)):
        raise errors.WrongResultCount(
            op.location,
            operation=op.name,
            expected=_expected(definition.results),
            actual=len(op.results),
        )
    if (
        definition.successors is not None
        and len(op.successors) != definition.successors
    ):
        raise errors.WrongSuccessorCount(
            op.location,
            operation=op.name,
            expected=definition.successors,
            actual=len(op.successors),
        )


def _fits(slots: Sequence[Slot], count: int) -> bool:
    singles = sum(slot.is_single for slot in slots)
    if singles == len(slots):
        return count == singles
    is_optional = all(slot.arity in ("", "?") for slot in slots)
    return singles <= count and (not is_optional or count <= len(slots))


def _expected(slots: Sequence[Slot]) -> str:
    singles = sum(slot.is_single for slot in slots)
    return str(singles) if singles == len(slots) else f"at least {singles}"


def _check_segments(op: Operation, definition: Op) -> None:
    sizes = op.attributes.get(OPERAND_SEGMENTS)
    if not isinstance(sizes, DenseArrayAttr):
        raise errors.MissingAttribute(
            op.location, operation=op.name, name=OPERAND_SEGMENTS
        )
    fits = len(sizes.values) == len(definition.operands) and all(
        _segment_fits(slot, size)
        for slot, size in zip(definition.operands, sizes.values, strict=True)
    )
    if not fits or sum(sizes.values) != len(op.operands):
        raise errors.WrongAttribute(
            op.location,
            operation=op.name,
            problem=f"{OPERAND_SEGMENTS} = {sizes} for {len(op.operands)} operands",
            hint="Give one size per operand group; they add up to the operands",
        )


def _segment_fits(slot: Slot, size: float) -> bool:
    return size >= 0 if slot.arity == "*" else size in ((0, 1) if slot.arity else (1,))


# -- types -----------------------------------------------------------------------------


def check_types(op: Operation, definition: Op, groups: Groups) -> None:
    """Operands and results are of the declared kinds of types."""
    for name, constraint in definition.types.items():
        for value in groups.get(name, ()):
            if not constraint.accepts(value.type):
                raise errors.InvalidOperandType(
                    op.location,
                    operation=op.name,
                    what=f"{_kind(op, value)} '{name}'",
                    expected=constraint.what,
                    actual=value.type,
                    focus=focus(op, value),
                )


def _kind(op: Operation, value: Value) -> str:
    return "operand" if value in op.operands else "result"


def check_equal_types(op: Operation, definition: Op, groups: Groups) -> None:
    """The slots of one group have one type."""
    for group in definition.same:
        named = [(name, values) for name, values in groups.items() if name in group]
        values = [(name, value) for name, found in named for value in found]
        for (first, a), (second, b) in pairwise(values):
            _require_equal(op, f"'{first}'", a, f"'{second}'", b.type)


def _require_equal(op: Operation, first: str, a: Value, second: str, b: Type) -> None:
    if a.type != b:
        raise errors.TypesDiffer(
            op.location,
            operation=op.name,
            first=first,
            first_type=a.type,
            second=second,
            second_type=b,
            focus=focus(op, a),
        )


def check_inferred_types(op: Operation, definition: Op, groups: Groups) -> None:
    """Types that follow from others are what follows."""
    if not definition.infer:
        return
    types = {name: [v.type for v in values] for name, values in groups.items()}
    for name, infer in definition.infer.items():
        expected = infer(types, op.attributes)
        values = groups.get(name, ())
        if not expected or not values:
            continue
        full = list(expected) * len(values) if len(expected) == 1 else list(expected)
        if len(full) != len(values):
            raise errors.WrongOperandCount(
                op.location, operation=op.name, expected=len(full), actual=len(values)
            )
        for ty, value in zip(full, values, strict=True):
            if isinstance(ty, DialectType):
                continue  # types of other dialects have unknown consequences
            _require_equal(op, f"'{name}'", value, "what follows from the rest", ty)
