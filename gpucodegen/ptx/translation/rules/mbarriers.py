"""Barriers in shared memory, and the bulk copies that they count."""

from __future__ import annotations

import re

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.parsing.text import members, split
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.rules.tables import Rule
from gpucodegen.ptx.translation.sites import Site

_PLAIN = re.compile(r"\.(release|acquire|relaxed|cta|cluster|shared:cta|shared)\b(?!:)")
ARRIVALS = {
    "mbarrier.arrive.b64": "{}, np.uint32(0)",
    "mbarrier.arrive.expect_tx.b64": "np.uint32(1), {}",
    "mbarrier.expect_tx.b64": "np.uint32(0), {}",
}
"""Arrivals and expected bytes that the number of an instruction stands for."""
_TENSOR = re.compile(
    r"cp\.async\.bulk\.tensor\.[1-5]d\.shared:cluster\.global\."
    r"mbarrier:complete_tx:bytes"
)
_BULK = "cp.async.bulk.shared:cluster.global.mbarrier:complete_tx:bytes"


def _plain(x: Instruction) -> str:
    """The name without scopes, orders and the space, which is always shared."""
    return _PLAIN.sub("", x.name)


def _place(x: Instruction, o: OperandText, operand: str) -> str:
    """Site and address of a barrier, as arguments."""
    address, offset = o.address(operand)
    return f"{o.constant(Site.of(x.index, 'shared', offset, 'u8'))}, {address}"


def mbarrier(x: Instruction, o: OperandText) -> list[Line]:
    """``mbarrier`` in the forms that need no state in a register."""
    name, operands = _plain(x), list(x.operands)
    if name == "mbarrier.inval.b64":
        return []
    if name == "mbarrier.init.b64":
        count = o.read(operands[1], "u32")
        return [f"S.mbarriers.init({_place(x, o, operands[0])}, {count}, q)"]
    if name in ("mbarrier.try_wait.parity.b64", "mbarrier.test_wait.parity.b64"):
        target, place, parity = operands[0], operands[1], o.read(operands[2], "u32")
        call = f"S.mbarriers.wait({_place(x, o, place)}, {parity}, q)"
        return [o.write(target, call, "pred")]
    if name not in ARRIVALS:
        raise Untranslatable("no such form")
    if operands[0] == "_":
        operands.pop(0)
    if not operands[0].startswith("["):
        raise Untranslatable("an mbarrier's state in a register")
    number = o.read(operands[1], "u32") if len(operands) > 1 else "np.uint32(1)"
    arguments = ARRIVALS[name].format(number)
    return [f"S.mbarriers.arrive({_place(x, o, operands[0])}, {arguments}, q)"]


def bulk_copy(x: Instruction, o: OperandText) -> list[Line]:
    """A bulk copy to shared memory, of bytes or of a tensor's box."""
    if "tensor" in x.modifiers:
        return tensor_copy(x, o)
    if re.sub(r"\.L2:\w+", "", x.name).replace("shared:cta", "shared:cluster") != _BULK:
        raise Untranslatable("no such copy")
    target, source, size, barrier = x.operands
    to, to_offset = o.address(target)
    of, of_offset = o.address(source)
    into = o.constant(Site.of(x.index, "shared", to_offset, "u4", 4))
    out_of = o.constant(Site.of(x.index, "global", of_offset, "u4", 4))
    count, place = o.read(size, "u32"), _place(x, o, barrier)
    arguments = f"{into}, {to}, {out_of}, {of}, {count}, {place}"
    return [f"S.mbarriers.copy({arguments}, q)"]


def tensor_copy(x: Instruction, o: OperandText) -> list[Line]:
    """A copy of a tensor's box, swizzled as its map says; no multicast, no im2col."""
    name = x.name.replace("shared:cta", "shared:cluster").replace(".tile", "")
    if not _TENSOR.fullmatch(name):
        raise Untranslatable("no such copy")
    target, source, barrier = x.operands
    to, to_offset = o.address(target)
    into = o.constant(Site.of(x.index, "shared", to_offset, "u4", 4))
    tensor, corner = split(source[1:-1])
    numbers = "".join(f"{o.read(c, 's32')}, " for c in members(corner))
    arguments = f"{into}, {to}, {o.read(tensor, 'b64')}, ({numbers})"
    return [f"S.mbarriers.tensor_copy({arguments}, {_place(x, o, barrier)}, q)"]


MBARRIER_RULES: dict[str, Rule] = {"mbarrier": mbarrier}
