"""Encoding and decoding of all float types, and the index width of CUDA kernels.

A code is ``sign | exponent | fraction``, the sign being the topmost bit. With biased
exponent e and fraction m of f bits, its value is ``±(1 + m / 2**f) * 2**(e - bias)``,
and for e = 0 it is ``±(m / 2**f) * 2**(1 - bias)``. Kernels for CUDA compute indices in
32 bits; every launch checks that they suffice.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from functools import cache

from gpucodegen.records import dataclass

MAX_OFFSET = 2**31 - 1
"""Largest element offset that a kernel with 32-bit indices can address."""
MOST_THREADS = 2**31 - 2**16
"""Largest number of threads along one dimension, with headroom for 32-bit indices."""


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """The layout of one float format.

    ``special`` tells which codes are no finite numbers: ``ieee`` reserves the top
    exponent for infinity and NaN, ``fn`` only its last code for NaN, ``fnuz`` the code
    of minus zero, ``finite`` none. ``e8m0`` is an exponent alone, whose last code is
    NaN.
    """

    exponent: int
    fraction: int
    special: str = "ieee"
    bias: int = 0
    has_integer_bit: bool = False

    @property
    def is_signed(self) -> bool:
        return self.special != "e8m0"

    @property
    def width(self) -> int:
        return self.is_signed + self.exponent + self.has_integer_bit + self.fraction

    @property
    def precision(self) -> int:
        return self.fraction + 1

    @property
    def digits(self) -> int:
        """Decimal digits that tell any two values apart, as LLVM counts them."""
        return 2 + self.precision * 59 // 196

    @property
    def low(self) -> int:
        """Exponent of the smallest normal number."""
        return (0 if self.special == "e8m0" else 1) - self.offset

    @property
    def offset(self) -> int:
        """The bias; half of the exponent's range unless stated."""
        return self.bias or (1 << (self.exponent - 1)) - 1

    # -- codes that are no numbers -----------------------------------------------------

    @property
    def nan(self) -> int | None:
        """The preferred code of NaN."""
        stored = self.fraction + self.has_integer_bit
        top = (1 << self.exponent) - 1 << stored
        match self.special:
            case "ieee":
                return top | (3 if self.has_integer_bit else 1) << (self.fraction - 1)
            case "fn" | "e8m0":
                return top | (1 << self.fraction) - 1
            case "fnuz":
                return 1 << (self.width - 1)
            case _:
                return None

    @property
    def infinity(self) -> int | None:
        """The code of plus infinity."""
        if self.special != "ieee":
            return None
        stored = self.fraction + self.has_integer_bit
        integer = self.has_integer_bit << self.fraction
        return (1 << self.exponent) - 1 << stored | integer

    @property
    def largest(self) -> int:
        """The code of the largest number."""
        everything = (1 << (self.width - self.is_signed)) - 1
        if self.special == "ieee":
            return everything - (1 << (self.fraction + self.has_integer_bit))
        return everything - (self.special in ("fn", "e8m0"))

    @property
    def beyond(self) -> int:
        """The code of numbers out of range: infinity, else NaN, else the largest."""
        codes = (self.infinity, self.nan, self.largest)
        return next(code for code in codes if code is not None)

    def _is_nan(self, magnitude: int, *, negative: bool) -> bool:
        match self.special:
            case "ieee":
                top = (1 << self.exponent) - 1
                is_top = magnitude >> (self.fraction + self.has_integer_bit) == top
                return is_top and magnitude != self.infinity
            case "fn" | "e8m0":
                return magnitude == self.nan
            case "fnuz":
                return negative and magnitude == 0
            case _:
                return False

    # -- decoding ----------------------------------------------------------------------

    def is_negative(self, bits: int) -> bool:
        return self.is_signed and bool(bits >> (self.width - 1))

    def exact(self, bits: int) -> Fraction | None:
        """The absolute value of a code as a fraction; None for infinity and NaN."""
        negative = self.is_negative(bits)
        magnitude = bits & ((1 << (self.width - self.is_signed)) - 1)
        is_infinite = self.infinity is not None and magnitude == self.infinity
        if is_infinite or self._is_nan(magnitude, negative=negative):
            return None
        e, m = magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1)
        if self.has_integer_bit:
            e, m = e >> 1, magnitude & ((1 << (self.fraction + 1)) - 1)
        elif e or self.special == "e8m0":
            m |= 1 << self.fraction
        shift = max(e - self.offset, self.low) - self.fraction
        value = Fraction(m << shift) if shift >= 0 else Fraction(m, 1 << -shift)
        return -value if negative else value

    def decode(self, bits: int) -> float:
        """The nearest Python float of a code."""
        negative = self.is_negative(bits)
        value = self.exact(bits)
        if value is None:
            magnitude = bits & ((1 << (self.width - self.is_signed)) - 1)
            is_infinite = self.infinity is not None and magnitude == self.infinity
            result = math.inf if is_infinite else math.nan
            return -result if negative and is_infinite else result
        try:
            result = float(value)
        except OverflowError:
            result = -math.inf if negative else math.inf
        return -0.0 if negative and not result else result

    # -- encoding ----------------------------------------------------------------------

    def encode(self, value: Fraction | float) -> int:
        """The code of the nearest value, ties to even."""
        if isinstance(value, float):
            if math.isnan(value):
                return self.largest if self.nan is None else self.nan
            negative = math.copysign(1.0, value) < 0
        else:
            negative = value < 0
        magnitude = self._encode_magnitude(-value if negative else value)
        has_sign = self.special != "fnuz" or 0 < magnitude <= self.largest
        return magnitude | (negative and has_sign and self.is_signed) << self.width - 1

    def _encode_magnitude(self, value: Fraction | float) -> int:
        """Round to a multiple of the last place; the carry runs into the exponent."""
        if value == math.inf:
            return self.beyond
        e = max(_exponent(value), self.low) if value else self.low
        m = round(_scaled(value, self.fraction - e))
        if self.special == "e8m0":
            code = max(0, e + self.offset + (m - 1 if m else 0))
            return min(code, self.beyond)
        is_normal = m >= 1 << self.fraction
        code = ((e + self.offset - 1) << self.fraction) + m if is_normal else m
        if self.has_integer_bit:
            code = self._with_integer_bit(code)
        return code if code <= self.largest else self.beyond

    def _with_integer_bit(self, code: int) -> int:
        e, m = code >> self.fraction, code & ((1 << self.fraction) - 1)
        return e << (self.fraction + 1) | (e > 0) << self.fraction | m


def _scaled(value: Fraction | float, exponent: int) -> Fraction | float:
    """``value * 2**exponent``, exactly."""
    if isinstance(value, float):
        return math.ldexp(value, exponent)
    return value / 2**-exponent if exponent < 0 else value * 2**exponent


def _exponent(value: Fraction | float) -> int:
    """The largest e with ``2**e <= value``."""
    if isinstance(value, float):
        return math.frexp(value)[1] - 1
    e = value.numerator.bit_length() - value.denominator.bit_length()
    smaller = value.numerator << -e if e < 0 else value.numerator
    return e if smaller >= value.denominator << max(e, 0) else e - 1


FORMATS: dict[str, FloatFormat] = {
    "f16": FloatFormat(5, 10),
    "bf16": FloatFormat(8, 7),
    "tf32": FloatFormat(8, 10),
    "f32": FloatFormat(8, 23),
    "f64": FloatFormat(11, 52),
    "f80": FloatFormat(15, 63, has_integer_bit=True),
    "f128": FloatFormat(15, 112),
    "f8E5M2": FloatFormat(5, 2),
    "f8E4M3": FloatFormat(4, 3),
    "f8E3M4": FloatFormat(3, 4),
    "f8E4M3FN": FloatFormat(4, 3, "fn"),
    "f8E4M3FNUZ": FloatFormat(4, 3, "fnuz", 8),
    "f8E5M2FNUZ": FloatFormat(5, 2, "fnuz", 16),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, "fnuz", 11),
    "f8E8M0FNU": FloatFormat(8, 0, "e8m0"),
    "f6E3M2FN": FloatFormat(3, 2, "finite"),
    "f6E2M3FN": FloatFormat(2, 3, "finite"),
    "f4E2M1FN": FloatFormat(2, 1, "finite"),
}
"""Every float type of the builtin dialect by its name."""

SMALL = frozenset(n for n, format_ in FORMATS.items() if format_.width <= 8)
"""Types of one byte in memory."""
NARROW = SMALL | {"f16", "bf16"}
"""Types computed in f32 and rounded after every operation."""

_NATIVE = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}


@cache
def decode_table(name: str) -> tuple[float, ...]:
    """The value of every code of a format of at most 8 bits.

    >>> decode_table("f4E2M1FN")[:8]
    (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
    """
    format_ = FORMATS[name]
    return tuple(map(format_.decode, range(1 << format_.width)))


def to_bits(value: Fraction | float, name: str) -> int:
    """The code of the nearest value of a type."""
    if name in _NATIVE and isinstance(value, float) and math.isfinite(value):
        layout, code = _NATIVE[name]
        try:
            return struct.unpack(code, struct.pack(layout, value))[0]
        except OverflowError:
            pass
    return FORMATS[name].encode(value)


def of_bits(bits: int, name: str) -> float:
    """The nearest Python float of a type's code; all NaNs become one."""
    if name in _NATIVE:
        layout, code = _NATIVE[name]
        value: float = struct.unpack(layout, struct.pack(code, bits))[0]
        return value if value == value else math.nan  # noqa: PLR0124
    return decode_table(name)[bits] if name in SMALL else FORMATS[name].decode(bits)
