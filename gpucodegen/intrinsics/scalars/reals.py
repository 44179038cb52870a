"""Real numbers in formulas: LLVM values with the operators of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpucodegen.intrinsics.framework.lowering import Lowering, number


@dataclass(frozen=True, slots=True)
class Real:
    """A real number while its code is built, with the operators of Python."""

    low: Lowering
    ty: Any
    value: Any

    def of(self, value: Any) -> Real:
        """Another number of this type: a constant, or an LLVM value."""
        is_plain = isinstance(value, int | float)
        made = number(self.value.type, value) if is_plain else value
        return Real(self.low, self.ty, made)

    def function(self, name: str, *others: Real) -> Real:
        """A function of C's library."""
        arguments = [x.value for x in (self, *others)]
        return self.of(self.low.face.function(self.low, name, self.ty, arguments))

    def _combined(self, method: str, other: Real | float) -> Real:
        value = other.value if isinstance(other, Real) else self.of(other).value
        return self.of(getattr(self.low.builder, method)(self.value, value))

    def __add__(self, other: Real | float) -> Real:
        return self._combined("fadd", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._combined("fsub", other)

    def __mul__(self, other: Real | float) -> Real:
        return self._combined("fmul", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._combined("fdiv", other)

    def __neg__(self) -> Real:
        return self.of(-0.0) - self

    def __abs__(self) -> Real:
        return self.of(self.low.overloaded("fabs", (self.value,)))

    def root(self) -> Real:
        """The square root."""
        return self.of(self.low.overloaded("sqrt", (self.value,)))

    def with_sign_of(self, other: Real) -> Real:
        """This size with another number's sign."""
        return self.of(self.low.overloaded("copysign", (self.value, other.value)))

    def compared(self, symbol: str, other: Real | float) -> Any:
        """An ordered comparison, as a bit."""
        value = other.value if isinstance(other, Real) else self.of(other).value
        return self.low.builder.fcmp_ordered(symbol, self.value, value)

    def is_nan(self) -> Any:
        """A bit."""
        return self.low.builder.fcmp_unordered("uno", self.value, self.value)

    def if_(self, condition: Any, other: Real) -> Real:
        """This number where the bit is set, else the other."""
        chosen = self.low.builder.select(condition, self.value, other.value)
        return self.of(chosen)
