"""Loop bounds and conditions as values, still written with affine maps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from gpucodegen.dialects import affine, arith
from gpucodegen.ir.affine import AffineMap, Const, Constraint, Dim, Sym
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, INDEX
from gpucodegen.passes.framework.builder import Builder


def lower_bound(b: Builder, loop: affine.For) -> Value:
    """The greatest result of the lower map."""
    return extreme(b, "affine.max", loop.lower_map, loop.lower_operands)


def upper_bound(b: Builder, loop: affine.For) -> Value:
    """The least result of the upper map."""
    return extreme(b, "affine.min", loop.upper_map, loop.upper_operands)


def extreme(b: Builder, name: str, map_: AffineMap, operands: Sequence[Value]) -> Value:
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
    (value,) = b.add(name, operands, [INDEX], {"map": AffineMapAttr(map_)})
    return value


def condition(b: Builder, op: Operation) -> Value:
    """Whether the operands of an ``affine.if`` lie in its set."""
    view = affine.If(op)
    held = [_holds(b, view, constraint) for constraint in view.set.constraints]
    if not held:
        return b.constant(1, I1)
    return reduce(lambda lhs, rhs: b.add("arith.andi", (lhs, rhs), [I1])[0], held)


def _holds(b: Builder, view: affine.If, constraint: Constraint) -> Value:
    """``expr == 0`` or ``expr >= 0``."""
    whole = view.set
    map_ = AffineMap(whole.num_dims, whole.num_syms, (constraint.expr,))
    value = extreme(b, "affine.apply", map_, view.operands)
    predicate = "eq" if constraint.equality else "sge"
    return compare(b, predicate, value, b.constant(0, INDEX))


def compare(b: Builder, predicate: str, lhs: Value, rhs: Value) -> Value:
    """``arith.cmpi``."""
    op = arith.compare("arith.cmpi", predicate, lhs, rhs, location=b.location)
    b.operations.append(op)
    return op.result
