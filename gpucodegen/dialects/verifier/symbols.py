"""Symbols: unique in their table, defined where they are used, calls that fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.operands import wrong_operand
from gpucodegen.dialects.framework.printing import VERBATIM
from gpucodegen.dialects.func import Function
from gpucodegen.errors.focus import Focus
from gpucodegen.ir.attributes import (
    ArrayAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    print_symbol,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FunctionType, Type

Table = dict[str, Operation]

_SYMBOLS = frozenset(["builtin.module", "func.func", "gpu.module", "memref.global"])
"""Operations that define a symbol, and so stand in a table of symbols."""

_REFERENCES = {
    "func.call": "callee",
    "func.constant": "value",
    "memref.get_global": "name",
    "gpu.launch_func": "kernel",
}
"""Operation -> the attribute that names a symbol."""

_FROM_OUTSIDE = frozenset(["gpu.launch_func"])
"""Operations that see the tables around the nearest one, too."""


def check_symbols(root: Operation) -> None:
    """Look at every symbol table and every reference inside ``root``."""
    _check(root, [])


def _check(op: Operation, tables: list[Table]) -> None:
    definition = registry.lookup(op.name)
    is_table = definition is not None and definition.has(Trait.SYMBOL_TABLE)
    if is_table:
        tables = [*tables, _table(op)]
    elif op.name in _REFERENCES:
        _check_reference(op, tables)
    is_known = is_table or definition is None
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
                if nested.name in _SYMBOLS and not is_known and symbol_name(nested):
                    raise _outside_table(nested, op)
                _check(nested, tables)


def _outside_table(op: Operation, parent: Operation) -> errors.VerifyError:
    return errors.WrongParent(
        op.location,
        operation=op.name,
        expected="a module",
        actual=parent.name,
    )


def _table(op: Operation) -> Table:
    table: Table = {}
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
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
    """The symbol that an operation kept as text seems to define."""
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
    """Where the operation names the symbol's root."""
    return Focus(print_symbol(reference.path[0]))


def _resolve(path: Sequence[str], tables: Sequence[Table]) -> Operation | None:
    """The operation a path names: its root from the nearest table outwards."""
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
    """The symbol is defined by an operation of this name."""
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
        raise errors.TypesDiffer(
            op.location,
            operation=op.name,
            first="the global",
            first_type=ty.type,
            second="the result",
            second_type=op.results[0].type,
        )


_SIGNATURES = {
    "func.call": _check_call,
    "func.constant": _check_constant,
    "gpu.launch_func": _check_launch,
    "memref.get_global": _check_global,
}
