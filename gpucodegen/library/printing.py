"""Values as text, in the format of MLIR's runner: pure functions of values and types.

A type is spelt as MLIR spells it: ``"f32"``, ``"ui8"``, ``"index"``, ``"i1"``.  Floats
are written with ``%g``.  Narrow floats come as numbers or, in arrays, as their codes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpucodegen.ir.data.float_formats import NARROW, of_bits

_INTEGER = re.compile(r"([su]?)i(\d+)")
PUNCTUATION = {
    "no_punctuation": "",
    "newline": "\n",
    "comma": ", ",
    "open": "( ",
    "close": " )",
}
"""The text of each ``#vector.punctuation``."""


def float_text(value: float) -> str:
    """``%g`` of C, where a NaN has a sign.

    >>> [float_text(x) for x in (1.0, 0.1, 1e20, -0.0, float("inf"))]
    ['1', '0.1', '1e+20', '-0', 'inf']
    """
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return f"{value:g}"


def number_text(value: Any, kind: str) -> str:
    """One number of a type.

    ``iN`` is printed as signed, ``i1`` and ``index`` as unsigned, as MLIR does.

    >>> number_text(-1, "i8"), number_text(-1, "ui8"), number_text(True, "i1")
    ('-1', '255', '1')
    >>> number_text(-1, "index"), number_text(2j, "complex<f32>")
    ('18446744073709551615', '(0,2)')
    """
    if kind.startswith("complex"):
        number = complex(value)
        return f"({float_text(number.real)},{float_text(number.imag)})"
    integer = _INTEGER.fullmatch("ui64" if kind == "index" else kind)
    if integer is None:
        return float_text(float(value))
    width = int(integer[2])
    bits = int(value) % (1 << width)
    is_signed = integer[1] != "u" and width > 1
    is_negative = is_signed and bits >> (width - 1)
    return str(bits - (1 << width) if is_negative else bits)


def numbers(array: Any, kind: str) -> np.ndarray:
    """The elements of an array as they are printed: narrow floats out of their codes.

    >>> numbers(np.array([0x3F80], np.uint16), "bf16").tolist()
    [1.0]
    """
    found = np.asarray(array)
    if kind not in NARROW or found.dtype.kind == "f":
        return found
    codes = found.view(f"u{found.dtype.itemsize}").ravel().tolist()
    made = np.array([of_bits(code, kind) for code in codes], float)
    return made.reshape(found.shape)


def vector_text(array: Any, kind: str) -> str:
    """What ``vector.print`` prints of a vector, without the newline.

    >>> vector_text(np.arange(6).reshape(2, 3), "i32")
    '( ( 0, 1, 2 ), ( 3, 4, 5 ) )'
    >>> vector_text(np.float32(7), "f32")
    '( 7 )'
    """
    found = numbers(array, kind)
    return _vector(found if found.ndim else found.reshape(1), kind)


def _vector(array: np.ndarray, kind: str) -> str:
    if not array.ndim:
        return number_text(array.item(), kind)
    inner = ", ".join(_vector(part, kind) for part in array)
    return f"( {inner} )"


def shape_text(
    base: int, offset: int, sizes: Sequence[int], strides: Sequence[int]
) -> str:
    """The descriptor of a buffer; sizes, strides and the offset count elements.

    >>> shape_text(0x10, 2, (4, 3), (3, 1))
    'base@ = 0x10 rank = 2 offset = 2 sizes = [4, 3] strides = [3, 1]'
    """
    extents, steps = (", ".join(map(str, values)) for values in (sizes, strides))
    where = f"base@ = {base:#x} rank = {len(sizes)} offset = {offset}"
    return f"{where} sizes = [{extents}] strides = [{steps}]"


def data_text(array: Any, kind: str, vector: int = 0) -> str:
    """The elements of a buffer, whose last ``vector`` dimensions are one of vectors.

    >>> print(data_text(np.arange(6).reshape(2, 3), "i32"))
    [[0,   1,   2],
     [3,   4,   5]]
    >>> data_text(np.arange(4).reshape(2, 2), "i32", vector=1)
    '[(0, 1),  (2, 3)]'
    """
    found = numbers(array, kind)
    rank = found.ndim - vector

    def element(part: np.ndarray) -> str:
        if not part.ndim:
            return number_text(part.item(), kind)
        inner = part.ndim - 1
        return f"({_listed(part, element, inner, broken=inner > 1)})"

    def buffer(part: np.ndarray) -> str:
        left = part.ndim - vector
        if not left:
            return element(part)
        return f"[{_listed(part, buffer, rank - left + 1, broken=left > 1)}]"

    return buffer(found) if rank else f"[{element(found)}]"


def _listed(
    array: np.ndarray, text: Callable[[np.ndarray], str], spaces: int, *, broken: bool
) -> str:
    """Parts with commas, then so many spaces; ``broken``: each on a line of its own."""
    end = ", \n" if broken else ", "
    return (end + " " * spaces).join(map(text, array))


def memref_text(
    array: Any,
    kind: str,
    descriptor: str,
    *,
    unranked: bool = True,
    vector: int = 0,
) -> Iterator[str]:
    r"""What ``printMemref`` and its family print of a buffer, in pieces.

    >>> found = np.arange(4.0)
    >>> print(*memref_text(found, "f64", shape_text(16, 0, (4,), (1,))), sep="")
    Unranked Memref base@ = 0x10 rank = 1 offset = 0 sizes = [4] strides = [1] data =
    [0,  1,  2,  3]
    <BLANKLINE>
    """
    yield f"{'Unranked ' if unranked else ''}Memref {descriptor} data = \n"
    yield data_text(array, kind, vector) + "\n"


_DIRECTIVE = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(hh|h|ll|l|j|z|t)?([a-zA-Z%])")
_C_BITS = {"hh": 8, "h": 16, "": 32}
"""Bits of C's integers by the letters before the conversion; others have 64."""


def printf_text(text: str, values: Sequence[Any]) -> str:
    """What C's ``printf`` makes of a format and numbers.

    >>> printf_text("%3d|%u|%.2f|%llx%%", (7, -1, 0.5, -1))
    '  7|4294967295|0.50|ffffffffffffffff%'
    """
    left = iter(values)

    def shown(match: re.Match[str]) -> str:
        flags, length, letter = match[1], match[2] or "", match[3]
        if letter == "%":
            return "%"
        value = next(left)
        if letter in "uxXo":
            value = int(value) & ((1 << _C_BITS.get(length, 64)) - 1)
        return f"%{flags}{'d' if letter == 'u' else letter}" % value

    return _DIRECTIVE.sub(shown, text)
