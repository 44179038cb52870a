"""Translation of matrix instructions: ``ldmatrix``, ``stmatrix``, ``mma``, wgmma."""

from __future__ import annotations

import re

from gpucodegen.ptx.entries import Instruction, members
from gpucodegen.ptx.translation.operands import (
    Line,
    OperandText,
    Rule,
    Site,
    Untranslatable,
)
from gpucodegen.records import dataclass

_LDMATRIX = re.compile(
    r"(?:ld|st)matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?(\.shared(?::cta)?)?\.b16"
)
_MMA = re.compile(
    r"mma\.sync\.aligned\.(?:kind:f8f6f4\.)?m(\d+)n8k(\d+)\.row\.col\.(satfinite\.)?"
    r"(\w+)\.(\w+)\.(\w+)\.\4(?:\.(xor|and)\.popc)?"
)
_HALVES, _BYTES = ((16, 8), (16, 16)), ((16, 16), (16, 32))
SHAPES: dict[str, tuple[tuple[int, int], ...]] = {
    "f16": _HALVES,
    "bf16": _HALVES,
    "tf32": ((16, 4), (16, 8)),
    "f64": ((8, 4), (16, 4), (16, 8), (16, 16)),
    "e4m3": _BYTES,
    "e5m2": _BYTES,
    "s8": ((8, 16), *_BYTES),
    "u8": ((8, 16), *_BYTES),
    "s4": ((8, 32), (16, 32), (16, 64)),
    "u4": ((8, 32), (16, 32), (16, 64)),
    "b1": ((8, 128), (16, 128), (16, 256)),
}
"""(rows of A, columns of A) by the type of A's elements; B has 8 columns."""
SUMS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "f64": ("f64",),
    "e4m3": ("f16", "f32"),
    "e5m2": ("f16", "f32"),
} | dict.fromkeys(("s8", "u8", "s4", "u4", "b1"), ("s32",))
"""Types of sums by the type of the factors."""
MIXED = ({"s8", "u8"}, {"s4", "u4"}, {"e4m3", "e5m2"})
"""Types that A and B may have at the same time."""


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """``D = A B + C`` of a warp: A is ``rows`` by ``depth``, B ``depth`` by 8."""

    index: int
    rows: int
    depth: int
    factors: tuple[str, str]
    """PTX types of the elements of A and B."""
    sum: str
    """PTX type of the elements of C and D."""
    saturated: bool
    differences: bool
    """Bits that differ are counted, not those that are set in both."""


def matrix_rows(x: Instruction, o: OperandText) -> list[Line]:
    """``ldmatrix``, ``stmatrix``: matrices of 8 by 8 halves in shared memory."""
    form = _LDMATRIX.fullmatch(x.name)
    if form is None:
        raise Untranslatable("no such form")
    loads = x.opcode == "ldmatrix"
    target, place = x.operands if loads else x.operands[::-1]
    site, address = _rows(x, o, place)
    registers = members(target)
    if len(registers) != int(form[1]):
        raise Untranslatable("no such form")
    flipped = bool(form[2])
    if not loads:
        words = ", ".join(o.read(register, "b32") for register in registers)
        return [f"S.matrices.store({site}, {address}, ({words},), {flipped}, q)"]
    call = f"S.matrices.load({site}, {address}, {len(registers)}, {flipped}, q)"
    lines: list[Line] = [f"t_ = {call}"]
    return lines + [o.write(r, f"t_[{i}]", "b32") for i, r in enumerate(registers)]


def _rows(x: Instruction, o: OperandText, place: str) -> tuple[str, str]:
    """The site and the address of a row of a matrix in shared memory."""
    address, offset = o.address(place)
    space = "shared" if any(m.startswith("shared") for m in x.modifiers) else "generic"
    return o.constant(Site.of(x.index, space, offset, "u4", 4)), address


def visit_rows(x: Instruction, o: OperandText) -> list[Line]:
    """Only the addresses of ``ldmatrix`` or ``stmatrix``, to be counted."""
    loads = x.opcode == "ldmatrix"
    target, place = x.operands if loads else x.operands[::-1]
    site, address = _rows(x, o, place)
    return [f"S.matrices.visit({site}, {address}, {len(members(target))}, q)"]


def movmatrix(x: Instruction, o: OperandText) -> list[Line]:
    """``movmatrix``: an 8 by 8 matrix of halves, transposed among the lanes."""
    if x.name != "movmatrix.sync.aligned.m8n8.trans.b16":
        raise Untranslatable("no such form")
    source = o.read(x.operands[1], "b32")
    call = f"S.matrices.transposed({x.index}, {source}, q)"
    return [o.write(x.operands[0], call, "b32")]


def product_form(x: Instruction) -> MatrixProduct:
    """The shape and the types of a product."""
    form = _MMA.fullmatch(x.name)
    if form is None:
        raise Untranslatable("no such form")
    rows, depth, total, left, right = int(form[1]), int(form[2]), *form.groups()[3:6]
    known = left == right or any({left, right} <= pair for pair in MIXED)
    if not known or (rows, depth) not in SHAPES[left] or total not in SUMS[left]:
        raise Untranslatable("no such shape")
    if (left == "b1") != bool(form[7]):
        raise Untranslatable("no such form")
    factors = left, right
    saturated, differences = bool(form[3]), form[7] == "xor"
    return MatrixProduct(x.index, rows, depth, factors, total, saturated, differences)


def mma(x: Instruction, o: OperandText) -> list[Line]:
    """``mma``: a product of matrices held by a warp, added to a third."""
    form = product_form(x)
    targets, *sources = (members(operand) for operand in x.operands)
    word = "f64" if form.sum == "f64" else "b32"
    kind = form.sum if form.sum in ("f32", "f64") else "b32"
    counts = (form.rows * form.depth, form.depth * 8)
    bits = [len(s) * 32 * (64 if word == "f64" else 32) for s in sources[:2]]
    if bits != [count * BITS[form.factors[0]] for count in counts]:
        raise Untranslatable("no such shape")
    lists = [
        ", ".join(o.read(r, kind if i == 2 else word) for r in registers)
        for i, registers in enumerate(sources)
    ]
    words = ", ".join(f"({words},)" for words in lists)
    call = f"S.matrices.multiply({o.constant(form)}, {words}, q)"
    lines: list[Line] = [f"t_ = {call}"]
    return lines + [o.write(r, f"t_[{i}]", kind) for i, r in enumerate(targets)]


BITS = {
    "f64": 64,
    "tf32": 32,
    "f16": 16,
    "bf16": 16,
    "s8": 8,
    "u8": 8,
    "e4m3": 8,
    "e5m2": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}
"""Bits of an element of A or B."""

MATRIX_RULES: dict[str, Rule] = {
    "ldmatrix": matrix_rows,
    "stmatrix": matrix_rows,
    "movmatrix": movmatrix,
    "mma": mma,
}


_MULTIPLY = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k(\d+)(\.satfinite)?"
    r"\.(f32|f16|s32)\.(\w+)\.(\w+)(\.satfinite)?"
)
_DEPTH_BITS = 256
_WIDEST = 256
_WORDS_OF_A = 4
_TRANSPOSABLE = ("f16", "bf16")


@dataclass(frozen=True, slots=True)
class GroupProduct:
    """``D = A B + D``: A is 64 by ``depth``, B ``depth`` by ``columns``."""

    index: int
    columns: int
    depth: int
    factors: tuple[str, str]
    """PTX types of the elements of A and B."""
    sum: str
    """PTX type of the elements of D."""
    registers: tuple[int, ...]
    """The registers of each lane that hold D."""
    saturated: bool = False
    negated: bool = False
    transposed: tuple[bool, bool] = (False, False)
    """Whether A and B lie in memory with their rows and columns contiguous."""
    held: bool = False
    """Whether A is in registers."""

    @property
    def size(self) -> int:
        """Bytes of an element of A and B."""
        return BITS[self.factors[0]] // 8


def wgmma(x: Instruction, o: OperandText) -> list[Line]:
    """``wgmma``: products with operands in shared memory, fences, commits and waits."""
    if x.name == "wgmma.fence.sync.aligned":
        return ["S.warpgroups.fence(R, q)"]
    if x.name == "wgmma.commit_group.sync.aligned":
        return ["S.warpgroups.commit(q)"]
    if x.name == "wgmma.wait_group.sync.aligned":
        (newest,) = x.operands
        return [f"S.warpgroups.wait({int(newest)}, q)"]
    product = _product(x, o)
    _, a, b, scale = x.operands[:4]
    if a.startswith("{"):
        words = ", ".join(o.read(register, "b32") for register in members(a))
        left = f"({words},)"
    else:
        left = o.read(a, "b64")
    sources = f"{left}, {o.read(b, 'b64')}, {o.predicate(scale)}"
    return [f"S.warpgroups.multiply({o.constant(product)}, R, {sources}, q)"]


def _product(x: Instruction, o: OperandText) -> GroupProduct:
    """The shape and types of a product, and the signs and layout of its operands."""
    form = _MULTIPLY.fullmatch(x.name)
    if form is None:
        raise Untranslatable("no such form")
    columns, depth = int(form[1]), int(form[2])
    total, left, right = form.groups()[3:6]
    known = left == right or any({left, right} <= pair for pair in MIXED)
    deep = known and depth * BITS.get(left, 0) == _DEPTH_BITS
    if not deep or total not in SUMS.get(left, ()) or columns % 8 or columns > _WIDEST:
        raise Untranslatable("no such shape")
    target, a, _, _, *others = x.operands
    numbers = [o.entry.registers.number(r) for r in members(target)]
    registers = tuple(n for n in numbers if n is not None)
    kinds = {o.entry.registers.storage[r] for r in registers}
    fits = len(registers) == columns // (4 if total == "f16" else 2)
    if not fits or not kinds <= ({"f4", "i4"} if total == "f32" else {"i4"}):
        raise Untranslatable("no such shape")
    held = a.startswith("{")
    signs, flips = others[:2], others[2:]
    whole = total == "s32"
    count = 0 if whole or left not in _TRANSPOSABLE else 2 - held
    if len(signs) != 2 * (not whole) or len(flips) not in (0, count):
        raise Untranslatable("no such form")
    strange = {*signs} - {"1", "-1"} or {*flips} - {"0", "1"}
    if strange or (held and len(members(a)) != _WORDS_OF_A):
        raise Untranslatable("no such form")
    flipped = [flip == "1" for flip in flips] or [False] * (2 - held)
    return GroupProduct(
        x.index,
        columns,
        depth,
        (left, right),
        total,
        registers,
        bool(form[3] or form[7]),
        signs.count("-1") == 1,
        (False if held else flipped[0], flipped[-1]),
        held,
    )


WARPGROUP_RULES: dict[str, Rule] = {"wgmma": wgmma}
