"""Affine operations without regions as ``arith``, ``memref`` and ``vector`` ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import prod

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim
from gpucodegen.ir.operation import (
    Operation,
    Value,
    operand_segments,
    substitute_values,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.lower_affine.expressions import extreme, results_of

Lowering = Callable[[Builder, Operation], Sequence[Value]]
"""Builds the replacement; returns the values of the operation's results."""


@dataclass(slots=True)
class Straightener:
    """Rewrites the operations with the given names, one function at a time."""

    names: Collection[str]
    replaced: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def __call__(self, op: Operation) -> list[Operation] | None:
        """The operations in place of ``op``, or None to keep it."""
        if op.name not in self.names:
            return None
        b = Builder(op.location)
        values = LOWERINGS[op.name](b, op)
        for result, value in zip(op.results, values, strict=True):
            self._settle(b, result, value)
        return b.operations

    def _settle(self, b: Builder, result: Value, value: Value) -> None:
        """Let the last operation define the old result, else rename its uses."""
        if b.operations and b.operations[-1].results == (value,):
            b.operations[-1] = b.operations[-1].with_(results=(result,))
        elif value is not result:
            self.replaced[result] = value

    def renamed(self, root: Operation) -> Operation:
        """``root`` with the uses of results that are other values now."""
        if not self.replaced:
            return root
        final = {value: self._final(value) for value in self.replaced}
        return substitute_values(root, final)

    def _final(self, value: Value) -> Value:
        while value in self.replaced:
            value = self.replaced[value]
        return value


# -- index arithmetic ------------------------------------------------------------------


def _apply(b: Builder, op: Operation) -> Sequence[Value]:
    return results_of(b, affine.map_of(op), op.operands)


def _extreme(name: str) -> Lowering:
    def lower(b: Builder, op: Operation) -> Sequence[Value]:
        return [extreme(b, name, affine.map_of(op), op.operands)]

    return lower


def _basis(op: Operation, first: int) -> list[AffineExpr]:
    """Extents of the digits; dynamic ones are the inputs from ``first`` on."""
    entries = op.numbers("static_basis")
    inputs = iter(range(first, first + len(entries)))
    return [
        Dim(next(inputs)) if entry == DYNAMIC_MARK else Const(int(entry))
        for entry in entries
    ]


def _delinearize(b: Builder, op: Operation) -> Sequence[Value]:
    """Digit ``k`` is ``linear floordiv (sizes after k) mod size k``."""
    basis = _basis(op, 1)
    inner = basis[len(basis) - len(op.results) + 1 :]
    digits: list[AffineExpr] = []
    for position in range(len(op.results)):
        digit = Dim(0) // prod(inner[position:], start=Const(1))
        digits.append(digit % inner[position - 1] if position else digit)
    return _digits(b, op, digits)


def _linearize(b: Builder, op: Operation) -> Sequence[Value]:
    """The sum of ``digit k * (sizes after k)``."""
    digits, _ = operand_segments(op, 2)
    basis = _basis(op, len(digits))
    inner = basis[len(basis) - len(digits) + 1 :]
    total: AffineExpr = Const(0)
    for position in range(len(digits)):
        total = total + Dim(position) * prod(inner[position:], start=Const(1))
    return _digits(b, op, [total])


def _digits(
    b: Builder, op: Operation, results: Sequence[AffineExpr]
) -> Sequence[Value]:
    """Expressions over the operands; beside vectors, scalars are spread to vectors."""
    ty = op.results[0].type
    operands = [
        value if value.type == ty else b.add("vector.broadcast", (value,), [ty])[0]
        for value in op.operands
    ]
    return results_of(b, AffineMap(len(operands), 0, tuple(results)), operands)


# -- accesses --------------------------------------------------------------------------


def _access(name: str, first: int) -> Lowering:
    """The operation ``name`` at the values of the map, from operand ``first`` on."""

    def lower(b: Builder, op: Operation) -> Sequence[Value]:
        indices = results_of(b, affine.map_of(op), op.operands[first:])
        operands = (*op.operands[:first], *indices)
        plain = op.with_(name=name, operands=operands).with_attribute("map", None)
        b.operations.append(plain)
        return op.results

    return lower


def _end(b: Builder, end: affine.Endpoint) -> tuple[Value, ...]:
    return (end.memref, *results_of(b, end.map, end.map_operands))


def _dma_start(b: Builder, op: Operation) -> Sequence[Value]:
    view = affine.DmaStart(op)
    source, target, tag = (_end(b, end) for end in view.ends)
    count, *stride = view.sizes
    start = memref.dma_start(source, target, count, tag, stride, location=op.location)
    b.operations.append(start)
    return ()


def _dma_wait(b: Builder, op: Operation) -> Sequence[Value]:
    view = affine.DmaWait(op)
    tag = _end(b, view.tag)
    b.operations.append(memref.dma_wait(tag, view.num_elements, location=op.location))
    return ()


INDEX_ARITHMETIC: dict[str, Lowering] = {
    "affine.apply": _apply,
    "affine.min": _extreme("arith.minsi"),
    "affine.max": _extreme("arith.maxsi"),
}

ACCESSES: dict[str, Lowering] = {
    "affine.load": _access("memref.load", 1),
    "affine.store": _access("memref.store", 2),
    "affine.prefetch": _access("memref.prefetch", 1),
    "affine.vector_load": _access("vector.load", 1),
    "affine.vector_store": _access("vector.store", 2),
    "affine.dma_start": _dma_start,
    "affine.dma_wait": _dma_wait,
}

LOWERINGS: dict[str, Lowering] = {
    **INDEX_ARITHMETIC,
    **ACCESSES,
    "affine.delinearize_index": _delinearize,
    "affine.linearize_index": _linearize,
}
