"""Verifies each operation against its table entry, and the symbols that it names.

The entry gives counts, attributes, types, regions and further rules. Symbols are unique
in their table, defined where they are used, and called with fitting types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from gpucodegen import errors
from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.constraints import focus, types_differ, wrong_operand
from gpucodegen.dialects.framework.definition import Op, Slot, Trait
from gpucodegen.dialects.framework.printing import VERBATIM
from gpucodegen.dialects.func import Function
from gpucodegen.errors.base import Focus
from gpucodegen.ir.attributes import (
    ArrayAttr,
    DenseArrayAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    print_symbol,
)
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Region, Value
from gpucodegen.ir.types import DialectType, FunctionType, Type

_OPTIONAL = frozenset(["affine.if", "scf.if"])
"""Operations that may leave their second region empty."""

_WITHOUT_ARGUMENTS = frozenset(
    ["affine.if", "builtin.module", "scf.execute_region", "scf.if"]
)
_MANY_BLOCKS = frozenset(["gpu.launch"])
_ONE_BLOCK = frozenset(["scf.forall.in_parallel"])
"""Operations of one block without a terminator, besides graph regions."""


def check_regions(op: Operation, definition: Op) -> None:
    """Number of regions, number of blocks, and presence of entry arguments."""
    if definition.regions is not None and len(op.regions) != definition.regions:
        raise _wrong(op, _counted(definition.regions, "region"), len(op.regions))
    is_structured = bool(definition.terminators) or definition.has(Trait.GRAPH)
    has_one = is_structured and op.name not in _MANY_BLOCKS
    for region in op.regions:
        if has_one or op.name in _ONE_BLOCK:
            _check_one_block(op, region)
        if op.name in _WITHOUT_ARGUMENTS and region.blocks:
            _check_no_arguments(op, region)


def _check_one_block(op: Operation, region: Region) -> None:
    is_missing = op.name in _OPTIONAL and region is not op.regions[0]
    if len(region.blocks) != 1 and (region.blocks or not is_missing):
        raise _wrong(op, "a region of one block", _counted(len(region.blocks), "block"))


def _check_no_arguments(op: Operation, region: Region) -> None:
    count = len(region.blocks[0].arguments)
    if count:
        raise _wrong(op, "a region without arguments", _counted(count, "argument"))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _wrong(op: Operation, expected: str, actual: object) -> errors.VerifyError:
    return errors.WrongRegionCount.at(op, expected=expected, actual=actual)


Table = dict[str, Operation]

_SYMBOLS = frozenset(["builtin.module", "func.func", "gpu.module", "memref.global"])
"""Operations that define a symbol, and so belong to a symbol table."""

_REFERENCES = {
    "func.call": "callee",
    "func.constant": "value",
    "memref.get_global": "name",
    "gpu.launch_func": "kernel",
}
"""Operation -> the attribute that names a symbol."""

_FROM_OUTSIDE = frozenset(["gpu.launch_func"])
"""Operations that also resolve symbols outside of the nearest table."""


def check_symbols(root: Operation) -> None:
    """Check every symbol table and every symbol reference inside ``root``."""
    _check(root, [])


def _check(op: Operation, tables: list[Table]) -> None:
    definition = registry.lookup(op.name)
    is_table = definition is not None and definition.has(Trait.SYMBOL_TABLE)
    if is_table:
        tables = [*tables, _table(op)]
    elif op.name in _REFERENCES:
        _check_reference(op, tables)
    is_known = is_table or definition is None
    for nested in op.nested:
        if nested.name in _SYMBOLS and not is_known and symbol_name(nested):
            raise _outside_table(nested, op)
        _check(nested, tables)


def _outside_table(op: Operation, parent: Operation) -> errors.VerifyError:
    return errors.WrongParent.at(op, expected="a module", actual=parent.name)


def _table(op: Operation) -> Table:
    table: Table = {}
    for nested in op.nested:
        name = symbol_name(nested) or _written_name(nested)
        if name in table and _is_known(nested) and _is_known(table[name]):
            raise errors.RedefinedSymbol(
                nested.location,
                name=name,
                focus=Focus(print_symbol(name)),
                notes=[(table[name].location, "first defined here")],
            )
        if name:
            table[name] = nested
    return table


_WRITTEN = re.compile(r'[\w$.]+(?:\s+\w+)*\s+@(?:([\w$.]+)|"([^"]*)")')


def _written_name(op: Operation) -> str:
    """The symbol that an unregistered operation's text appears to define."""
    text = op.attributes.get(VERBATIM)
    first = text.values[0] if isinstance(text, ArrayAttr) else None
    match = _WRITTEN.match(first.value) if isinstance(first, StringAttr) else None
    return "" if match is None else match[1] or match[2]


def _is_known(op: Operation) -> bool:
    return registry.lookup(op.name) is not None


def _check_reference(op: Operation, tables: Sequence[Table]) -> None:
    reference = op.attributes.get(_REFERENCES[op.name])
    if not isinstance(reference, SymbolRefAttr) or not tables:
        return
    visible = tables if op.name in _FROM_OUTSIDE else tables[-1:]
    target = _resolve(reference.path, visible)
    if target is None:
        known = [print_symbol(name) for table in visible for name in table]
        advice = errors.did_you_mean(str(reference), known)
        raise errors.UnknownSymbol(
            op.location, name=reference, advice=advice, focus=_named(reference)
        )
    check = _SIGNATURES.get(op.name)
    if check is not None and _is_known(target):
        check(op, target)


def _named(reference: SymbolRefAttr) -> Focus:
    """Where the operation names the root of a symbol path."""
    return Focus(print_symbol(reference.path[0]))


def _resolve(path: Sequence[str], tables: Sequence[Table]) -> Operation | None:
    """The operation of a path, whose root is in the nearest table outwards."""
    root = next((t[path[0]] for t in reversed(tables) if path[0] in t), None)
    for name in path[1:]:
        root = _table(root).get(name) if root is not None else None
    return root


# -- what is referred to ---------------------------------------------------------------


def _check_call(op: Operation, target: Operation) -> None:
    _require_kind(op, target, "func.func")
    callee = Function(target)
    actual = FunctionType(_types(op.operands), _types(op.results))
    if actual != callee.type:
        raise errors.CallMismatch(
            op.location,
            name=callee.name,
            actual=actual,
            expected=callee.type,
            notes=[(target.location, "the function is defined here")],
            focus=wrong_operand(op, callee.type.inputs),
        )


def _types(values: Sequence[object]) -> tuple[Type, ...]:
    return tuple(getattr(value, "type") for value in values)  # noqa: B009


def _check_launch(op: Operation, target: Operation) -> None:
    from gpucodegen.dialects.gpu import LaunchFunc

    arguments = LaunchFunc(op).arguments
    actual = tuple(v.type for v in arguments)
    expected = Function(target).type.inputs
    if target.name == "gpu.func" and actual != expected:
        raise errors.CallMismatch(
            op.location,
            name=symbol_name(target),
            actual=FunctionType(actual, ()),
            expected=FunctionType(expected, ()),
            notes=[(target.location, "the kernel is defined here")],
        )


def _check_constant(op: Operation, target: Operation) -> None:
    _require_kind(op, target, "func.func")
    callee, actual = Function(target).type, op.results[0].type
    if actual != callee:
        raise errors.CallMismatch(
            op.location, name=symbol_name(target), actual=actual, expected=callee
        )


def _require_kind(op: Operation, target: Operation, kind: str) -> None:
    """Require that the symbol is defined by an operation of this name."""
    if target.name != kind:
        raise errors.CallMismatch(
            op.location,
            name=symbol_name(target),
            actual=f"a {kind}",
            expected=f"a {target.name}",
        )


def _check_global(op: Operation, target: Operation) -> None:
    _require_kind(op, target, "memref.global")
    ty = target.attributes.get("type")
    if isinstance(ty, TypeAttr) and ty.type != op.results[0].type:
        raise types_differ(op, "the global", ty.type, "the result", op.results[0].type)


_SIGNATURES = {
    "func.call": _check_call,
    "func.constant": _check_constant,
    "gpu.launch_func": _check_launch,
    "memref.get_global": _check_global,
}


Groups = dict[str, tuple[Value, ...]]


def check_structure(
    root: Operation, verified: AbstractSet[Operation] = frozenset()
) -> None:
    """Check each operation against its table entry, but for ``verified`` ones.

    A rule sees the operation and its regions alone, and both never change.
    """
    for op in unverified(root, verified):
        definition = registry.lookup(op.name)
        if definition is None:
            continue
        check_attributes(op, definition)
        check_counts(op, definition)
        check_regions(op, definition)
        if definition.types or definition.same or definition.infer:
            groups = definition.operand_groups(op) | definition.result_groups(op)
            check_types(op, definition, groups)
            check_equal_types(op, definition, groups)
            check_inferred_types(op, definition, groups)
        for check in definition.checks:
            check(op)


def unverified(op: Operation, verified: AbstractSet[Operation]) -> Iterator[Operation]:
    """An operation and all nested ones, without what is in ``verified`` ones."""
    stack = [op]
    while stack:
        op = stack.pop()
        if op in verified:
            continue
        yield op
        for region in reversed(op.regions):
            for block in reversed(region.blocks):
                stack.extend(reversed(block.operations))


# -- attributes ------------------------------------------------------------------------


def check_attributes(op: Operation, definition: Op) -> None:
    """Required attributes are present, and each is of its kind."""
    for name, kind in definition.attributes.items():
        value = op.attributes.get(name)
        if value is None:
            if not kind.optional:
                raise errors.MissingAttribute.at(op, name=name)
        elif not kind.accepts(value):
            raise errors.WrongAttribute.at(
                op,
                problem=f"attribute '{name}' must be {kind.what}, found {value}",
                hint=f"Write {kind.what}",
            )


# -- counts ----------------------------------------------------------------------------


def check_counts(op: Operation, definition: Op) -> None:
    """Operands, results and successors are as many as declared."""
    if definition.is_segmented:
        _check_segments(op, definition)
    elif not _fits(definition.operands, len(op.operands)):
        raise errors.WrongOperandCount.at(
            op, expected=_expected(definition.operands), actual=len(op.operands)
        )
    if not _fits(definition.results, len(op.results)):
        raise errors.WrongResultCount.at(
            op, expected=_expected(definition.results), actual=len(op.results)
        )
    if (
        definition.successors is not None
        and len(op.successors) != definition.successors
    ):
        raise errors.WrongSuccessorCount.at(
            op, expected=definition.successors, actual=len(op.successors)
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
        raise errors.MissingAttribute.at(op, name=OPERAND_SEGMENTS)
    fits = len(sizes.values) == len(definition.operands) and all(
        _segment_fits(slot, size)
        for slot, size in zip(definition.operands, sizes.values, strict=True)
    )
    if not fits or sum(sizes.values) != len(op.operands):
        raise errors.WrongAttribute.at(
            op,
            problem=f"{OPERAND_SEGMENTS} = {sizes} for {len(op.operands)} operands",
            hint="Give one size per operand group; they add up to the operands",
        )


def _segment_fits(slot: Slot, size: float) -> bool:
    return size >= 0 if slot.arity == "*" else size in ((0, 1) if slot.arity else (1,))


# -- types -----------------------------------------------------------------------------


def check_types(op: Operation, definition: Op, groups: Groups) -> None:
    """Operands and results satisfy their type constraints."""
    for name, constraint in definition.types.items():
        for value in groups.get(name, ()):
            if not constraint.accepts(value.type):
                raise errors.InvalidOperandType.at(
                    op,
                    what=f"{_kind(op, value)} '{name}'",
                    expected=constraint.what,
                    actual=value.type,
                    focus=focus(op, value),
                )


def _kind(op: Operation, value: Value) -> str:
    return "operand" if value in op.operands else "result"


def check_equal_types(op: Operation, definition: Op, groups: Groups) -> None:
    """All slots of a group have one type."""
    for group in definition.same:
        named = [(name, values) for name, values in groups.items() if name in group]
        values = [(name, value) for name, found in named for value in found]
        for (first, a), (second, b) in pairwise(values):
            _require_equal(op, f"'{first}'", a, f"'{second}'", b.type)


def _require_equal(op: Operation, first: str, a: Value, second: str, b: Type) -> None:
    if a.type != b:
        raise errors.TypesDiffer.at(
            op,
            first=first,
            first_type=a.type,
            second=second,
            second_type=b,
            focus=focus(op, a),
        )


def check_inferred_types(op: Operation, definition: Op, groups: Groups) -> None:
    """Inferred types equal the stated ones."""
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
            raise errors.WrongOperandCount.at(
                op, expected=len(full), actual=len(values)
            )
        for ty, value in zip(full, values, strict=True):
            if isinstance(ty, DialectType):
                continue  # types of other dialects have unknown consequences
            _require_equal(op, f"'{name}'", value, "what follows from the rest", ty)
