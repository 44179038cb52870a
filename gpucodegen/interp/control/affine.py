"""affine: loops, conditions and index arithmetic, their maps taken at numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.shared.combiners import OF_ATOMICS
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import combine
from gpucodegen.interp.values.constants import constant
from gpucodegen.interp.values.elements import canonical
from gpucodegen.interp.values.elementwise import elementwise
from gpucodegen.interp.values.indices import at, given
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import INDEX, element_type


def _for(m: Machine, op: Operation, *_: Any) -> Any:
    loop = affine.For(op)
    lower = max(at(loop.lower_map, m.of(loop.lower_operands)))
    upper = min(at(loop.upper_map, m.of(loop.upper_operands)))
    carried = m.of(loop.inits)
    for i in range(lower, upper, loop.step):
        carried = m.results(op.regions[0], (i, *carried))
    return given(carried)


def _if(m: Machine, op: Operation, *operands: int) -> Any:
    condition = affine.If(op).set
    dims = condition.num_dims
    holds = condition.contains(operands[:dims], operands[dims:])
    return given(m.results(op.regions[0 if holds else 1]))


def _parallel(m: Machine, op: Operation, *_: Any) -> Any:
    """Results begin with what changes nothing, and take each iteration's in order."""
    loop = affine.Parallel(op)
    lower = [max(at(map_, m.of(loop.lower_operands))) for map_ in loop.lower_maps]
    upper = [min(at(map_, m.of(loop.upper_operands))) for map_ in loop.upper_maps]
    kinds = [OF_ATOMICS.get(name) for name in loop.reductions]
    types = [element_type(v.type) for v in op.results]
    found: list[Any] = [None] * len(types)
    for point in product(*map(range, lower, upper, loop.steps)):
        for n, value in enumerate(m.results(op.regions[0], point)):
            row = kinds[n]
            if row is None or found[n] is None:
                found[n] = value
            else:
                function = combine(row.operation, types[n])
                pair = op.with_(operands=(op.results[n],) * 2, results=(op.results[n],))
                found[n] = elementwise(pair, function, (found[n], value))
    return given(tuple(_or_neutral(op, loop, n, v) for n, v in enumerate(found)))


def _or_neutral(op: Operation, loop: affine.Parallel, n: int, value: Any) -> Any:
    if value is not None:
        return value
    ty = op.results[n].type
    row = OF_ATOMICS.get(loop.reductions[n])
    if row is None:
        raise errors.UnsupportedOperation(
            operation=f"{op.name} without iterations", target="interp"
        )
    from gpucodegen.dialects.arith import constant_attribute

    return constant(constant_attribute(row.neutral_of(element_type(ty)), ty), ty)


def _apply(_: Machine, op: Operation, *operands: int) -> int:
    return at(affine.map_of(op), operands)[0]


def _min(_: Machine, op: Operation, *operands: int) -> int:
    return min(at(affine.map_of(op), operands))


def _max(_: Machine, op: Operation, *operands: int) -> int:
    return max(at(affine.map_of(op), operands))


def _basis(m: Machine, op: Operation) -> list[int]:
    dynamic = iter(m.groups(op)["dynamic_basis"])
    static = op.numbers("static_basis")
    return [next(dynamic) if n == DYNAMIC_MARK else n for n in static]


def _delinearize(m: Machine, op: Operation, linear: int, *_: int) -> Any:
    """From the last place on; the first takes what is left."""
    basis = _basis(m, op)
    inner = basis if len(basis) < len(op.results) else basis[1:]
    places: list[int] = []
    for extent in reversed(inner):
        if extent == 0:
            raise errors.DivisionByZero
        places.append(linear % extent)
        linear //= extent
    return given(tuple(reversed([*places, linear])))


def _linearize(m: Machine, op: Operation, *_: int) -> int:
    indices, basis = m.groups(op)["multi_index"], _basis(m, op)
    inner = basis if len(basis) < len(indices) else basis[1:]
    linear = indices[0] if indices else 0
    for index, extent in zip(indices[1:], inner, strict=True):
        linear = linear * extent + index
    return canonical(linear, INDEX)


OPERATIONS: dict[str, Evaluate] = {
    "affine.for": _for,
    "affine.if": _if,
    "affine.parallel": _parallel,
    "affine.apply": _apply,
    "affine.min": _min,
    "affine.max": _max,
    "affine.delinearize_index": _delinearize,
    "affine.linearize_index": _linearize,
}
