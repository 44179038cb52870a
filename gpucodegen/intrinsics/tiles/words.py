"""Words: 32-bit integers that hold two or four narrow ones, multiplied pair by pair.

The products of a pair of words are added to one 32-bit sum, modulo 2**32.  x86 does it
with one instruction (VPDPWSSD, VPDPBUSD of AVX-512 VNNI), or with two (PMADDWD, PADDD);
GPUs do it for four bytes (DP4A).  Elsewhere the parts are taken out by shifts.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.framework.features import WORD, cpu_features
from gpucodegen.intrinsics.framework.lowering import Face, Lowering, number, signature
from gpucodegen.intrinsics.framework.vector_type import Tile

PAIRS = {
    512: ("avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
    256: ("avx2", "llvm.x86.avx2.pmadd.wd"),
    128: ("sse2", "llvm.x86.sse2.pmadd.wd"),
}
"""Bits of a register: the feature and the name of sums of two 16-bit products."""
VNNI = {512: "avx512vnni", 256: "avx512vl", 128: "avx512vl"}
"""Bits of a register: the feature beside AVX-512 VNNI that its instructions need."""

DOTS = {"i8": "s32", "ui8": "u32"}
"""Parts that ``dp4a`` multiplies, by their sign."""


def outerproduct_words(face: Face, m: int, n: int, left: str, right: str) -> Any:
    """``outerproduct_words(a, b, acc)``: ``acc[i][j] + sum_p a[i][p] * b[j][p]``.

    ``left`` and ``right``: what parts words have, ``i16``, ``i8`` or ``ui8``.
    """
    column, row = Tile((m,), types.int32), Tile((n,), types.int32)
    tile = Tile((m, n), types.int32)

    def lower(low: Lowering, a: Any, b: Any, acc: Any) -> Any:
        width, lanes, sums = low.lanes(tile), low.pieces(b), low.pieces(acc)
        factors = [low.splat(x, width) for x in low.elements(column, a)]
        pairs = [(x, y) for x in factors for y in lanes]
        result = [
            _added(low, (x, left), (y, right), total)
            for (x, y), total in zip(pairs, sums, strict=True)
        ]
        return low.pack(tile, result)

    return face.define(
        f"outerproduct_words_{m}x{n}",
        3,
        lambda *_: signature(tile, column, row, tile),
        lower,
    )


Words = tuple[Any, str]
"""Words, and what parts they have."""


def _added(low: Lowering, x: Words, y: Words, total: Any) -> Any:
    bits = getattr(total.type, "count", 1) * WORD
    kinds = {x[1], y[1]}
    has_vnni = {"avx512vnni", VNNI.get(bits)} <= cpu_features()
    on_host = bits in PAIRS and low.face.register_bytes > 0
    if bits == WORD and kinds <= DOTS.keys() and not low.face.register_bytes:
        return _four_products(low, x, y, total)
    if on_host and has_vnni and kinds == {"i8", "ui8"}:
        unsigned, signed = (x[0], y[0]) if x[1] == "ui8" else (y[0], x[0])
        name = f"llvm.x86.avx512.vpdpbusd.{bits}"
        return low.call(name, total.type, [total, unsigned, signed])
    if on_host and has_vnni and kinds == {"i16"}:
        name = f"llvm.x86.avx512.vpdpwssd.{bits}"
        return low.call(name, total.type, [total, x[0], y[0]])
    if on_host and kinds == {"i16"} and PAIRS[bits][0] in cpu_features():
        halves = ir.VectorType(ir.IntType(16), 2 * total.type.count)
        parts = [low.builder.bitcast(word, halves) for word in (x[0], y[0])]
        return low.builder.add(total, low.call(PAIRS[bits][1], total.type, parts))
    return _part_by_part(low, x, y, total)


def _four_products(low: Lowering, x: Words, y: Words, total: Any) -> Any:
    """One instruction of a GPU, sm_61 and later; sums wrap around."""
    word = total.type
    ty = ir.FunctionType(word, [word] * 3)
    text = f"dp4a.{DOTS[x[1]]}.{DOTS[y[1]]} $0, $1, $2, $3;"
    return low.builder.call(ir.InlineAsm(ty, text, "=r,r,r,r"), [x[0], y[0], total])


def _part_by_part(low: Lowering, x: Words, y: Words, total: Any) -> Any:
    size = int(x[1].removeprefix("u").removeprefix("i"))
    for first in range(0, WORD, size):
        product = low.builder.mul(
            _part(low, x, first, size), _part(low, y, first, size)
        )
        total = low.builder.add(total, product)
    return total


def _part(low: Lowering, words: Words, first: int, size: int) -> Any:
    """``size`` bits from bit ``first`` on, with their sign."""
    value, kind = words
    shift = low.builder.lshr if kind.startswith("u") else low.builder.ashr
    top = low.builder.shl(value, number(value.type, WORD - size - first))
    return shift(top, number(value.type, WORD - size))
