"""Warp-level matrix instructions: ``ldmatrix`` and ``mma.sync`` on fragments.

A register of 32 bits holds as many elements of a row of a fragment as fit.  Narrow
floats are float32 in a kernel; packing them is free, since each is exact: the compiler
cancels it against unpacking.

`octets_multiplied` multiplies 8-bit floats. The instructions that add such products to
a sum keep fewer bits of it than f32 has: NVIDIA does not say how many.  So each
instruction starts from zero here, and its 32 products of a sum are added to it in f32.
sm_90 and sm_100 have no such instruction for one warp: operands are converted to f16,
which holds all their numbers, and two products of 16 terms are added to the sum in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cuda.instructions import in_space, since
from gpucodegen.intrinsics.cuda.target import SHARED
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import (
    I8,
    I32,
    Backend,
    Lowering,
    signature,
    tile_or_scalar,
)
from gpucodegen.intrinsics.narrow_floats import bits_type, narrow, widen
from gpucodegen.ir.number_formats import NARROW

OCTET_TYPES = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
"""PTX names of 8-bit floats."""
FIRST, WITHOUT, AGAIN = 89, 90, 120
"""Architectures at which ``mma`` of 8-bit floats appears, disappears, and reappears."""
F32 = ir.FloatType()
Fragments = tuple[list[Any], list[Any], list[Any]]
Instruction = Callable[..., list[Any]]
"""A function of an assembly text, result types and values that returns the results."""


def octets_multiplied(
    low: Lowering, instruction: Instruction, kind: str, given: Fragments
) -> list[Any]:
    """The sums of ``16 x 8`` elements with 32 products added to each."""

    def whole() -> list[Any]:
        *factors, before = given
        zeros = [ir.Constant(F32, 0.0)] * len(before)
        form = f"m16n8k32.row.col.f32.{kind}.{kind}.f32"
        made = product(instruction, form, (*factors, zeros))
        return [low.builder.fadd(*pair) for pair in zip(before, made, strict=True)]

    def in_halves() -> list[Any]:
        left, right, sums = given
        rows, columns = (
            [_halves(instruction, word, kind) for word in words]
            for words in (left, right)
        )
        form = "m16n8k16.row.col.f32.f16.f16.f32"
        for n in range(2):
            parts = [pair[n] for pair in rows], [pair[n] for pair in columns]
            sums = product(instruction, form, (*parts, sums))
        return sums

    def before_last() -> Sequence[Any]:
        return since(low, WITHOUT, in_halves, whole)

    return since(low, AGAIN, whole, before_last)


def _halves(instruction: Instruction, word: Any, kind: str) -> tuple[Any, Any]:
    """Four 8-bit codes of a word as f16, two in each of two words."""
    text = (
        "{ .reg .b16 low, high; mov.b32 {low, high}, $2;"
        f" cvt.rn.f16x2.{kind}x2 $0, low; cvt.rn.f16x2.{kind}x2 $1, high; }}"
    )
    first, second = instruction(text, [I32, I32], [word])
    return first, second


def product(
    instruction: Instruction, form: str, given: Sequence[Sequence[Any]]
) -> list[Any]:
    """One instruction ``mma.sync``, on the registers of A, B and C."""
    number, lists = 0, list[str]()
    for group in (given[2], *given):
        names = [f"${number + i}" for i in range(len(group))]
        lists.append(f"{{{', '.join(names)}}}")
        number += len(group)
    values = [value for group in given for value in group]
    results = [value.type for value in given[2]]
    return instruction(f"mma.sync.aligned.{form} {', '.join(lists)};", results, values)


REGISTER = 32
"""Bits of a register."""
PTX_TYPES = {
    "bf16": "bf16",
    "f16": "f16",
    "f32": "tf32",
    "f64": "f64",
    "i8": "s8",
}
"""PTX names of the operands' element types.  Of an f32 it reads the bits of a tf32.

Fragments of floats of 8 bits hold codes: `octets`.
"""
SUMS = {"f16": "f16", "f32": "f32", "f64": "f64", "i32": "s32"}
"""PTX names of the sums' element types."""


def factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


def ldmatrix(face: Backend, tiles: int, name: str, transpose: bool = False) -> Any:
    """``ldmatrix(p, i)``: 8 rows of 16 bytes per tile, whose offsets lanes provide.

    Lane ``8 t + r`` provides that of row r of tile t.  The result has a row for each
    tile: the elements of one register.
    """
    ty = tile_or_scalar((tiles, REGISTER // _bits(name)), name)
    turned = ".trans" if transpose else ""
    targets = ", ".join(f"${n}" for n in range(tiles))
    form = f"ldmatrix.sync.aligned.m8n8.x{tiles}{turned}.shared.b16"
    text = f"{form} {{{targets}}}, [${tiles}];"

    def lower(low: Lowering, p: Any, i: Any) -> Any:
        place = in_space(low, p, i, SHARED)
        words = _instruction(low, text, [I32] * tiles, [place], reads=True)
        return _from_registers(low, ty, words, name)

    def typing_rule(p: Any, _i: Any) -> Any:
        return signature(ty, p, types.int32)

    return face.define(f"ldmatrix_x{tiles}_{name}", 2, typing_rule, lower)


def mma_sync(
    face: Backend,
    shape: tuple[int, int, int],
    kind: str,
    sums: str,
    counts: tuple[int, int, int],
) -> Any:
    """``mma_sync(a, b, c)``: a warp's product of fragments, added to a third.

    ``shape``: rows, columns and terms.  ``counts``: rows of the three tiles, each the
    elements of one register.  Before sm_90 no instruction multiplies 16 rows of f64.
    """
    m, n, k = shape
    held = "i8" if kind in OCTET_TYPES else kind
    across = max(1, REGISTER // _bits(held))
    left, right = (tile_or_scalar((count, across), held) for count in counts[:2])
    ty = tile_or_scalar((counts[2], 2), sums)

    def lower(low: Lowering, a: Any, b: Any, c: Any) -> Any:
        rows, columns, before = (
            _registers(low, *fragment)
            for fragment in ((left, a, held), (right, b, held), (ty, c, sums))
        )
        if held != kind:
            instruction = partial(_instruction, low)
            given = rows, columns, before
            name = OCTET_TYPES[kind]
            return low.from_elements(
                ty, octets_multiplied(low, instruction, name, given)
            )
        multiplied = partial(_multiplied, low, factor=kind, sums=sums)

        def whole() -> list[Any]:
            return multiplied(shape, (rows, columns, before))

        def in_halves() -> list[Any]:
            halves = (
                (rows[half::2], columns, before[2 * half :][:2]) for half in (0, 1)
            )
            return [value for half in halves for value in multiplied((8, n, k), half)]

        is_new = kind == "f64" and m > 8
        found = since(low, 90, whole, in_halves) if is_new else whole()
        return low.from_elements(ty, [x for v in found for x in _split(low, v, sums)])

    def typing_rule(_a: Any, _b: Any, _c: Any) -> Any:
        return signature(ty, left, right, ty)

    return face.define(f"mma_sync_m{m}n{n}k{k}_{kind}", 3, typing_rule, lower)


def _multiplied(
    low: Lowering,
    shape: tuple[int, int, int],
    given: tuple[list[Any], list[Any], list[Any]],
    *,
    factor: str,
    sums: str,
) -> list[Any]:
    """One instruction, on the registers of all three fragments."""
    (m, n, k), kind, total = shape, PTX_TYPES[factor], SUMS[sums]
    form = f"m{m}n{n}k{k}.row.col.{total}.{kind}.{kind}.{total}"
    return product(partial(_instruction, low), form, given)


def some_rows(
    face: Backend, shape: tuple[int, int], name: str, first: int, count: int
) -> Any:
    """``some_rows(tile)``: ``count`` rows from ``first`` on."""
    source, ty = (tile_or_scalar((n, shape[1]), name) for n in (shape[0], count))

    def lower(low: Lowering, tile: Any) -> Any:
        words = low.kept((source, name), tile)
        if words is not None:
            return _from_registers(low, ty, words[first : first + count], name)
        scalars = low.elements(source, tile)
        kept = scalars[first * shape[1] : (first + count) * shape[1]]
        return low.from_elements(ty, kept)

    def typing_rule(_tile: Any) -> Any:
        return signature(ty, source)

    return face.define(f"rows_{first}_{count}_{name}", 1, typing_rule, lower)


def _bits(name: str) -> int:
    return 8 * element(name).size


def _registers(low: Lowering, ty: Any, value: Any, name: str) -> list[Any]:
    """A tile as the registers of an instruction."""
    return low.parts((ty, name), value, lambda: _as_registers(low, ty, value, name))


def _from_registers(low: Lowering, ty: Any, words: Sequence[Any], name: str) -> Any:
    """A tile whose rows are words, unpacked only where elements are needed."""

    def unpacked() -> list[Any]:
        return [x for word in words for x in _unpacked(low, word, name)]

    made = low.lazily(ty, unpacked)
    low.keep((ty, name), made, words)
    return made


def _as_registers(low: Lowering, ty: Any, value: Any, name: str) -> list[Any]:
    scalars = low.elements(ty, value)
    if name in ("f32", "f64", "i32"):
        is_sum = name in SUMS and ty.shape[-1] == 2
        return scalars if is_sum or name == "f64" else [_word(low, x) for x in scalars]
    each = REGISTER // _bits(name)
    rows = [scalars[n : n + each] for n in range(0, len(scalars), each)]
    return [_packed(low, row, name) for row in rows]


def _word(low: Lowering, value: Any) -> Any:
    return low.builder.bitcast(value, I32)


def _packed(low: Lowering, scalars: Sequence[Any], name: str) -> Any:
    """Scalars packed into one word, the first one lowest."""
    builder, word = low.builder, ir.Constant(I32, 0)
    for n, scalar in enumerate(scalars):
        wide = builder.zext(_code(low, scalar, name), I32)
        moved = builder.shl(wide, ir.Constant(I32, n * _bits(name)))
        word = builder.or_(word, moved)
    return word


def _code(low: Lowering, scalar: Any, name: str) -> Any:
    """The bits of an element; a bf16 is the upper half of its float32."""
    if name == "bf16":
        upper = low.builder.lshr(_word(low, scalar), ir.Constant(I32, 16))
        return low.builder.trunc(upper, bits_type(name))
    return narrow(low, scalar, name) if name in NARROW else scalar


def _unpacked(low: Lowering, word: Any, name: str) -> list[Any]:
    """The scalars of a word."""
    builder, bits = low.builder, _bits(name)
    if bits == REGISTER:
        is_float = element(name).is_float
        return [builder.bitcast(word, ir.FloatType()) if is_float else word]
    ty = bits_type(name) if name in NARROW else I8 if bits == 8 else ir.IntType(16)
    codes = [
        builder.trunc(builder.lshr(word, ir.Constant(I32, bits * n)), ty)
        for n in range(REGISTER // bits)
    ]
    return [widen(low, code, name) for code in codes] if name in NARROW else codes


def _split(low: Lowering, value: Any, sums: str) -> list[Any]:
    return _unpacked(low, value, sums) if sums in NARROW else [value]


_REGISTERS = {"i32": "r", "float": "f", "double": "d"}


def _instruction(
    low: Lowering,
    text: str,
    results: Sequence[Any],
    values: Sequence[Any],
    *,
    reads: bool = False,
) -> list[Any]:
    """The result of an instruction of a whole warp.

    ``reads``: it is ordered with accesses of memory.
    """
    ty = ir.LiteralStructType(results) if len(results) > 1 else results[0]
    function = ir.FunctionType(ty, [value.type for value in values])
    targets = [f"={_REGISTERS[str(kind)]}" for kind in results]
    sources = [_REGISTERS[str(value.type)] for value in values]
    constraints = ",".join([*targets, *sources, *["~{memory}"] * reads])
    code = ir.InlineAsm(function, text, constraints, side_effect=reads)
    made = low.builder.call(code, values, attrs=("convergent",))
    if len(results) == 1:
        return [made]
    return [low.builder.extract_value(made, n) for n in range(len(results))]


MADE = {"ldmatrix": ldmatrix, "mma_sync": mma_sync, "some_rows": some_rows}
