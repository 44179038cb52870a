"""The body of a contraction: one cell gets a product of two factors added.

A product that is subtracted is one whose factor is negated, which rounds to the same:

    c - a b = c + (-a) b

A factor is what scalar operations make of elements and of values from outside, such as
``alpha * A[i, k]`` or an element converted to a wider type; the terms and the sum are
those of the program, in its types.  A product may be multiplied by a value from
outside, ``alpha * (A[i, k] * B[k, j])``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpucodegen.dialects import affine
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.contraction.recognition.operands import Operand, access
from gpucodegen.passes.framework.nests import Axis

MULTIPLY = {
    "arith.addf": "arith.mulf",
    "arith.addi": "arith.muli",
    "arith.subf": "arith.mulf",
}
"""The product that each operation adds to, or subtracts from, a sum."""
SUBTRACT = "arith.subf"


@dataclass(frozen=True, slots=True)
class MultiplyAdd:
    """The store of the sum, the cell that it updates, both factors.

    ``scale``: what each product is multiplied by before it is added.  ``negative``: it
    is subtracted.
    """

    store: Operation
    total: Operation
    result: Operand
    factors: tuple[Operand, Operand]
    scale: Value | None = None
    negative: bool = False


def multiply_add(body: Sequence[Operation], axes: Sequence[Axis]) -> MultiplyAdd | None:
    """The multiply-add that a straight body is, if it is one and nothing else."""
    stores = [op for op in body if op.name == "affine.store"]
    if len(stores) != 1 or not all(map(_is_allowed, body)):
        return None
    (store,) = stores
    made_by = {op.result: op for op in body if op.results}
    total = made_by.get(store.operands[0])
    if total is None or total.name not in MULTIPLY:
        return None
    result = access(store, axes)
    negative = total.name == SUBTRACT
    orders = [total.operands] if negative else _both_orders(total.operands)
    for old, term in orders:
        accumulator, product = made_by.get(old), made_by.get(term)
        if accumulator is None or product is None or term is old:
            continue
        if product.name != MULTIPLY[total.name]:
            continue
        scale, product = _scaled(product, made_by)
        factors = _factors(product.operands, made_by, axes)
        is_update = accumulator.name == "affine.load" and (
            access(accumulator, axes) == result
        )
        if is_update and factors is not None and _reads_others(result, factors):
            return MultiplyAdd(store, total, result, factors, scale, negative)
    return None


def _scaled(
    product: Operation, made_by: Mapping[Value, Operation]
) -> tuple[Value | None, Operation]:
    """The value from outside that multiplies a product, and that product."""
    for scale, value in _both_orders(product.operands):
        inner = made_by.get(value)
        if scale not in made_by and inner is not None and inner.name == product.name:
            return scale, inner
    return None, product


def _is_allowed(op: Operation) -> bool:
    if op.name in affine.ACCESSES:
        return True
    definition = lookup(op.name)
    is_pure = definition is not None and Trait.PURE in definition.traits
    is_total = not ("div" in op.name or "rem" in op.name) or op.name.endswith("f")
    return is_pure and is_total and op.dialect in {"arith", "math"} and not op.regions


def _both_orders(pair: Sequence[Value]) -> Iterator[tuple[Value, Value]]:
    yield pair[0], pair[1]
    yield pair[1], pair[0]


def _factors(
    values: Sequence[Value], made_by: Mapping[Value, Operation], axes: Sequence[Axis]
) -> tuple[Operand, Operand] | None:
    first, second = (_factor(value, made_by, axes) for value in values)
    is_square = values[0] is values[1]
    return None if first is None or second is None or is_square else (first, second)


def _factor(
    value: Value, made_by: Mapping[Value, Operation], axes: Sequence[Axis]
) -> Operand | None:
    """What makes a value; None if no element depends on all axes that it depends on."""
    operations = _needed(value, made_by)
    ivs = {axis.iv for axis in axes}
    steps = tuple(
        (op, access(op, axes) if op.name == "affine.load" else None)
        for op in operations
    )
    if any(place is None and not ivs.isdisjoint(op.operands) for op, place in steps):
        return None
    places = [place for _, place in steps if place is not None]
    moving = [axis for axis in axes if any(place.mentions(axis) for place in places)]
    whole = [p for p in places if all(p.mentions(axis) for axis in moving)]
    if not whole:
        return None
    main = whole[0]
    return main if len(steps) == 1 else replace(main, steps=steps)


def _needed(value: Value, made_by: Mapping[Value, Operation]) -> list[Operation]:
    """The operations of the body that make a value, each after those that it needs."""
    found: dict[Operation, None] = {}
    work = [value]
    while work:
        op = made_by.get(work[-1])
        if op is None or op in found:
            work.pop()
            continue
        inputs = () if op.name == "affine.load" else op.operands
        missing = [v for v in inputs if v in made_by and made_by[v] not in found]
        work += reversed(missing)
        if not missing:
            found[op] = None
    return list(found)


def _reads_others(result: Operand, factors: Sequence[Operand]) -> bool:
    """Whether no factor reads the buffer that is written."""
    return all(
        place.memref is not result.memref
        for factor in factors
        for place in factor.accesses
    )
