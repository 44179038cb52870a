"""Print operations and functions in the format of MLIR's runner.

A routine gets a `RoutineCall` (operands, types, location) and writes to Python's
standard output; only `printFlops` writes to standard error, as in the runner. Type
names are MLIR's: ``"f32"``, ``"ui8"``, ``"index"``, ``"i1"``. Floats are written with
``%g``; narrow floats arrive as numbers or, in arrays, as bit patterns.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpucodegen.ir.locations import UNKNOWN, FileLoc, Location
from gpucodegen.ir.number_formats import NARROW, of_bits

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
    """``%g`` of C, which prints the sign of a NaN.

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
    """The elements as they are printed: narrow floats decoded from their bits.

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
    """The output of ``vector.print`` without the newline.

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
    """The elements of a buffer; its last ``vector`` dimensions are vectors.

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
    """Parts separated by commas and blanks, or each on its own line if ``broken``."""
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
"""Bits of C's integers by length modifier; others have 64."""


def printf_text(text: str, values: Sequence[Any]) -> str:
    """The output of C's ``printf`` for a format and numbers.

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


class RoutineCall(NamedTuple):
    """One operation or call.

    ``operands`` are numbers and buffers, ``kinds`` their types in MLIR's notation,
    ``"f32[]"`` for a buffer of ``f32``. ``attributes`` are those of the operation.
    ``contents`` copies a buffer's contents to host memory.

    >>> given = RoutineCall("printI64", (3,), ("i64",))
    >>> given.location is UNKNOWN
    True
    """

    name: str
    operands: tuple[Any, ...] = ()
    kinds: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = {}
    place: tuple[str, int, int] | tuple[()] = ()
    contents: Callable[[Any], np.ndarray] = np.asarray

    @property
    def location(self) -> Location:
        return FileLoc(*self.place) if self.place else UNKNOWN


Routine = Callable[[RoutineCall], tuple[Any, ...]]
"""Runs a call; returns one value for each result."""


_MEMREF = re.compile(
    r"(_mlir_ciface_)?(printMemref|print_memref_)(Shape|shape_)?(\dd_?)?(\w*)"
)
"""``printMemrefF32``, ``printMemrefShapeI8``, ``print_memref_1d_f32`` and so on."""


def write(text: str) -> None:
    """Write text to the current ``sys.stdout``."""
    sys.stdout.write(text)


def print_value(given: RoutineCall) -> tuple[()]:
    """``vector.print`` of a number, a vector, a string or a punctuation."""
    attributes = given.attributes
    for operand, kind in zip(given.operands, given.kinds, strict=True):
        if kind.endswith("[]"):
            element = kind.removesuffix("[]")
            write(vector_text(given.contents(operand), element))
        else:
            write(number_text(operand, kind))
    literal = attributes.get("stringLiteral")
    word = _word(str(attributes.get("punctuation", "newline")))
    write(str(literal) if literal is not None else PUNCTUATION[word])
    return ()


def print_formatted(given: RoutineCall) -> tuple[()]:
    """``gpu.printf`` of numbers by a format."""
    write(printf_text(str(given.attributes["format"]), given.operands))
    return ()


def _word(punctuation: str) -> str:
    """``#vector.punctuation<comma>`` as ``comma``."""
    return punctuation.rpartition("<")[2].rstrip(">")


def print_memref(given: RoutineCall) -> tuple[()]:
    """``printMemrefF32`` and its variants: a buffer, or only its shape."""
    found = _MEMREF.fullmatch(given.name)
    (buffer,) = given.operands
    kind = given.kinds[0].removesuffix("[]")
    vector = len(re.findall(r"\dx", found[5])) if found and "vector" in found[5] else 0
    descriptor = _descriptor(buffer, vector)
    is_unranked = found is None or not (found[4] or vector)
    if found is not None and found[3]:
        write(f"{'Unranked ' if is_unranked else ''}Memref {descriptor}\n")
        return ()
    array = given.contents(buffer)
    for piece in memref_text(
        array, kind, descriptor, unranked=is_unranked, vector=vector
    ):
        write(piece)
    return ()


def _descriptor(buffer: Any, vector: int) -> str:
    """Base address, offset, sizes and strides of a buffer."""
    rank = len(buffer.shape) - vector
    size = 1
    for extent in buffer.shape[rank:]:
        size *= extent
    strides = [stride // size for stride in buffer.strides[:rank]]
    return shape_text(buffer.base, buffer.offset // size, buffer.shape[:rank], strides)


def _number(kind: str) -> Routine:
    def show(given: RoutineCall) -> tuple[()]:
        write(number_text(given.operands[0], kind))
        return ()

    return show


def _bits(kind: str) -> Routine:
    """A narrow float that is passed as its bits."""

    def show(given: RoutineCall) -> tuple[()]:
        write(float_text(of_bits(int(given.operands[0]) & 0xFFFF, kind)))
        return ()

    return show


def _fixed(text: str) -> Routine:
    def show(_: RoutineCall) -> tuple[()]:
        write(text)
        return ()

    return show


def _flops(given: RoutineCall) -> tuple[()]:
    sys.stderr.write(f"{given.operands[0] / 1e9:f} GFLOPS\n")
    return ()


PRINTS: dict[str, Routine] = {
    "vector.print": print_value,
    "gpu.printf": print_formatted,
    "printI64": _number("i64"),
    "printU64": _number("ui64"),
    "printF32": _number("f32"),
    "printF64": _number("f64"),
    "printF16": _bits("f16"),
    "printBF16": _bits("bf16"),
    "printFlops": _flops,
    "print_flops": _flops,
    "printOpen": _fixed(PUNCTUATION["open"]),
    "printClose": _fixed(PUNCTUATION["close"]),
    "printComma": _fixed(PUNCTUATION["comma"]),
    "printNewline": _fixed(PUNCTUATION["newline"]),
    "print_i32": _number("i32"),
    "print_i64": _number("i64"),
    "print_f32": _number("f32"),
    "print_f64": _number("f64"),
    "print_open": _fixed(PUNCTUATION["open"]),
    "print_close": _fixed(PUNCTUATION["close"]),
    "print_comma": _fixed(PUNCTUATION["comma"]),
    "print_newline": _fixed(PUNCTUATION["newline"]),
}
"""Print routines by name; `print_memref` prints buffers."""


def prints_memref(name: str) -> bool:
    """Whether a function of this name prints a buffer.

    >>> prints_memref("_mlir_ciface_print_memref_f32"), prints_memref("printMemref")
    (True, True)
    """
    return _MEMREF.fullmatch(name) is not None
