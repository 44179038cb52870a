"""Translation of loads, stores, atomics, fences, asynchronous copies and mbarriers."""

from __future__ import annotations

import re

import numpy as np

from gpucodegen.ptx.entries import Instruction, members, split
from gpucodegen.ptx.translation.operands import (
    SPACES,
    Line,
    OperandText,
    Rule,
    Site,
    Untranslatable,
    chosen,
    mods,
    order_of,
)
from gpucodegen.ptx.types import DTYPES, dtype

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
    """The name without scope, order and space, which is always shared."""
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
    """``test_wait``, ``try_wait``: whether a phase is complete, by parity or state."""
    target, place, phase = x.operands[:3]
    wanted = o.read(phase, "s64" if by_state else "u32")
    acquires = "relaxed" not in x.modifiers
    arguments = f"{_place(x, o, place)}, {wanted}, {acquires}, q, {by_state}"
    return [o.write(target, f"S.mbarriers.wait({arguments})", "pred")]


def _sides(x: Instruction) -> str:
    """The name of a copy without hints, with a cluster target."""
    name = re.sub(r"\.L2:\w+|\.tile(?!\w)", "", x.name)
    return re.sub(r"(tensor\.\dd|bulk)\.shared:cta\b", r"\1.shared:cluster", name)


def bulk_copy(x: Instruction, o: OperandText) -> list[Line]:
    """``cp.async.bulk`` to or from shared memory, of bytes or of a tensor's box."""
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
    arguments = f"({into}, {to}), ({out_of}, {of}), {count}, ({place})"
    return [f"S.mbarriers.copy({arguments}, {_ranks(o, form[2], ranks)}, q)"]


def _ranks(o: OperandText, multicast: str | None, operands: list[str]) -> str:
    """The blocks of the cluster that get a copy, as an argument."""
    if len(operands) != bool(multicast):
        raise Untranslatable("no such copy")
    return o.read(operands[0], "u16") if multicast else "None"


def tensor_copy(x: Instruction, o: OperandText) -> list[Line]:
    """``cp.async.bulk.tensor``: a box, swizzled by its map; no im2col."""
    form = _TENSOR.fullmatch(_sides(x))
    if form is None:
        raise Untranslatable("no such copy")
    target, source, barrier, *ranks = x.operands
    to, to_offset = o.address(target)
    into = o.constant(Site.of(x.index, "cluster", to_offset, "u4", 4))
    arguments = f"({into}, {to}), {_box(o, source)}, ({_place(x, o, barrier)})"
    return [f"S.mbarriers.tensor_copy({arguments}, {_ranks(o, form[1], ranks)}, q)"]


def _box(o: OperandText, operand: str) -> str:
    """A tensor map and coordinates, as arguments."""
    tensor, corner = split(operand[1:-1])
    numbers = "".join(f"{o.read(c, 's32')}, " for c in members(corner))
    return f"{o.read(tensor, 'b64')}, ({numbers})"


def _group(x: Instruction) -> list[Line]:
    """``cp.async.bulk.commit_group`` and ``wait_group``."""
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
    """``st.async``: a store to shared memory that completes bytes on an mbarrier."""
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


VECTORS = {"v2": 2, "v4": 4, "v8": 8}
ATOMICS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
_PARAMETER = re.compile(r"\[([\w$]+)(?:\+(\d+))?\]")
UNSIGNED = {"b8": "u8", "b16": "u16", "b32": "u32"}
"""Bits that a load extends with zeros in a wider register."""
_WIDEST = 16


def _space(given: list[str]) -> str:
    space = chosen(given, SPACES, "generic")
    return "cluster" if space == "shared:cluster" else space.partition(":")[0]


def _parts(
    x: Instruction, o: OperandText, address: str, kind: str, registers: tuple[str, ...]
) -> list[tuple[str, str, tuple[str, ...]]]:
    """(site, address, registers) of each piece of at most 16 bytes."""
    value, offset = o.address(address)
    size = dtype(kind).itemsize
    each = max(1, min(len(registers), _WIDEST // size))
    space = _space(list(x.modifiers))
    pieces: list[tuple[str, str, tuple[str, ...]]] = []
    for first in range(0, len(registers), each):
        some = registers[first : first + each]
        at = offset + first * size
        order = order_of(x)
        site = Site.of(x.index, space, at, DTYPES[kind], len(some), order=order)
        pieces.append((o.constant(site), value, some))
    return pieces


def visit(x: Instruction, o: OperandText) -> list[Line]:
    """Only the addresses of ``ld`` or ``st``, to be counted."""
    loads = x.opcode in ("ld", "ldu")
    values, place = x.operands if loads else x.operands[::-1]
    kind = x.modifiers[-1]
    pieces = _parts(x, o, place, UNSIGNED.get(kind, kind), members(values))
    return [f"S.accesses.visit({site}, {at}, q)" for site, at, _ in pieces]


def visit_atomic(x: Instruction, o: OperandText) -> list[Line]:
    """Only the addresses of ``atom`` or ``red``, to be counted."""
    site, address, _ = _updated(x, o)
    return [f"S.accesses.visit({site}, {address}, q)"]


def visit_copy(x: Instruction, o: OperandText) -> list[Line]:
    """Only the addresses of a ``cp.async``, to be counted."""
    return [f"S.copies.visit({_copied(x, o)})"]


COUNTING_RULES: dict[str, Rule] = {
    "ld": visit,
    "ldu": visit,
    "st": visit,
    "atom": visit_atomic,
    "red": visit_atomic,
    "cp": visit_copy,
}


def load(x: Instruction, o: OperandText) -> list[Line]:
    """``ld`` of one register or of a vector."""
    given = mods(x, (*SPACES, *VECTORS, "ca", "cg", "cs", "lu", "cv"))
    kind = UNSIGNED.get(given[-1], given[-1])
    registers = members(x.operands[0])
    if _space(given) == "param":
        named = _load_parameter(x, o, kind, registers)
        if named is not None:
            return named
    lines: list[Line] = []
    for site, address, some in _parts(x, o, x.operands[1], kind, registers):
        lines.append(f"t_ = S.load({site}, {address}, q)")
        lines += [o.write(r, f"t_[{i}]", kind) for i, r in enumerate(some)]
    return lines


def _load_parameter(
    x: Instruction, o: OperandText, kind: str, registers: tuple[str, ...]
) -> list[Line] | None:
    """A load of a parameter by its name, the same for all lanes."""
    found = _PARAMETER.fullmatch(x.operands[1])
    offsets = {p.name: p.offset for p in o.entry.parameters}
    if found is None or found[1] not in offsets:
        return None
    start, size = offsets[found[1]] + int(found[2] or 0), dtype(kind).itemsize
    return [
        o.write(register, f"S.parameter({start + i * size}, {DTYPES[kind]!r})", kind)
        for i, register in enumerate(registers)
    ]


def store(x: Instruction, o: OperandText) -> list[Line]:
    """``st`` of one register or of a vector."""
    if "async" in x.modifiers:
        return async_store(x, o)
    given = mods(x, (*SPACES, *VECTORS, "wb", "cg", "cs", "wt"))
    kind = given[-1]
    lines: list[Line] = []
    registers = members(x.operands[1])
    for site, address, some in _parts(x, o, x.operands[0], kind, registers):
        values = ", ".join(o.read(register, kind) for register in some)
        lines.append(f"S.store({site}, {address}, ({values},), q)")
    return lines


def atomic(x: Instruction, o: OperandText) -> list[Line]:
    """``atom``, and ``red``, which has no result.

    Vectors and packed words are updated element by element.
    """
    given = mods(x, (*SPACES, *VECTORS, *ATOMICS, "noftz"))
    kind = next(m for m in given[::-1] if m in DTYPES)
    single = kind.removesuffix("x2")
    wanted = x.opcode == "atom"
    site, address, columns = _updated(x, o)
    what = chosen(given, ATOMICS)
    if single == "bf16" and what in ("add", "min", "max"):
        what = f"{what}.bf16"
    values = "".join(f"({', '.join(row)},), " for row in zip(*columns, strict=True))
    call = f"S.atomic({site}, {address}, {what!r}, ({values}), {wanted}, q)"
    if not wanted:
        return [call]
    lines: list[Line] = [f"t_ = {call}"]
    for i, register in enumerate(members(x.operands[0])):
        value = f"t_[{i}]"
        if single != kind:
            value = f"packed('i4', t_[{2 * i}], t_[{2 * i + 1}])"
        lines.append(o.write(register, value, kind))
    return lines


def _updated(x: Instruction, o: OperandText) -> tuple[str, str, list[list[str]]]:
    """The site and address of an atomic, and the numbers of each of its operands."""
    given = mods(x, (*SPACES, *VECTORS, *ATOMICS, "noftz"))
    kind = next(m for m in given[::-1] if m in DTYPES)
    place, *operands = x.operands[x.opcode == "atom" :]
    address, offset = o.address(place)
    columns = [_elements(o, operand, kind) for operand in operands]
    element = DTYPES[kind.removesuffix("x2")]
    count, order = len(columns[0]), order_of(x)
    site = Site.of(x.index, _space(given), offset, element, count, order=order)
    return o.constant(site), address, columns


def _elements(o: OperandText, operand: str, kind: str) -> list[str]:
    """The numbers that an operand of an atomic holds."""
    words = [o.read(register, kind) for register in members(operand)]
    if not kind.endswith("x2"):
        return words
    half = DTYPES[kind.removesuffix("x2")]
    return [
        f"unpacked({word}, 2)[{i}].view({half!r})" for word in words for i in (0, 1)
    ]


def cp_async(x: Instruction, o: OperandText) -> list[Line]:
    """``cp.async``: copies to shared memory that land at their wait."""
    name = x.name
    if x.modifiers[:2] == ("async", "bulk"):
        return bulk_copy(x, o)
    if name == "cp.async.commit_group":
        return ["S.copies.commit(q)"]
    if name == "cp.async.wait_all":
        return ["S.copies.wait(-1, q)"]
    if name == "cp.async.wait_group":
        (newest,) = x.operands
        return [f"S.copies.wait({int(newest)}, q)"]
    return [f"S.copies.start({_copied(x, o)})"]


def _copied(x: Instruction, o: OperandText) -> str:
    """Target, source and size of a ``cp.async``, as arguments."""
    forms = {
        "cp.async.ca.shared.global": (4, 8, 16),
        "cp.async.cg.shared.global": (16,),
    }
    plain = re.sub(r"\.L2:\w+|:cta", "", x.name)
    if plain not in forms:
        raise Untranslatable("no such copy")
    target, source, width, *short = x.operands
    size = int(width)
    if size not in forms[plain]:
        raise Untranslatable(f"a copy of {size} bytes")
    to, to_offset = o.address(target)
    of, of_offset = o.address(source)
    real = o.read(short[0], "u32") if short else "None"
    into = o.constant(Site.of(x.index, "shared", to_offset, "u4", size // 4))
    out_of = o.constant(Site.of(x.index, "global", of_offset, "u4", size // 4))
    return f"({into}, {to}, {out_of}, {of}, {real}), q"


def createpolicy(x: Instruction, o: OperandText) -> list[Line]:
    """A cache hint: any word does."""
    return [o.write(x.operands[0], o.number(0, np.dtype("i8")), "b64")]


def nothing(_: Instruction, __: OperandText) -> list[Line]:
    """An instruction without effect here: lanes see one memory, in order."""
    return []


def fence(x: Instruction, _: OperandText) -> list[Line]:
    """A fence of the async proxy, or of release/acquire order."""
    if x.modifiers[0] == "mbarrier_init":
        return []
    if x.modifiers[0] == "proxy":
        return ["S.proxy_fence(q)"] if x.modifiers[1] == "async" else []
    return [f"S.fence({'cta' not in x.modifiers}, q)"]


MEMORY_RULES: dict[str, Rule] = {
    "ld": load,
    "ldu": load,
    "st": store,
    "atom": atomic,
    "red": atomic,
    "cp": cp_async,
    "createpolicy": createpolicy,
    "fence": fence,
    "membar": fence,
} | dict.fromkeys(
    "prefetch prefetchu discard applypriority nanosleep setmaxnreg "
    "griddepcontrol pmevent".split(),
    nothing,
)
