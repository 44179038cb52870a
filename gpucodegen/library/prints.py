"""Operations and functions that print, to Python's standard output.

As in MLIR's runner only `printFlops` writes to the standard error.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from gpucodegen.library.given import Given, Routine
from gpucodegen.library.printing import (
    PUNCTUATION,
    float_text,
    memref_text,
    number_text,
    printf_text,
    shape_text,
    vector_text,
)

_MEMREF = re.compile(
    r"(_mlir_ciface_)?(printMemref|print_memref_)(Shape|shape_)?(\dd_?)?(\w*)"
)
"""``printMemrefF32``, ``printMemrefShapeI8``, ``print_memref_1d_f32`` and so on."""


def write(text: str) -> None:
    """Text to what ``sys.stdout`` is now."""
    sys.stdout.write(text)


def print_value(given: Given) -> tuple[()]:
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


def print_formatted(given: Given) -> tuple[()]:
    """``gpu.printf`` of numbers by a format."""
    write(printf_text(str(given.attributes["format"]), given.operands))
    return ()


def _word(punctuation: str) -> str:
    """``#vector.punctuation<comma>`` as ``comma``."""
    return punctuation.rpartition("<")[2].rstrip(">")


def print_memref(given: Given) -> tuple[()]:
    """``printMemrefF32`` and its family: a buffer, or only its shape."""
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
    """Where the buffer begins, and how its elements lie."""
    rank = len(buffer.shape) - vector
    size = 1
    for extent in buffer.shape[rank:]:
        size *= extent
    strides = [stride // size for stride in buffer.strides[:rank]]
    return shape_text(buffer.base, buffer.offset // size, buffer.shape[:rank], strides)


def _number(kind: str) -> Routine:
    def show(given: Given) -> tuple[()]:
        write(number_text(given.operands[0], kind))
        return ()

    return show


def _bits(kind: str) -> Routine:
    """A narrow float that comes as its code."""

    def show(given: Given) -> tuple[()]:
        from gpucodegen.ir.data.float_formats import of_bits

        write(float_text(of_bits(int(given.operands[0]) & 0xFFFF, kind)))
        return ()

    return show


def _fixed(text: str) -> Routine:
    def show(given: Given) -> tuple[()]:
        del given
        write(text)
        return ()

    return show


def _flops(given: Given) -> tuple[()]:
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
"""What prints, by its name; buffers are printed by `print_memref`."""


def prints_memref(name: str) -> bool:
    """Whether a function of this name is one of the family that prints buffers.

    >>> prints_memref("_mlir_ciface_print_memref_f32"), prints_memref("printMemref")
    (True, True)
    """
    return _MEMREF.fullmatch(name) is not None
