"""Matrices in the registers of a warp."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.parsing.text import members
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.rules.tables import Rule
from gpucodegen.ptx.translation.sites import Site

_LDMATRIX = re.compile(
    r"ldmatrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared(:cta)?\.b16"
)
_MMA = re.compile(
    r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col\."
    r"(?:(f32|f16)\.(f16)\.f16\.\2|(f32)\.(bf16|tf32)\.\5\.f32|(s32)\.([su]8)\.\7\.s32)"
)
_WORDS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8}


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """``D = A B + C`` of a warp: A is 16 by ``depth``, B ``depth`` by 8."""

    index: int
    depth: int
    factor: str
    """PTX type of the elements of A and B."""
    sum: str
    """PTX type of the elements of C and D."""


def ldmatrix(x: Instruction, o: OperandText) -> list[Line]:
    """One, two or four matrices of 8 by 8 halves from shared memory."""
    form = _LDMATRIX.fullmatch(x.name)
    if form is None:
        raise Untranslatable("no such form")
    count = int(form[1])
    address, offset = o.address(x.operands[1])
    site = o.constant(Site.of(x.index, "shared", offset, "u4", 4))
    call = f"S.matrices.load({site}, {address}, {count}, {bool(form[2])}, q)"
    lines: list[Line] = [f"t_ = {call}"]
    registers = members(x.operands[0])
    return lines + [o.write(r, f"t_[{i}]", "b32") for i, r in enumerate(registers)]


def mma(x: Instruction, o: OperandText) -> list[Line]:
    """A product of matrices held by a warp, added to a third."""
    form = _MMA.fullmatch(x.name)
    if form is None:
        raise Untranslatable("no such form")
    depth = int(form[1])
    total, factor = (g for g in form.groups()[1:] if g is not None)
    targets, *sources = (members(operand) for operand in x.operands)
    if len(sources[0]) * 32 * 32 != 16 * depth * _WORDS[factor]:
        raise Untranslatable("no such shape")
    kind = "f32" if total == "f32" else "b32"
    lists = [
        ", ".join(o.read(r, kind if i == 2 else "b32") for r in registers)
        for i, registers in enumerate(sources)
    ]
    product = o.constant(MatrixProduct(x.index, depth, factor, total))
    words = ", ".join(f"({words},)" for words in lists)
    lines: list[Line] = [f"t_ = S.matrices.multiply({product}, {words}, q)"]
    return lines + [o.write(r, f"t_[{i}]", kind) for i, r in enumerate(targets)]


MATRIX_RULES: dict[str, Rule] = {"ldmatrix": ldmatrix, "mma": mma}
