"""Products of matrices by four warps at once: ``wgmma`` of sm_90a."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.parsing.text import members
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.rules.tables import Rule

_MULTIPLY = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k(\d+)\.f32\.(f16|bf16|tf32)\.\3"
)
_SIZES = {"f16": 2, "bf16": 2, "tf32": 4}
_DEPTH_BYTES = 32


@dataclass(frozen=True, slots=True)
class GroupProduct:
    """``D = A B + D``: A is 64 by ``depth``, B ``depth`` by ``columns``, in f32."""

    index: int
    columns: int
    depth: int
    factor: str
    size: int
    """Bytes of an element of A and B."""
    registers: tuple[int, ...]
    """The registers of each lane that hold D."""


def wgmma(x: Instruction, o: OperandText) -> list[Line]:
    """A step of a product whose operands lie in shared memory, and waiting for it."""
    if x.name == "wgmma.fence.sync.aligned":
        return []
    if x.name == "wgmma.commit_group.sync.aligned":
        return ["S.warpgroups.commit(q)"]
    if x.name == "wgmma.wait_group.sync.aligned":
        (newest,) = x.operands
        return [f"S.warpgroups.wait({int(newest)}, q)"]
    form = _MULTIPLY.fullmatch(x.name)
    if form is None:
        raise Untranslatable("no such form")
    target, a, b, scale, *others = x.operands
    if a.startswith("{") or others[:2] != ["1", "1"] or set(others[2:]) - {"0"}:
        raise Untranslatable("A in registers, negated or transposed operands")
    numbers = [o.entry.registers.number(r) for r in members(target)]
    registers = tuple(n for n in numbers if n is not None)
    columns, depth, size = int(form[1]), int(form[2]), _SIZES[form[3]]
    kinds = {o.entry.registers.storage[r] for r in registers}
    if 2 * len(registers) != columns or depth * size != _DEPTH_BYTES or kinds != {"f4"}:
        raise Untranslatable("no such shape")
    product = GroupProduct(x.index, columns, depth, form[3], size, registers)
    sources = ", ".join(o.read(operand, "b64") for operand in (a, b))
    call = f"{o.constant(product)}, R, {sources}, {o.predicate(scale)}, q"
    return [f"S.warpgroups.multiply({call})"]


WARPGROUP_RULES: dict[str, Rule] = {"wgmma": wgmma}
