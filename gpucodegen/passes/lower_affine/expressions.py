"""Lowering of affine maps, bounds and conditions to ``arith`` and ``memref``.

Division rounds as MLIR specifies for negative operands: ``floordiv`` down, ``ceildiv``
up, and ``a mod b = a - floor(a / b) * b``, which lies in ``[0, b)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from functools import reduce
from math import prod

from gpucodegen.dialects import affine, arith, memref
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.affine import (
    AffineExpr,
    AffineMap,
    Binary,
    Const,
    Constraint,
    Dim,
    Sym,
    substitute,
)
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import (
    Operation,
    Value,
    operand_segments,
    substitute_values,
)
from gpucodegen.ir.types import I1, INDEX, Type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.records import dataclass

_OPERATIONS = {
    "+": "arith.addi",
    "*": "arith.muli",
    "floordiv": "arith.floordivsi",
    "ceildiv": "arith.ceildivsi",
}


def results_of(b: Builder, map_: AffineMap, operands: Sequence[Value]) -> list[Value]:
    """Values of the results of a map at its operands, which may be vectors."""
    symbols = [Dim(map_.num_dims + position) for position in range(map_.num_syms)]
    dims = [Dim(position) for position in range(map_.num_dims)]
    exprs = [substitute(expr, dims, symbols) for expr in map_.results]
    ty = operands[0].type if operands else INDEX
    return [_value(b, expr, operands, ty) for expr in exprs]


def _value(b: Builder, expr: AffineExpr, operands: Sequence[Value], ty: Type) -> Value:
    """The value of an affine expression over operands."""

    def value(node: AffineExpr) -> Value:
        return _value(b, node, operands, ty)

    match expr:
        case Dim(position):
            return operands[position]
        case Const(number):
            return b.constant(number, ty)
        case Binary("+", lhs, Binary("*", rhs, Const(-1))):
            return index_operation(b, "arith.subi", value(lhs), value(rhs))
        case Binary("*", operand, Const(-1)):
            return index_operation(b, "arith.subi", value(Const(0)), value(operand))
        case Binary("mod", lhs, rhs):
            return _remainder(b, value(lhs), value(rhs))
        case Binary(symbol, lhs, rhs):
            return index_operation(b, _OPERATIONS[symbol], value(lhs), value(rhs))
        case _:
            raise TypeError(expr)


def _remainder(b: Builder, lhs: Value, rhs: Value) -> Value:
    quotient = index_operation(b, "arith.floordivsi", lhs, rhs)
    product = index_operation(b, "arith.muli", quotient, rhs)
    return index_operation(b, "arith.subi", lhs, product)


def extreme(b: Builder, name: str, map_: AffineMap, operands: Sequence[Value]) -> Value:
    """``arith.minsi`` or ``arith.maxsi`` over the results of a map."""
    return reduce(
        lambda lhs, rhs: index_operation(b, name, lhs, rhs),
        results_of(b, map_, operands),
    )


def index_operation(b: Builder, name: str, lhs: Value, rhs: Value) -> Value:
    """A two-operand operation on index values or vectors of them."""
    return b.value(name, (lhs, rhs), lhs.type)


def lower_bound(b: Builder, loop: affine.For) -> Value:
    """The greatest result of the lower map."""
    return bound_value(b, "affine.max", loop.lower_map, loop.lower_operands)


def upper_bound(b: Builder, loop: affine.For) -> Value:
    """The least result of the upper map."""
    return bound_value(b, "affine.min", loop.upper_map, loop.upper_operands)


def bound_value(
    b: Builder, name: str, map_: AffineMap, operands: Sequence[Value]
) -> Value:
    """The results of a map, combined by ``affine.min`` or ``affine.max``."""
    match map_.results:
        case (Const(number),):
            return b.constant(number, INDEX)
        case (Dim(position),):
            return operands[position]
        case (Sym(position),):
            return operands[map_.num_dims + position]
        case (_,):
            name = "affine.apply"
        case _:
            pass
    return b.value(name, operands, INDEX, {"map": AffineMapAttr(map_)})


def condition(b: Builder, op: Operation) -> Value:
    """The ``i1`` that the operands of an ``affine.if`` lie in its set."""
    view = affine.If(op)
    held = [_holds(b, view, constraint) for constraint in view.set.constraints]
    if not held:
        return b.constant(1, I1)
    return reduce(lambda lhs, rhs: b.value("arith.andi", (lhs, rhs), I1), held)


def _holds(b: Builder, view: affine.If, constraint: Constraint) -> Value:
    """``expr == 0`` or ``expr >= 0``."""
    whole = view.set
    map_ = AffineMap(whole.num_dims, whole.num_syms, (constraint.expr,))
    value = bound_value(b, "affine.apply", map_, view.operands)
    predicate = "eq" if constraint.equality else "sge"
    return compare(b, predicate, value, b.constant(0, INDEX))


def compare(b: Builder, predicate: str, lhs: Value, rhs: Value) -> Value:
    """``arith.cmpi``."""
    op = arith.compare("arith.cmpi", predicate, lhs, rhs, location=b.location)
    b.operations.append(op)
    return op.result


Lowering = Callable[[Builder, Operation], Sequence[Value]]
"""Builds the replacement; returns the values of the operation's results."""


@dataclass(slots=True)
class Straightener:
    """Rewrites the operations with the given names, one function at a time."""

    names: Collection[str]
    replaced: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def __call__(self, op: Operation) -> list[Operation] | None:
        """The operations that replace ``op``, or None to keep it."""
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
        """``root`` with replaced results renamed."""
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
    """Expressions over the operands; scalars are broadcast if there are vectors."""
    ty = op.results[0].type
    operands = [
        value if value.type == ty else b.value("vector.broadcast", (value,), ty)
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
