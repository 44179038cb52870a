"""Numbers of a translated function: compile-time constants or SSA values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, cast

import numpy as np

from gpucodegen.dialects import arith
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import F32, I1, I32, I64, INDEX, ComplexType, FloatType, Type
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import complex_numbers
from gpucodegen.python.types import (
    Kind,
    category,
    described,
    element,
    equal,
    is_python,
)
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of values with coefficients and a constant, modulo 2^64."""

    terms: Mapping[Value, int]
    constant: int = 0

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """This sum plus a multiple of another one."""
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            terms[value] = terms.get(value, 0) + times * factor
        kept = {value: factor for value, factor in terms.items() if factor}
        return Linear(kept, self.constant + times * other.constant)


WIDE = 1 << 63
ANY = (-WIDE, WIDE - 1)
NATURAL = (0, WIDE - 1)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number of a kind: a ``constant``, or else a ``value``.

    ``form``: a computed index as a sum of other values; ``parts``: the operation of
    `integers` that computes it, and its operands.
    """

    kind: Kind
    value: Value | None = None
    constant: Any = None
    limits: tuple[int, int] = field(default=ANY, compare=False)
    """The smallest and the largest number that a computed integer may be."""
    form: Linear | None = field(default=None, compare=False)
    parts: tuple[str, Scalar, Scalar] | None = field(default=None, compare=False)

    @property
    def is_natural(self) -> bool:
        """Whether a computed integer is certainly zero or more."""
        return self.limits[0] >= 0

    @property
    def linear(self) -> Linear:
        """An index as a sum of values that no arithmetic of indices computes."""
        if self.value is None:
            return Linear({}, self.constant)
        return self.form or Linear({self.value: 1})

    def ssa(self, b: OperationList) -> Value:
        """Its SSA value; a constant becomes ``arith.constant``.  Raises OutOfRange."""
        if self.value is not None:
            return self.value
        if self.kind is int and not ANY[0] <= self.constant <= ANY[1]:
            raise OutOfRange
        ty = element(self.kind)
        if isinstance(ty, ComplexType):
            return complex_numbers.constant(b, self.constant, ty)
        return b.constant(self.constant, ty)

    def mixed(self) -> Value | int:
        """An index: its number if it is a constant."""
        return self.constant if self.value is None else self.value

    def __str__(self) -> str:
        return described(self.kind)


def known(value: Any) -> Scalar:
    """A compile-time constant.

    >>> print(known(2), known(np.float32(2)))
    int numpy.float32
    """
    if isinstance(value, np.generic):
        number = cast("Any", value)
        return Scalar(number.dtype, constant=number.item())
    return Scalar(type(value), constant=value)


class NoRow(TypeError):
    """A function without a row for these kinds of numbers."""


class OutOfRange(NoRow):
    """A Python integer that a NumPy type cannot represent: NumPy refuses it."""


def fits(number: int, kind: Kind) -> bool:
    """Whether a NumPy type represents an integer.

    >>> fits(255, np.dtype("u1")), fits(-1, np.dtype("u1")), fits(300, np.dtype("f2"))
    (True, False, True)
    """
    if is_python(kind) or kind.kind not in "iu":
        return True
    limits = np.iinfo(kind)
    return bool(limits.min <= number <= limits.max)


def limits_of(scalar: Scalar) -> tuple[int, int]:
    """The smallest and the largest number that an integer may be.

    >>> limits_of(known(3)), limits_of(Scalar(np.dtype("u1"), Value(I1)))
    ((3, 3), (0, 255))
    """
    if scalar.value is None:
        return scalar.constant, scalar.constant
    if category(scalar.kind) == "b":
        return 0, 1
    if is_python(scalar.kind):
        return scalar.limits
    limits = np.iinfo(scalar.kind)
    return int(limits.min), int(limits.max)


def united(scalars: Sequence[Scalar]) -> tuple[int, int]:
    """The limits of an integer that is one of these."""
    limits = [limits_of(scalar) for scalar in scalars]
    return min(low for low, _ in limits), max(high for _, high in limits)


def combined_limits(name: str, one: Scalar, other: Scalar) -> tuple[int, int]:
    """The limits of a result of Python's integer arithmetic that may wrap around.

    >>> combined_limits("remainder", Scalar(int, Value(INDEX)), known(7))
    (0, 6)
    """
    (a, b), (c, d) = limits_of(one), limits_of(other)
    if name in ("add", "sub", "mul") or (name == "floordiv" and c > 0):
        ends = [_KNOWN[name](x, y) for x in (a, b) for y in (c, d)]
        found = min(ends), max(ends)
        return found if found[0] >= ANY[0] and found[1] <= ANY[1] else ANY
    if name == "remainder" and c > 0:
        return 0, min(b, d - 1) if a >= 0 else d - 1
    if name == "bitwise_and" and max(a, c) >= 0:
        return 0, min(high for low, high in ((a, b), (c, d)) if low >= 0)
    if name == "minimum":
        return min(a, c), min(b, d)
    if name == "maximum":
        return max(a, c), max(b, d)
    return ANY


def astype(
    b: OperationList, scalar: Scalar, kind: Kind, *, checked: bool = False
) -> Scalar:
    """The number converted to another kind, as by NumPy's ``astype``.

    ``checked``: raises OutOfRange if a constant Python integer does not fit.

    >>> b = OperationList()
    >>> print(astype(b, known(2), float).constant)
    2.0
    """
    if equal(scalar.kind, kind):
        return scalar
    if scalar.value is None:
        if checked and scalar.kind is int and not fits(scalar.constant, kind):
            raise OutOfRange
        return Scalar(kind, constant=_constant(scalar.constant, kind))
    before, after = category(scalar.kind), category(kind)
    value, source = scalar.value, scalar.value.type
    target = element(kind)
    if isinstance(target, ComplexType):
        return Scalar(kind, _as_complex(b, scalar, target))
    if before == "c":
        if after == "b":
            is_some = [_part(scalar, name, b) for name in ("re", "im")]
            truths = [astype(b, x, kind).ssa(b) for x in is_some]
            return Scalar(kind, b.value("arith.ori", truths, I1))
        return astype(b, _part(scalar, "re", b), kind)
    if after == "b" and before != "b":
        zero = b.constant(0, source)
        predicate = "une" if before == "f" else "ne"
        return Scalar(kind, compared(b, predicate, value, zero))
    if "f" not in before + after:
        limits = limits_of(scalar) if kind is int else ANY
        limits = limits if limits[1] <= ANY[1] else ANY
        return Scalar(kind, _as_integer(b, value, target, before), limits=limits)
    if before == "f" and after != "f":
        return Scalar(kind, _truncated(b, value, target, after))
    if before == "f":
        return Scalar(kind, _as_float(b, value, target))
    if source == INDEX:
        value = _as_integer(b, value, I64, "i")
    name = "arith.sitofp" if before == "i" else "arith.uitofp"
    return Scalar(kind, b.value(name, (value,), target))


def _part(scalar: Scalar, name: str, b: OperationList) -> Scalar:
    """The real or imaginary part of a complex number."""
    kind = float if is_python(scalar.kind) else np.dtype(scalar.kind.char.lower())
    return Scalar(kind, complex_numbers.part(b, name, scalar.ssa(b)))


def _as_complex(b: OperationList, scalar: Scalar, target: ComplexType) -> Value:
    kind = np.dtype("f4" if target.element == F32 else "f8")
    if category(scalar.kind) == "c":
        parts = [astype(b, _part(scalar, name, b), kind) for name in ("re", "im")]
        real, imaginary = (x.ssa(b) for x in parts)
        return complex_numbers.created(b, real, imaginary, target)
    real = astype(b, scalar, kind).ssa(b)
    return complex_numbers.created(b, real, b.constant(0, real.type), target)


def _constant(number: Any, kind: Kind) -> Any:
    if is_python(kind):
        return kind(number)
    with np.errstate(all="ignore"):
        return np.asarray(number).astype(kind).item()


def _as_integer(b: OperationList, value: Value, target: Type, before: str) -> Value:
    source = value.type
    if source == target:
        return value
    sign = "s" if before == "i" else "u"
    if INDEX in (source, target):
        name = "arith.index_cast" if sign == "s" else "arith.index_castui"
    else:
        widths = [getattr(ty, "width", 64) for ty in (source, target)]
        name = f"arith.ext{sign}i" if widths[0] < widths[1] else "arith.trunci"
    return b.value(name, (value,), target)


def _truncated(b: OperationList, value: Value, target: Type, after: str) -> Value:
    """A float as an integer, with the out-of-range results of NumPy's machine code.

    Narrow integers are the lowest bits of 32, and unsigned ones of 64, so that negative
    numbers wrap around.
    """
    width = getattr(target, "width", 64)
    if after == "i" or width < 64:
        inner = I32 if width < 32 or (width == 32 and after == "i") else I64
        whole = b.value("arith.fptosi", (value,), inner)
        return _as_integer(b, whole, target, "i")
    signed = b.value("arith.fptosi", (value,), I64)
    unsigned = b.value("arith.fptoui", (value,), I64)
    is_negative = compared(b, "olt", value, b.constant(0, value.type))
    return chosen(b, is_negative, signed, unsigned)


def _as_float(b: OperationList, value: Value, target: Type) -> Value:
    bits = [
        int(ty.name[1:]) for ty in (value.type, target) if isinstance(ty, FloatType)
    ]
    if bits[0] == bits[-1]:
        return value
    name = "arith.extf" if bits[0] < bits[-1] else "arith.truncf"
    return b.value(name, (value,), target)


def compared(b: OperationList, predicate: str, x: Value, y: Value) -> Value:
    """``arith.cmpi`` or ``arith.cmpf``."""
    name = "arith.cmpf" if isinstance(x.type, FloatType) else "arith.cmpi"
    op = arith.compare(name, predicate, x, y, location=b.location)
    b.operations.append(op)
    return op.result


def chosen(b: OperationList, condition: Value, yes: Value, no: Value) -> Value:
    return b.value("arith.select", (condition, yes, no), yes.type)


def negated(b: OperationList, truth: Value) -> Value:
    return b.value("arith.xori", (truth, b.constant(1, I1)), I1)


def integers(b: OperationList, name: str, one: Scalar, other: Scalar) -> Scalar:
    """Index arithmetic: ``add``, ``sub``, ``mul`` or ``floordiv``; constants fold.

    Sums fold where values cancel, as in ``(i + n) - i``.

    >>> print(integers(OperationList(), "floordiv", known(7), known(-2)).constant)
    -4
    """
    if one.value is None and other.value is None:
        return known(_KNOWN[name](one.constant, other.constant))
    neutral = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1}[name]
    if other.value is None and other.constant == neutral:
        return one
    form = _sum_of(name, one, other)
    if form is not None and not form.terms:
        return known(form.constant)
    if form is not None and not form.constant and [*form.terms.values()] == [1]:
        (value,) = form.terms
        return next((s for s in (one, other) if s.value is value), Scalar(int, value))
    operation = {"floordiv": "arith.floordivsi"}.get(name, f"arith.{name}i")
    value = b.value(operation, (one.ssa(b), other.ssa(b)), INDEX)
    limits = combined_limits(name, one, other)
    return Scalar(int, value, limits=limits, form=form, parts=(name, one, other))


def _sum_of(name: str, one: Scalar, other: Scalar) -> Linear | None:
    """The result of index arithmetic as a sum, if it is one."""
    if name in ("add", "sub"):
        return one.linear.plus(other.linear, 1 if name == "add" else -1)
    for factor, scaled in ((one, other), (other, one)):
        if name == "mul" and factor.value is None:
            return Linear({}).plus(scaled.linear, factor.constant)
    return None


def distance(one: Scalar, other: Scalar) -> int | None:
    """The difference of two indices, if it is known."""
    form = one.linear.plus(other.linear, -1)
    return None if form.terms else form.constant


_KNOWN = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "floordiv": int.__floordiv__,
}


def same(one: Sequence[Scalar], other: Sequence[Scalar]) -> bool:
    """Whether extents are certainly equal."""
    return len(one) == len(other) and all(
        distance(x, y) == 0 for x, y in zip(one, other, strict=True)
    )
