"""Products of matrices by four warps at once: ``wgmma`` of sm_90a."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.parsing.text import members
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.rules.matrices import BITS, MIXED, SUMS
from gpucodegen.ptx.translation.rules.tables import Rule

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
    """A step of a product whose operands lie in shared memory, and waiting for it."""
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
    """The shape and the types of a product, and what is done to its factors."""
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
