"""Construction, reduction and products of tiles: splats, outer products, packed words.

Reductions combine the elements of a tile in order, in a tree, or row by row.
`outerproduct_words` multiplies 32-bit words that hold two or four narrow integers part
by part, and adds the products to a 32-bit sum, modulo 2**32.  x86 does it with one
instruction (VPDPWSSD, VPDPBUSD of AVX-512 VNNI), or with two (PMADDWD, PADDD); GPUs do
it for four bytes (DP4A).  Elsewhere the parts are extracted by shifts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics import tile_memory
from gpucodegen.intrinsics.elementwise import ELEMENTWISE
from gpucodegen.intrinsics.framework.features import WORD, cpu_features
from gpucodegen.intrinsics.framework.lowering import (
    Backend,
    Lowering,
    Tile,
    carrier,
    is_pointer,
    llvm_scalar,
    number,
    signature,
    tile_or_scalar,
)
from gpucodegen.intrinsics.narrow_floats import rounded
from gpucodegen.ir.number_formats import NARROW

ROUNDED = frozenset({"addf", "mulf"})
"""Operations whose result may need more bits than their operands."""


def combination(name: str, operation: str) -> Any:
    """The operation on two elements of a type; narrow floats are rounded each time."""
    _, combine = ELEMENTWISE[operation]
    if name not in NARROW or operation not in ROUNDED:
        return combine
    return lambda low, *values: rounded(low, combine(low, *values), name)


def reduce(face: Backend, n: int, name: str, operation: str) -> Any:
    """``reduce(v, init)``: the elements combined from the first to the last."""
    tile = Tile((n,), carrier(name))
    combine = combination(name, operation)

    def lower(low: Lowering, v: Any, total: Any) -> Any:
        for scalar in low.elements(tile, v):
            total = combine(low, total, scalar)
        return total

    return face.define(
        f"reduce_{operation}_{n}",
        2,
        lambda *_: signature(tile.dtype, tile, tile.dtype),
        lower,
    )


def reduce_freely(face: Backend, n: int, name: str, operation: str) -> Any:
    """``reduce_freely(v, init)``: the elements in a tree, then ``init``."""
    tile = Tile((n,), carrier(name))
    combine = combination(name, operation)

    def lower(low: Lowering, v: Any, total: Any) -> Any:
        whole = low.pieces(v) if n % low.lanes(tile) == 0 else low.elements(tile, v)
        (inner,) = folded(low, combine, [_tree(low, combine, whole)])
        return combine(low, total, inner)

    return face.define(
        f"reduce_freely_{operation}_{n}",
        2,
        lambda *_: signature(tile.dtype, tile, tile.dtype),
        lower,
    )


def reduce_rows(face: Backend, m: int, n: int, name: str, operation: str) -> Any:
    """``reduce_rows(v, init)``: each row combined, in a tree, with its ``init``."""
    tile, column = Tile((m, n), carrier(name)), Tile((m,), carrier(name))
    combine = combination(name, operation)

    def lower(low: Lowering, v: Any, totals: Any) -> Any:
        width, per_row, pieces = low.lanes(tile), low.per_row(tile), low.pieces(v)
        lines = [pieces[row * per_row : (row + 1) * per_row] for row in range(m)]
        if n % width or width == 1:
            scalars = low.elements(tile, v)
            lines = [scalars[row * n : (row + 1) * n] for row in range(m)]
        rows = [_tree(low, combine, line) for line in lines]
        sums: list[Any] = []
        for first in range(0, m, width):
            sums += folded(low, combine, rows[first : first + width])
        starts = low.elements(column, totals)
        return low.from_elements(
            column, [combine(low, *pair) for pair in zip(starts, sums, strict=True)]
        )

    return face.define(
        f"reduce_rows_{operation}_{m}x{n}",
        2,
        lambda *_: signature(column, tile, column),
        lower,
    )


def _tree(low: Lowering, combine: Any, values: Sequence[Any]) -> Any:
    """All values combined, neighbours first."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        odd = values[len(values) & ~1 :]
        values = [*(combine(low, *pair) for pair in pairs), *odd]
    return values[0]


def _in_first_lane(low: Lowering, combine: Any, vector: Any) -> Any:
    """The vector with its combined lanes in the first lane.

    All steps have the vector's width.  LLVM 22 takes the number of steps of a sum from
    the width of the last one, where it makes VPDPBUSD or PSADBW of the whole, so that
    it left out lanes of sums that get narrower.
    """
    lanes = width = vector.type.count
    while lanes > 1:
        lanes //= 2
        moved = [(lane + lanes) % width for lane in range(width)]
        vector = combine(low, vector, low.shuffle(vector, vector, moved))
    return vector


def folded(low: Lowering, combine: Any, rows: Sequence[Any]) -> list[Any]:
    """The combined lanes of each of the vectors.

    Two vectors at a time become one: halves of the lanes of each row are combined, and
    the rows lie side by side, so that n rows take about n combinations, not n log n.
    """
    if not isinstance(rows[0].type, ir.VectorType):
        return list(rows)
    width = lanes = rows[0].type.count
    wanted = len(rows)
    if wanted == 1:
        return [low.lane(_in_first_lane(low, combine, rows[0]), 0)]
    vectors = [*rows, *[rows[0]] * ((1 << (wanted - 1).bit_length()) - wanted)]
    while lanes > 1:
        lanes //= 2
        starts = range(0, width, 2 * lanes)
        halves = [[i + j for i in starts for j in range(lanes)]]
        halves.append([j + lanes for j in halves[0]])
        if len(vectors) == 1:
            low_half, high_half = (low.shuffle(*vectors * 2, h) for h in halves)
            vectors = [combine(low, low_half, high_half)]
            width //= 2
            continue
        both = [[*h, *(j + width for j in h)] for h in halves]
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [
            combine(low, low.shuffle(x, y, both[0]), low.shuffle(x, y, both[1]))
            for x, y in pairs
        ]
    return [low.lane(vectors[0], i) for i in range(wanted)]


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


def outerproduct_words(face: Backend, m: int, n: int, left: str, right: str) -> Any:
    """``outerproduct_words(a, b, acc)``: ``acc[i][j] + sum_p a[i][p] * b[j][p]``.

    ``left`` and ``right``: the type of the parts of words, ``i16``, ``i8`` or ``ui8``.
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
"""Words, and the type of their parts."""


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
    """``size`` bits from bit ``first`` on, sign-extended."""
    value, kind = words
    shift = low.builder.lshr if kind.startswith("u") else low.builder.ashr
    top = low.builder.shl(value, number(value.type, WORD - size - first))
    return shift(top, number(value.type, WORD - size))


Shape = tuple[int, ...]


def constant(face: Backend, shape: Shape, name: str, value: Any) -> Any:
    """``constant()``: one number everywhere, or row-major numbers."""
    tile = Tile(shape, carrier(name))
    count = tile.rows * tile.columns
    numbers = value if isinstance(value, Sequence) else [value] * count

    def lower(low: Lowering) -> Any:
        scalar = llvm_scalar(tile.dtype)
        return low.from_elements(tile, [ir.Constant(scalar, x) for x in numbers])

    return face.define(f"constant_{_text(shape)}", 0, lambda: signature(tile), lower)


def splat(face: Backend, shape: Shape, name: str) -> Any:
    """``splat(x)``: a scalar in every element."""
    tile = Tile(shape, carrier(name))

    def lower(low: Lowering, x: Any) -> Any:
        piece = low.splat(x, low.lanes(tile))
        return low.pack(tile, [piece] * (tile.rows * low.per_row(tile)))

    return face.define(
        f"splat_{_text(shape)}", 1, lambda _: signature(tile, tile.dtype), lower
    )


def broadcast_rows(face: Backend, m: int, n: int, name: str) -> Any:
    """``broadcast_rows(v)``: the same row ``m`` times."""
    row, tile = Tile((n,), carrier(name)), Tile((m, n), carrier(name))

    def lower(low: Lowering, v: Any) -> Any:
        return low.pack(tile, low.pieces(v) * m)

    return face.define(
        f"broadcast_rows_{m}x{n}", 1, lambda _: signature(tile, row), lower
    )


def broadcast_columns(face: Backend, m: int, n: int, name: str) -> Any:
    """``broadcast_columns(v)``: each element of an ``m x 1`` tile ``n`` times."""
    column, tile = Tile((m, 1), carrier(name)), Tile((m, n), carrier(name))

    def lower(low: Lowering, v: Any) -> Any:
        width, count = low.lanes(tile), low.per_row(tile)
        rows = [low.splat(low.lane(piece, 0), width) for piece in low.pieces(v)]
        return low.pack(tile, [piece for piece in rows for _ in range(count)])

    return face.define(
        f"broadcast_columns_{m}x{n}", 1, lambda _: signature(tile, column), lower
    )


def shape_cast(face: Backend, source: Shape, target: Shape, name: str) -> Any:
    """``shape_cast(v)``: the same elements, row-major, in another shape."""
    before, after = Tile(source, carrier(name)), Tile(target, carrier(name))

    def lower(low: Lowering, v: Any) -> Any:
        return low.from_elements(after, low.elements(before, v))

    return face.define(
        f"shape_cast_{_text(source)}_{_text(target)}",
        1,
        lambda _: signature(after, before),
        lower,
    )


def from_elements(face: Backend, shape: Shape, name: str) -> Any:
    """``from_elements(x0, x1, ...)``, row-major."""
    tile = Tile(shape, carrier(name))
    count = tile.rows * tile.columns

    def lower(low: Lowering, *scalars: Any) -> Any:
        return low.from_elements(tile, scalars)

    return face.define(
        f"from_elements_{_text(shape)}",
        count,
        lambda *_: signature(tile, *[tile.dtype] * count),
        lower,
    )


def extract(face: Backend, shape: Shape, name: str, position: Shape) -> Any:
    """``extract(v)``: a row or an element at a static position."""
    tile = Tile(shape, carrier(name))
    result = tile_or_scalar(shape[len(position) :], name)

    def lower(low: Lowering, v: Any) -> Any:
        first, offset = _place(low, tile, position)
        pieces = low.pieces(v)
        if isinstance(result, Tile):
            return low.pack(result, pieces[first : first + low.per_row(tile)])
        return low.lane(pieces[first], offset)

    return face.define("extract", 1, lambda _: signature(result, tile), lower)


def insert(face: Backend, shape: Shape, name: str, position: Shape) -> Any:
    """``insert(x, v)``: ``v`` with a row or an element replaced."""
    tile = Tile(shape, carrier(name))
    part = tile_or_scalar(shape[len(position) :], name)

    def lower(low: Lowering, x: Any, v: Any) -> Any:
        first, offset = _place(low, tile, position)
        pieces = low.pieces(v)
        if isinstance(part, Tile):
            pieces[first : first + low.per_row(tile)] = low.pieces(x)
        elif low.lanes(tile) == 1:
            pieces[first] = x
        else:
            lane = ir.Constant(ir.IntType(32), offset)
            pieces[first] = low.builder.insert_element(pieces[first], x, lane)
        return low.pack(tile, pieces)

    return face.define("insert", 2, lambda *_: signature(tile, part, tile), lower)


def _place(low: Lowering, tile: Tile, position: Shape) -> tuple[int, int]:
    """(piece, lane) of the first element at a position."""
    is_2d = len(tile.shape) == 2
    row = position[0] if is_2d else 0
    column = 0 if is_2d and len(position) == 1 else position[-1]
    width = low.lanes(tile)
    return row * low.per_row(tile) + column // width, column % width


def outerproduct(face: Backend, m: int, n: int, name: str, fused: bool = True) -> Any:
    """``outerproduct(a, b, acc)``: ``acc[i][j] + a[i] * b[j]``.

    A fused one rounds once where the processor has such instructions: LLVM's
    ``fmuladd``.  ``n = 0`` takes a scalar ``b`` and one row: ``acc[i] + a[i] * b``.
    """
    dtype = carrier(name)
    left = Tile((m,), dtype)
    right = Tile((n,), dtype) if n else dtype
    tile = Tile((m, n), dtype) if n else left

    def lower(low: Lowering, a: Any, b: Any, acc: Any) -> Any:
        sums = low.pieces(acc)
        width = low.lanes(tile)
        if n:
            row = low.pieces(b)
            factors = [low.splat(x, width) for x in low.elements(left, a)]
            pairs = [(x, y) for x in factors for y in row]
        else:
            factor = low.splat(b, width)
            pairs = [(x, factor) for x in low.pieces(a)]
        terms = zip(pairs, sums, strict=True)
        return low.pack(tile, [_add(low, x, y, s, fused) for (x, y), s in terms])

    return face.define(
        f"outerproduct_{m}x{n}",
        3,
        lambda *_: signature(tile, left, right, tile),
        lower,
    )


def outerproduct_column(
    face: Backend, m: int, n: int, name: str, fused: bool = True
) -> Any:
    """``outerproduct_column(p, off, stride, b, acc)``: the column of A from memory.

    Each element is loaded right before its multiply-adds.  Loading the column first
    would keep all its elements in registers beside the accumulators and spill them.
    """
    dtype = carrier(name)
    right, tile = Tile((n,), dtype), Tile((m, n), dtype)

    def typing_rule(p: Any, off: Any, stride: Any, *_: Any) -> Any:
        if not is_pointer(p):
            return None
        index = tile_memory.index_type(off, stride)
        return signature(tile, p, index, index, right, tile)

    def lower(low: Lowering, p: Any, off: Any, stride: Any, b: Any, acc: Any) -> Any:
        row, sums, width = low.pieces(b), low.pieces(acc), low.lanes(tile)
        result: list[Any] = []
        for place in tile_memory.places(low, Tile((m,), dtype), p, off, stride, stride):
            factor = low.splat(tile_memory.read(low, place, name), width)
            for y in row:
                result.append(_add(low, factor, y, sums[len(result)], fused))
        return low.pack(tile, result)

    return face.define(f"outerproduct_column_{m}x{n}", 5, typing_rule, lower)


def _add(low: Lowering, x: Any, y: Any, total: Any, fused: bool) -> Any:
    scalar = getattr(total.type, "element", total.type)
    if isinstance(scalar, ir.IntType):
        return low.builder.add(total, low.builder.mul(x, y))
    if fused:
        return low.overloaded("fmuladd", (x, y, total))
    return low.builder.fadd(total, low.builder.fmul(x, y))


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape))
