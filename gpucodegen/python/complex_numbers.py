"""Complex numbers: parts, and the rows that the table of functions has for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpucodegen.dialects import complex as dialect
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I1, ComplexType
from gpucodegen.passes.framework.builder import OperationList

Rule = Callable[[OperationList, Sequence[Value]], Value]


def constant(b: OperationList, value: complex, ty: ComplexType) -> Value:
    b.operations.append(dialect.constant(value, ty, location=b.location))
    return b.operations[-1].result


def created(b: OperationList, real: Value, imaginary: Value, ty: ComplexType) -> Value:
    return b.value("complex.create", (real, imaginary), ty)


def part(b: OperationList, name: str, value: Value) -> Value:
    """``re``, ``im``, ``abs`` or ``angle`` of a complex number."""
    ty = value.type
    assert isinstance(ty, ComplexType)
    return b.value(f"complex.{name}", (value,), ty.element)


def _same_type(name: str) -> Rule:
    return lambda b, v: b.value(f"complex.{name}", v, v[0].type)


def _part(name: str) -> Rule:
    return lambda b, v: part(b, name, v[0])


def _test(name: str) -> Rule:
    return lambda b, v: b.value(f"complex.{name}", v, I1)


def _of_parts(test: Callable[[OperationList, Value], Value], joined: str) -> Rule:
    """A test of the real and of the imaginary part."""

    def rule(b: OperationList, v: Sequence[Value]) -> Value:
        found = [test(b, part(b, name, v[0])) for name in ("re", "im")]
        return b.value(f"arith.{joined}", found, I1)

    return rule


def _parts_test(name: str) -> Callable[[OperationList, Value], Value]:
    return lambda b, value: b.value(f"math.{name}", (value,), I1)


def _reciprocal(b: OperationList, v: Sequence[Value]) -> Value:
    ty = v[0].type
    assert isinstance(ty, ComplexType)
    return b.value("complex.div", (constant(b, 1, ty), v[0]), ty)


def _square(b: OperationList, v: Sequence[Value]) -> Value:
    return b.value("complex.mul", (v[0], v[0]), v[0].type)


def _same(_: OperationList, v: Sequence[Value]) -> Value:
    return v[0]


ROWS: dict[np.ufunc, Rule] = {
    np.add: _same_type("add"),
    np.subtract: _same_type("sub"),
    np.multiply: _same_type("mul"),
    np.true_divide: _same_type("div"),
    np.power: _same_type("pow"),
    np.negative: _same_type("neg"),
    np.positive: _same,
    np.conjugate: _same_type("conj"),
    np.absolute: _part("abs"),
    np.square: _square,
    np.reciprocal: _reciprocal,
    np.equal: _test("eq"),
    np.not_equal: _test("neq"),
    np.isnan: _of_parts(_parts_test("isnan"), "ori"),
    np.isinf: _of_parts(_parts_test("isinf"), "ori"),
    np.isfinite: _of_parts(_parts_test("isfinite"), "andi"),
    **{
        getattr(np, name): _same_type(name)
        for name in "cos exp expm1 log log1p sign sin sqrt tan tanh".split()
    },
}
"""The operation of each function on complex numbers."""
