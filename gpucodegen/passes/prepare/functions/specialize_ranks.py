"""A function of ``memref<*xf32>`` once per rank it is called with.

Comes in: calls with values that were cast from a ranked type.  Goes out: calls, with
the values before the cast, of copies of the callee; in these the rank is a number, and
of the branches on it only the right one is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Call, Function
from gpucodegen.ir.attributes import StringAttr, SymbolRefAttr, TypeAttr
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    clone,
    rewrite_bottom_up,
)
from gpucodegen.ir.types import FunctionType, Type, UnrankedMemRefType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.prepare.affine.canonicalize import Canonicalize
from gpucodegen.passes.prepare.affine.dead_code import without_dead_code
from gpucodegen.passes.prepare.functions.forward_ranks import ForwardRanks

Key = tuple[str, tuple[Type | None, ...]]


@dataclass(frozen=True, slots=True)
class SpecializeRanks(ModulePass):
    """Copy functions for the ranks of the memrefs that they are called with."""

    name: ClassVar[str] = "specialize-ranks"

    def apply(self, module: Module) -> Module:
        """Specialise calls until no call hides a rank that is known."""
        specialiser = _Specialiser(dict(module.functions))
        operations = [
            specialiser.function(op) if op.name == "func.func" else op
            for op in module.operations
        ]
        copies = list(specialiser.copies())
        if not copies:
            return module
        return module.with_operations([*operations, *copies])


@dataclass(slots=True)
class _Specialiser:
    functions: dict[str, Operation]
    names: dict[Key, str] = field(default_factory=dict[Key, str])
    work: list[Key] = field(default_factory=list[Key])

    def copies(self) -> Iterator[Operation]:
        """The copies that calls ask for, and those that calls in copies ask for."""
        while self.work:
            key = self.work.pop()
            yield self.function(
                _copied(self.functions[key[0]], self.names[key], key[1])
            )

    def function(self, op: Operation) -> Operation:
        """A function whose calls name copies."""
        ranked = {
            cast.result: cast.operands[0]
            for cast in op.walk()
            if cast.name == "memref.cast" and _is_unranked(cast.result.type)
        }
        known = {v: source for v in ranked if (source := _source(v, ranked))}
        if not known:
            return op

        def rewrite(inner: Operation) -> list[Operation] | None:
            return self._call(inner, known) if inner.name == "func.call" else None

        (rebuilt,) = rewrite_bottom_up(op, rewrite)
        return rebuilt if rebuilt is op else without_dead_code(rebuilt)

    def _call(self, op: Operation, known: dict[Value, Value]) -> list[Operation] | None:
        callee = self.functions.get(Call(op).callee)
        if callee is None or Function(callee).is_external:
            return None
        operands = tuple(known.get(v, v) for v in op.operands)
        if operands == op.operands:
            return None
        pairs = zip(op.operands, operands, strict=True)
        types = tuple(None if new is old else new.type for old, new in pairs)
        name = SymbolRefAttr((self._name((symbol_name(callee), types)),))
        return [op.with_(operands=operands).with_attribute("callee", name)]

    def _name(self, key: Key) -> str:
        """The name of a copy, which is still to be made when first asked for."""
        if key not in self.names:
            taken = {*self.functions, *self.names.values()}
            names = (f"{key[0]}_ranked{number}" for number in count())
            self.names[key] = next(name for name in names if name not in taken)
            self.work.append(key)
        return self.names[key]


def _is_unranked(ty: Type) -> bool:
    return isinstance(ty, UnrankedMemRefType)


def _source(value: Value, ranked: dict[Value, Value]) -> Value | None:
    """What a chain of casts began with, if that has a rank."""
    while value in ranked:
        value = ranked[value]
    return None if _is_unranked(value.type) else value


def _copied(callee: Operation, name: str, types: Sequence[Type | None]) -> Operation:
    """The callee for arguments of these types, cast to what it took before."""
    copy = clone(callee)
    view = Function(copy)
    arguments: list[Value] = []
    casts: list[Operation] = []
    for value, ty in zip(view.arguments, types, strict=True):
        arguments.append(value if ty is None else value.renewed(ty))
        if ty is not None:
            location = value.location
            cast = Operation(
                "memref.cast", (arguments[-1],), (value,), location=location
            )
            casts.append(cast)
    entry, *others = view.blocks
    first = replace(
        entry, arguments=tuple(arguments), operations=(*casts, *entry.operations)
    )
    return _settled(_signed(copy, name, (first, *others)))


def _signed(function: Operation, name: str, blocks: Sequence[Block]) -> Operation:
    """A private function of this name around the blocks."""
    inputs = tuple(value.type for value in blocks[0].arguments)
    signature = FunctionType(inputs, Function(function).result_types)
    attributes = {
        **function.attributes,
        "sym_name": StringAttr(name),
        "sym_visibility": StringAttr("private"),
        "function_type": TypeAttr(signature),
    }
    return function.with_(attributes=attributes, regions=(Region(tuple(blocks)),))


def _settled(function: Operation) -> Operation:
    """The function with what its ranks decide decided."""
    alone = ForwardRanks().apply(Module.of([function]))
    (settled,) = Canonicalize().apply(alone).operations
    return settled
