"""Barriers in shared memory, and the bulk copies that they count."""

from __future__ import annotations

import re

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.parsing.text import members, split
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.rules.tables import Rule
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import DTYPES

_PLAIN = re.compile(
    r"\.(release|acquire|relaxed|cta|cluster|shared:cta|shared:cluster|shared)\b(?!:)"
)
ARRIVALS = {
    "mbarrier.arrive.b64": "{}, np.uint32(0)",
    "mbarrier.arrive.noComplete.b64": "{}, np.uint32(0)",
    "mbarrier.arrive.expect_tx.b64": "np.uint32(1), {}",
    "mbarrier.arrive_drop.b64": "{}, np.uint32(0)",
    "mbarrier.arrive_drop.noComplete.b64": "{}, np.uint32(0)",
    "mbarrier.arrive_drop.expect_tx.b64": "np.uint32(1), {}",
    "mbarrier.expect_tx.b64": "np.uint32(0), {}",
    "mbarrier.complete_tx.b64": "np.uint32(0), -({}.astype('i8'))",
}
"""Arrivals and expected bytes that the number of an instruction stands for."""
_TENSOR = re.compile(
    r"cp\.async\.bulk\.tensor\.[1-5]d\.shared:cluster\.global\."
    r"mbarrier:complete_tx:bytes(\.multicast:cluster)?"
)
_BULK = re.compile(
    r"cp\.async\.bulk\.shared:cluster\.(global|shared:cta)\."
    r"mbarrier:complete_tx:bytes(\.multicast:cluster)?"
)
_WAIT = re.compile(r"mbarrier\.(?:try|test)_wait(\.parity)?\.b64")
_STORE = re.compile(
    r"cp\.async\.bulk(\.tensor\.[1-5]d)?\.global\.shared:cta\.bulk_group"
)


def _plain(x: Instruction) -> str:
    """The name without scopes, orders and the space, which is always shared."""
    return _PLAIN.sub("", x.name)


def _place(x: Instruction, o: OperandText, operand: str) -> str:
    """Site and address of a barrier, as arguments."""
    address, offset = o.address(operand)
    far = "shared:cluster" in x.modifiers or x.opcode != "mbarrier"
    space = "cluster" if far else "shared"
    return f"{o.constant(Site.of(x.index, space, offset, 'u8'))}, {address}"


def mbarrier(x: Instruction, o: OperandText) -> list[Line]:
    """``mbarrier`` in all forms."""
    name, operands = _plain(x), list(x.operands)
    if name == "mbarrier.inval.b64":
        return []
    if name == "mbarrier.init.b64":
        count = o.read(operands[1], "u32")
        return [f"S.mbarriers.init({_place(x, o, operands[0])}, {count}, q)"]
    if name == "mbarrier.pending_count.b64":
        value = f"({o.read(operands[1], 's64')} & np.int64(0xFFFFFF)).astype('i4')"
        return [o.write(operands[0], value, "b32")]
    if (form := _WAIT.fullmatch(name)) is not None:
        return _wait(x, o, by_state=form[1] is None)
    if name not in ARRIVALS:
        raise Untranslatable("no such form")
    state = operands.pop(0) if not operands[0].startswith("[") else "_"
    number = o.read(operands[1], "u32") if len(operands) > 1 else "np.uint32(1)"
    releases = "relaxed" not in x.modifiers and x.modifiers[0].startswith("arrive")
    drops = x.modifiers[0] == "arrive_drop"
    arguments = f"{ARRIVALS[name].format(number)}, {releases}, q, {drops}"
    call = f"S.mbarriers.arrive({_place(x, o, operands[0])}, {arguments})"
    return [o.write(state, call, "b64")]


def _wait(x: Instruction, o: OperandText, by_state: bool) -> list[Line]:
    """A question whether a phase is over, named by its parity or an arrival's state."""
    target, place, phase = x.operands[:3]
    wanted = o.read(phase, "s64" if by_state else "u32")
    acquires = "relaxed" not in x.modifiers
    arguments = f"{_place(x, o, place)}, {wanted}, {acquires}, q, {by_state}"
    return [o.write(target, f"S.mbarriers.wait({arguments})", "pred")]


def _sides(x: Instruction) -> str:
    """The name of a copy without hints, its target always of the cluster."""
    name = re.sub(r"\.L2:\w+|\.tile(?!\w)", "", x.name)
    return re.sub(r"(tensor\.\dd|bulk)\.shared:cta\b", r"\1.shared:cluster", name)


def bulk_copy(x: Instruction, o: OperandText) -> list[Line]:
    """A bulk copy to shared memory, of bytes or of a tensor's box, or from there."""
    if "prefetch" in x.modifiers:
        return []
    if x.modifiers[2:3] in (("commit_group",), ("wait_group",)):
        return _group(x)
    if "bulk_group" in x.modifiers:
        return bulk_store(x, o)
    if "tensor" in x.modifiers:
        return tensor_copy(x, o)
    form = _BULK.fullmatch(_sides(x))
    if form is None:
        raise Untranslatable("no such copy")
    target, source, size, barrier, *ranks = x.operands
    to, to_offset = o.address(target)
    of, of_offset = o.address(source)
    into = o.constant(Site.of(x.index, "cluster", to_offset, "u4", 4))
    space = form[1].partition(":")[0]
    out_of = o.constant(Site.of(x.index, space, of_offset, "u4", 4))
    count, place = o.read(size, "u32"), _place(x, o, barrier)
    arguments = f"{into}, {to}, {out_of}, {of}, {count}, {place}"
    return [f"S.mbarriers.copy({arguments}, {_ranks(o, form[2], ranks)}, q)"]


def _ranks(o: OperandText, multicast: str | None, operands: list[str]) -> str:
    """The blocks of the cluster that get a copy, as an argument."""
    if len(operands) != bool(multicast):
        raise Untranslatable("no such copy")
    return o.read(operands[0], "u16") if multicast else "None"


def tensor_copy(x: Instruction, o: OperandText) -> list[Line]:
    """A copy of a tensor's box, swizzled as its map says; no im2col."""
    form = _TENSOR.fullmatch(_sides(x))
    if form is None:
        raise Untranslatable("no such copy")
    target, source, barrier, *ranks = x.operands
    to, to_offset = o.address(target)
    into = o.constant(Site.of(x.index, "cluster", to_offset, "u4", 4))
    arguments = f"{into}, {to}, {_box(o, source)}, {_place(x, o, barrier)}"
    return [f"S.mbarriers.tensor_copy({arguments}, {_ranks(o, form[1], ranks)}, q)"]


def _box(o: OperandText, operand: str) -> str:
    """A tensor map and a place in its tensor, as arguments."""
    tensor, corner = split(operand[1:-1])
    numbers = "".join(f"{o.read(c, 's32')}, " for c in members(corner))
    return f"{o.read(tensor, 'b64')}, ({numbers})"


def _group(x: Instruction) -> list[Line]:
    """The end of a group of stores, or waiting for groups."""
    if x.modifiers[2] == "commit_group":
        return ["S.bulk_stores.commit(q)"]
    reads = "read" in x.modifiers
    return [f"S.bulk_stores.wait({int(x.operands[0])}, {reads}, q)"]


def bulk_store(x: Instruction, o: OperandText) -> list[Line]:
    """A bulk copy from shared to global memory, of bytes or of a tensor's box."""
    form = _STORE.fullmatch(re.sub(r"\.L2:\w+|\.tile(?!\w)", "", x.name))
    if form is None:
        raise Untranslatable("no such copy")
    target, source, *size = x.operands
    of, offset = o.address(source)
    out_of = o.constant(Site.of(x.index, "shared", offset, "u4", 4))
    if form[1]:
        call = f"{out_of}, {of}, {_box(o, target)}"
        return [f"S.bulk_stores.start_tensor({call}, q)"]
    to, to_offset = o.address(target)
    into = o.constant(Site.of(x.index, "global", to_offset, "u4", 4))
    count = o.read(size[0], "u32")
    return [f"S.bulk_stores.start({out_of}, {of}, {into}, {to}, {count}, q)"]


def async_store(x: Instruction, o: OperandText) -> list[Line]:
    """``st.async``: a store to shared memory whose bytes a barrier counts."""
    kind = x.modifiers[-1]
    names = {"async", "weak", "shared:cluster", "mbarrier:complete_tx:bytes"}
    if {*x.modifiers[:-1]} - names - {"v2", "v4"}:
        raise Untranslatable("no such store")
    target, value, barrier = x.operands
    registers = members(value)
    address, offset = o.address(target)
    site = Site.of(x.index, "cluster", offset, DTYPES[kind], len(registers))
    values = ", ".join(o.read(register, kind) for register in registers)
    done = f"np.uint32(0), np.int64({-site.width})"
    return [
        f"S.store({o.constant(site)}, {address}, ({values},), q)",
        f"S.mbarriers.arrive({_place(x, o, barrier)}, {done}, True, q)",
    ]


MBARRIER_RULES: dict[str, Rule] = {"mbarrier": mbarrier}
