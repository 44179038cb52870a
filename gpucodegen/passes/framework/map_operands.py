"""Rebuild operations with affine maps after their index expressions changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import Constraint, IntegerSet
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    Attribute,
    DenseArrayAttr,
    IntegerSetAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32
from gpucodegen.passes.framework.indexing import (
    Index,
    as_map,
    from_map,
    merge,
    split_symbols,
    substituted,
)

Known = dict[Value, Index]


def rewrite_maps(op: Operation, known: Known) -> Operation:
    """``op`` with known index values put into its maps."""
    rewrite = _TABLE.get(op.name)
    if rewrite is None or not any(value in known for value in op.operands):
        return op
    return rewrite(op, known)


def _known_results(
    map_attr: Attribute, operands: Sequence[Value], known: Known
) -> list[Index]:
    assert isinstance(map_attr, AffineMapAttr)
    return [substituted(index, known) for index in from_map(map_attr.map, operands)]


def _access(first: int) -> Callable[[Operation, Known], Operation]:
    """Operations whose index operands begin at ``first``."""

    def rewrite(op: Operation, known: Known) -> Operation:
        indices = _known_results(op.attributes["map"], op.operands[first:], known)
        map_, operands = as_map(indices)
        return op.with_(
            operands=(*op.operands[:first], *operands),
            attributes={**op.attributes, "map": AffineMapAttr(map_)},
        )

    return rewrite


def _for(op: Operation, known: Known) -> Operation:
    loop = affine.For(op)
    lower = _known_results(op.attributes["lowerBoundMap"], loop.lower_operands, known)
    upper = _known_results(op.attributes["upperBoundMap"], loop.upper_operands, known)
    lower_map, lower_operands = as_map(lower)
    upper_map, upper_operands = as_map(upper)
    sizes = (len(lower_operands), len(upper_operands), len(loop.inits))
    return op.with_(
        operands=(*lower_operands, *upper_operands, *loop.inits),
        attributes={
            **op.attributes,
            "lowerBoundMap": AffineMapAttr(lower_map),
            "upperBoundMap": AffineMapAttr(upper_map),
            "operandSegmentSizes": DenseArrayAttr(I32, sizes),
        },
    )


def _parallel(op: Operation, known: Known) -> Operation:
    loop = affine.Parallel(op)
    lower = _known_results(op.attributes["lowerBoundsMap"], loop.lower_operands, known)
    upper = _known_results(op.attributes["upperBoundsMap"], loop.upper_operands, known)
    lower_map, lower_operands = as_map(lower)
    upper_map, upper_operands = as_map(upper)
    return op.with_(
        operands=(*lower_operands, *upper_operands),
        attributes={
            **op.attributes,
            "lowerBoundsMap": AffineMapAttr(lower_map),
            "upperBoundsMap": AffineMapAttr(upper_map),
        },
    )


def _if(op: Operation, known: Known) -> Operation:
    condition = op.attributes["condition"]
    assert isinstance(condition, IntegerSetAttr)
    constraints = condition.set.constraints
    indices = [
        substituted(Index(c.expr, tuple(op.operands)), known)
        for c in affine_over_dims(condition.set)
    ]
    values, exprs = merge(indices)
    map_, operands = split_symbols(values, exprs)
    rebuilt = tuple(
        Constraint(expr, equality=old.equality)
        for expr, old in zip(map_.results, constraints, strict=True)
    )
    folded = IntegerSetAttr(IntegerSet(map_.num_dims, map_.num_syms, rebuilt))
    return op.with_(
        operands=operands, attributes={**op.attributes, "condition": folded}
    )


def affine_over_dims(set_: IntegerSet) -> list[Constraint]:
    """The constraints with symbols renumbered as trailing dimensions."""
    from gpucodegen.ir.affine import Dim, substitute

    dims = [Dim(i) for i in range(set_.num_dims)]
    syms = [Dim(i + set_.num_dims) for i in range(set_.num_syms)]
    return [
        Constraint(substitute(c.expr, dims, syms), equality=c.equality)
        for c in set_.constraints
    ]


_TABLE: dict[str, Callable[[Operation, Known], Operation]] = {
    "affine.load": _access(1),
    "affine.store": _access(2),
    "affine.vector_load": _access(1),
    "affine.vector_store": _access(2),
    "affine.apply": _access(0),
    "affine.min": _access(0),
    "affine.max": _access(0),
    "affine.for": _for,
    "affine.parallel": _parallel,
    "affine.if": _if,
}
