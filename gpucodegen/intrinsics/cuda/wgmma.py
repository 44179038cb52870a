"""Warpgroup matrix multiplication (``wgmma``), with operands in shared memory.

PTX ISA, "Asynchronous warpgroup level matrix instructions".  An operand lies as TMA
copies bring it: boxes as wide as the swizzle's span, one behind the other.  A lane
holds of each 64 rows of the sum

    element (j, h, e) at row ``16 (warp % 4) + g + 8 h``, column ``8 j + 2 t + e``

with g = lane // 4 and t = lane % 4, h and e = 0, 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cuda.instructions import in_space, instruction
from gpucodegen.intrinsics.cuda.target import SHARED
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    I64,
    Backend,
    Lowering,
    Tile,
    signature,
    tile_or_scalar,
)
from gpucodegen.intrinsics.tile_memory import retyped
from gpucodegen.records import dataclass

ROWS, STEP, ATOM = 64, 32, 8
"""Rows of one product; bytes along K; lines that a swizzle permutes."""
MODES = {128: 1, 64: 2, 32: 3}
"""Encodings of swizzle spans (bytes) in a matrix descriptor."""
KINDS = {
    "f16": "f16",
    "bf16": "bf16",
    "f32": "tf32",
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
    "i8": "s8",
    "si8": "s8",
    "ui8": "u8",
}
SUMS = {"f16": "f16", "f32": "f32", "i32": "s32"}
_START = 0x3FFFF
"""Bits of an address that a descriptor holds, without the last four."""
Sum = tuple[int, int, str]
"""Rows, columns and element type of an accumulator."""


def factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The accumulator registers of a lane, in order, for each 64 rows.

    >>> Accumulator(128, 128, "f32").count, Accumulator(64, 8, "f16").count
    (128, 2)
    """

    rows: int
    columns: int
    element: str

    @property
    def per(self) -> int:
        """Elements in a register."""
        return 2 if self.element == "f16" else 1

    @property
    def each(self) -> int:
        """Registers of 64 rows."""
        return self.columns // (2 * self.per)

    @property
    def count(self) -> int:
        """Registers."""
        return self.rows // ROWS * self.each

    @property
    def tile(self) -> Tile:
        """The registers as one value."""
        is_single = self.element == "f32"
        return Tile((self.count,), types.float32 if is_single else types.int32)

    def places(self) -> Iterator[list[tuple[int, int]]]:
        """Rows and columns of the elements of each register, in the first lane."""
        for block in range(self.rows // ROWS):
            for n in range(self.each):
                first = n * self.per
                yield [
                    (ROWS * block + 8 * (m // 2 % 2), 8 * (m // 4) + m % 2)
                    for m in range(first, first + self.per)
                ]


def descriptor(face: Backend, span: int, lines: int) -> Any:
    """``matrix_descriptor(p, offset)``: an operand of ``lines`` lines."""
    fixed = (lines * span >> 4) << 16 | (ATOM * span >> 4) << 32 | MODES[span] << 62
    fixed -= (fixed >> 63) << 64

    def lower(low: Lowering, pointer: Any, offset: Any) -> Any:
        place = in_space(low, pointer, offset, SHARED)
        start = low.builder.and_(place, ir.Constant(I32, _START))
        start = low.builder.lshr(start, ir.Constant(I32, 4))
        return low.builder.or_(low.builder.zext(start, I64), ir.Constant(I64, fixed))

    def typing_rule(pointer: Any, offset: Any) -> Any:
        return signature(types.int64, pointer, offset)

    return face.define("matrix_descriptor", 2, typing_rule, lower)


def zero_sum(face: Backend, form: Sum) -> Any:
    """``zero_sum()``: an accumulator of zeros."""
    total = Accumulator(*form)

    def lower(low: Lowering) -> Any:
        return ir.Constant(low.value_type(total.tile), None)

    return face.define("zero_sum", 0, lambda: signature(total.tile), lower)


@dataclass(frozen=True, slots=True)
class Factor:
    """The start offsets in bytes of the steps of an operand.

    ``lines``: of a box, whose rows have ``span`` bytes.  ``flipped``: its lines are K.

    >>> Factor(128, 128, False).start(64, 96), Factor(64, 128, True).start(128, 32)
    (8288, 18432)
    """

    lines: int
    span: int
    flipped: bool

    def start(self, row: int, byte: int) -> int:
        """The offset of a row, and of a byte along K."""
        line, along = row, byte
        if self.flipped:  # 16 bits: 16 lines of K are 32 bytes, rows lie along lines
            line, along = byte // 2, row * 2
        chunk, inside = divmod(along, self.span)
        return chunk * self.lines * self.span + line * self.span + inside


def multiply(
    face: Backend,
    form: Sum,
    kinds: tuple[str, str],
    depth: int,
    left: tuple[int, int, bool],
    right: tuple[int, int, bool],
) -> Any:
    """``warpgroup_multiply(a, b, sum)``: ``sum + A B``, waiting for its completion.

    ``depth``: bytes along K.  All steps are one assembly text: between them the
    registers of the sum belong to the hardware, and no compiler may move them.

    Tensor cores keep fewer bits of sums of 8-bit floats than f32 has. So the products
    of ``depth`` bytes start from zero in other registers, and are added in f32.
    """
    total = Accumulator(*form)
    a, b = Factor(*left), Factor(*right)
    count = total.count
    is_apart = KINDS[kinds[0]] in {"e4m3", "e5m2"} and total.element == "f32"
    turns = f", {int(a.flipped)}, {int(b.flipped)}" if _turnable(kinds) else ""
    signs = "" if total.element == "i32" else ", 1, 1"
    per_step = STEP * 8 // _BITS.get(kinds[0], 8)
    name = (
        f"wgmma.mma_async.sync.aligned.m{ROWS}n{total.columns}k{per_step}"
        f".{SUMS[total.element]}.{KINDS[kinds[0]]}.{KINDS[kinds[1]]}"
    )
    lines = [
        "{ .reg .pred p, q; .reg .b32 one; .reg .b64 a, b;",
        "mov.u32 one, 1; setp.ne.u32 p, one, 0; setp.eq.u32 q, one, 0;",
        "wgmma.fence.sync.aligned;",
    ]
    for block in range(total.rows // ROWS):
        first = block * total.each
        held = ", ".join(f"${n}" for n in range(first, first + total.each))
        for byte in range(0, depth, STEP):
            starts = a.start(block * ROWS, byte), b.start(0, byte)
            lines += [
                f"add.s64 {register}, ${count + n}, {start >> 4};"
                for n, (register, start) in enumerate(zip("ab", starts, strict=True))
            ]
            adds = "q" if is_apart and not byte else "p"
            lines.append(f"{name} {{{held}}}, a, b, {adds}{signs}{turns};")
    lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0; }"]
    text = " ".join(lines)

    def lower(low: Lowering, a: Any, b: Any, value: Any) -> Any:
        held = low.elements(total.tile, value)
        types_ = [register.type for register in held]
        if is_apart:
            found = instruction(low, text, (a, b), types_)
            pairs = zip(held, found, strict=True)
            found = [low.builder.fadd(old, new) for old, new in pairs]
        else:
            found = instruction(low, text, (a, b, *held), types_, tied=count)
        return low.from_elements(total.tile, found)

    def typing_rule(_a: Any, _b: Any, _sum: Any) -> Any:
        return signature(total.tile, types.int64, types.int64, total.tile)

    return face.define("warpgroup_multiply", 3, typing_rule, lower)


_BITS = {"f16": 16, "bf16": 16, "f32": 32}


def _turnable(kinds: tuple[str, str]) -> bool:
    return _BITS.get(kinds[0]) == 16


def sum_fragment(face: Backend, form: Sum, row: int, column: int) -> Any:
    """``sum_fragment(sum)``: the registers of ``16 x 8`` elements of each warp.

    ``row`` counts 64 rows, ``column`` 8 columns, of elements of 32 bits.
    """
    total = Accumulator(*form)
    made = tile_or_scalar((2, 2), total.element)
    first = row * total.each + 4 * column

    def lower(low: Lowering, value: Any) -> Any:
        return low.from_elements(
            made, low.elements(total.tile, value)[first : first + 4]
        )

    def typing_rule(_sum: Any) -> Any:
        return signature(made, total.tile)

    return face.define(f"fragment_{row}_{column}", 1, typing_rule, lower)


def store_sum(face: Backend, form: Sum, row_step: int) -> Any:
    """``store_sum(sum, p, offset)``: rows ``row_step`` elements apart."""
    total = Accumulator(*form)
    bits = 16 if total.per == 2 else 32

    def lower(low: Lowering, value: Any, pointer: Any, offset: Any) -> None:
        builder = low.builder
        registers = low.elements(total.tile, value)
        whole = ir.IntType(bits) if total.per == 2 else registers[0].type
        base = retyped(low, pointer, whole)
        base = builder.gep(base, [_first(low, offset, row_step)])
        for register, places in zip(registers, total.places(), strict=True):
            for e, (row, column) in enumerate(places):
                at = ir.Constant(I32, row * row_step + column)
                part = register
                if total.per == 2:
                    moved = builder.lshr(register, ir.Constant(I32, e * bits))
                    part = builder.trunc(moved, whole)
                builder.store(part, builder.gep(base, [at]), align=bits // 8)

    def typing_rule(_sum: Any, pointer: Any, offset: Any) -> Any:
        return signature(types.void, total.tile, pointer, offset)

    return face.define("store_sum", 3, typing_rule, lower)


def _first(low: Lowering, offset: Any, row_step: int) -> Any:
    """The offset of this thread's first element."""
    builder = low.builder
    thread = _thread(low)

    def part(shift: int, mask: int) -> Any:
        moved = builder.lshr(thread, ir.Constant(I32, shift))
        return builder.and_(moved, ir.Constant(I32, mask))

    warp, group, turn = part(5, 3), part(2, 7), part(0, 3)
    steps = (warp, 16 * row_step), (group, row_step), (turn, 2)
    for number, step in steps:
        wide = number if offset.type == I32 else builder.zext(number, offset.type)
        scaled = builder.mul(wide, ir.Constant(offset.type, step))
        offset = builder.add(offset, scaled)
    return offset


def _thread(low: Lowering) -> Any:
    """The number of a thread in its block."""
    builder, number = low.builder, ir.Constant(I32, 0)
    for dimension in "zyx":
        place, extent = (
            low.call(f"llvm.nvvm.read.ptx.sreg.{name}.{dimension}", I32, ())
            for name in ("tid", "ntid")
        )
        number = builder.add(builder.mul(number, extent), place)
    return number


MADE = {
    "matrix_descriptor": descriptor,
    "store_sum": store_sum,
    "sum_fragment": sum_fragment,
    "warpgroup_multiply": multiply,
    "zero_sum": zero_sum,
}
