"""Interprets control flow: cf, scf and affine loops and branches, and ub.

Parallel iterations run in order, reductions from left to right. Since tensors are
values, an iteration of ``scf.forall`` reads a shared result as it was before the loop;
writes of other iterations are visible only after the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.shared.combiners import OF_ATOMICS
from gpucodegen.interp.arith import combine
from gpucodegen.interp.machine import Jump, Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.tensors import insert_into
from gpucodegen.interp.values import (
    at,
    bits_of,
    canonical,
    constant,
    elementwise,
    empty,
    given,
    steps,
)
from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.literals import wrapped
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    INDEX,
    AnyShaped,
    ComplexType,
    FloatType,
    TensorType,
    VectorType,
    element_type,
)


def _affine_for(m: Machine, op: Operation, *_: Any) -> Any:
    loop = affine.For(op)
    lower = max(at(loop.lower_map, m.of(loop.lower_operands)))
    upper = min(at(loop.upper_map, m.of(loop.upper_operands)))
    carried = m.of(loop.inits)
    for i in range(lower, upper, loop.step):
        carried = m.results(op.regions[0], (i, *carried))
    return given(carried)


def _affine_if(m: Machine, op: Operation, *operands: int) -> Any:
    condition = affine.If(op).set
    dims = condition.num_dims
    holds = condition.contains(operands[:dims], operands[dims:])
    return given(m.results(op.regions[0 if holds else 1]))


def _affine_parallel(m: Machine, op: Operation, *_: Any) -> Any:
    """Results start as neutral elements and combine each iteration's in order."""
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
    """Digits from the last one on; the first takes the remaining quotient."""
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


AFFINE_OPERATIONS: dict[str, Evaluate] = {
    "affine.for": _affine_for,
    "affine.if": _affine_if,
    "affine.parallel": _affine_parallel,
    "affine.apply": _apply,
    "affine.min": _min,
    "affine.max": _max,
    "affine.delinearize_index": _delinearize,
    "affine.linearize_index": _linearize,
}


def _br(_: Machine, op: Operation) -> Jump:
    return Jump(op.successors[0])


def _cond_br(_: Machine, op: Operation, condition: int) -> Jump:
    return Jump(op.successors[0 if condition else 1])


def _switch(_: Machine, op: Operation, flag: int) -> Jump:
    """The case with equal bits, else the default, which is written first."""
    listed = op.attributes.get("case_values")
    values = listed.values if isinstance(listed, DenseElementsAttr) else ()
    cases = values * (len(op.successors) - 1) if len(values) == 1 else values
    bits = bits_of(op.operands[0].type)
    for case, target in zip(cases, op.successors[1:], strict=False):
        if wrapped(int(str(case)), bits) == wrapped(flag, bits):
            return Jump(target)
    return Jump(op.successors[0])


def _unreachable(_: Machine, op: Operation) -> None:
    raise errors.AssertionFailed(op.location, message="ub.unreachable was reached")


def _poison(_: Machine, op: Operation) -> Any:
    """Poison may be any value: zero."""
    ty = op.results[0].type
    if isinstance(ty, VectorType | TensorType):
        return empty([n or 0 for n in ty.shape], ty.element)
    if isinstance(ty, AnyShaped):
        raise errors.UnsupportedOperation(operation=op.name, target="interp")
    zero = (
        0.0 if isinstance(ty, FloatType) else 0j if isinstance(ty, ComplexType) else 0
    )
    return canonical(zero, ty)


CF_OPERATIONS: dict[str, Evaluate] = {
    "cf.br": _br,
    "cf.cond_br": _cond_br,
    "cf.switch": _switch,
    "ub.poison": _poison,
    "ub.unreachable": _unreachable,
}


def _bounds(op: Operation, name: str, dynamic: tuple[int, ...]) -> tuple[int, ...]:
    values = iter(dynamic)
    return tuple(next(values) if n == DYNAMIC_MARK else n for n in op.numbers(name))


def _forall(m: Machine, op: Operation, *_: Any) -> Any:
    groups = m.groups(op)
    lower = _bounds(op, "staticLowerBound", groups["dynamicLowerBound"])
    upper = _bounds(op, "staticUpperBound", groups["dynamicUpperBound"])
    step = _bounds(op, "staticStep", groups["dynamicStep"])
    shared = groups["outputs"]
    made = tuple(value.copy() for value in shared)
    outputs = op.body.arguments[len(upper) :]
    for point in _points(list(zip(lower, upper, step, strict=True))):
        end, _values = m.region(op.regions[0], (*point, *shared))
        for insert in end.body.operations if end is not None and end.regions else ():
            source, dest = m.of(insert.operands[:2])
            number = outputs.index(insert.operands[1])
            assert dest is shared[number]
            insert_into(m, insert, source, made[number])
    return given(made)


def _points(bounds: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, ...]]:
    """All iterations, as nested loops make them: no step of one that does not run."""
    if not bounds:
        yield ()
        return
    first, *others = bounds
    for i in steps(*first):
        for rest in _points(others):
            yield (i, *rest)


FORALL_OPERATIONS: dict[str, Evaluate] = {"scf.forall": _forall}


def _parallel(m: Machine, op: Operation, *operands: Any) -> Any:
    count = len(op.body.arguments)
    lower, upper, step = (operands[i * count : (i + 1) * count] for i in range(3))
    carried = operands[3 * count :]
    for point in _points(list(zip(lower, upper, step, strict=True))):
        end, values = m.region(op.regions[0], point)
        if end is not None and end.regions:
            carried = tuple(
                m.results(region, pair)[0]
                for region, pair in zip(
                    end.regions, zip(carried, values, strict=True), strict=True
                )
            )
    return given(carried)


PARALLEL_OPERATIONS: dict[str, Evaluate] = {"scf.parallel": _parallel}


def _for(
    m: Machine, op: Operation, lower: int, upper: int, step: int, *carried: Any
) -> Any:
    bits = bits_of(op.operands[0].type)
    sign = "u" if "unsignedCmp" in op.attributes else ""
    lower, upper = (wrapped(n, bits, sign) for n in (lower, upper))
    for index in steps(lower, upper, wrapped(step, bits, sign)):
        carried = m.results(op.regions[0], (wrapped(index, bits), *carried))
    return given(carried)


def _if(m: Machine, op: Operation, condition: int) -> Any:
    return given(m.results(op.regions[0 if condition else 1]))


def _while(m: Machine, op: Operation, *carried: Any) -> Any:
    before, after = op.regions
    while True:
        condition, *passed = m.results(before, carried)
        if not condition:
            return given(tuple(passed))
        carried = m.results(after, tuple(passed))


def _execute_region(m: Machine, op: Operation) -> Any:
    return given(m.results(op.regions[0]))


def _index_switch(m: Machine, op: Operation, chosen: int) -> Any:
    """The region of the case, else the default, which is the first region."""
    cases = op.numbers("cases")
    number = cases.index(chosen) + 1 if chosen in cases else 0
    return given(m.results(op.regions[number]))


SCF_OPERATIONS: dict[str, Evaluate] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.execute_region": _execute_region,
    "scf.index_switch": _index_switch,
}
