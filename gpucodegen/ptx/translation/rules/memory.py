"""Loads, stores, atomics and copies that do not wait."""

from __future__ import annotations

import re

import numpy as np

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.parsing.text import members
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.orders import order_of
from gpucodegen.ptx.translation.rules.mbarriers import async_store, bulk_copy
from gpucodegen.ptx.translation.rules.tables import SPACES, Rule, chosen, mods
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import DTYPES, dtype

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
    """``atom``, and ``red``, which leaves nothing in a register.

    Vectors and packed words change element by element.
    """
    given = mods(x, (*SPACES, *VECTORS, *ATOMICS, "noftz"))
    kind = next(m for m in given[::-1] if m in DTYPES)
    single = kind.removesuffix("x2")
    wanted = x.opcode == "atom"
    operands = x.operands[1:] if wanted else x.operands
    address, offset = o.address(operands[0])
    columns = [_elements(o, operand, kind) for operand in operands[1:]]
    order, count = order_of(x), len(columns[0])
    form = Site.of(x.index, _space(given), offset, DTYPES[single], count, order=order)
    what = chosen(given, ATOMICS)
    if single == "bf16" and what in ("add", "min", "max"):
        what = f"{what}.bf16"
    values = "".join(f"({', '.join(row)},), " for row in zip(*columns, strict=True))
    call = f"S.atomic({o.constant(form)}, {address}, {what!r}, ({values}), {wanted}, q)"
    if not wanted:
        return [call]
    lines: list[Line] = [f"t_ = {call}"]
    for i, register in enumerate(members(x.operands[0])):
        value = f"t_[{i}]"
        if single != kind:
            value = f"packed('i4', t_[{2 * i}], t_[{2 * i + 1}])"
        lines.append(o.write(register, value, kind))
    return lines


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
    """Copies to shared memory that land when they are waited for."""
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
    forms = {
        "cp.async.ca.shared.global": (4, 8, 16),
        "cp.async.cg.shared.global": (16,),
    }
    plain = re.sub(r"\.L2:\w+|:cta", "", name)
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
    return [f"S.copies.start({into}, {to}, {out_of}, {of}, {real}, q)"]


def createpolicy(x: Instruction, o: OperandText) -> list[Line]:
    """A hint about caches: any word does."""
    return [o.write(x.operands[0], o.number(0, np.dtype("i8")), "b64")]


def nothing(x: Instruction, o: OperandText) -> list[Line]:
    """An instruction without effect here: lanes see one memory, in order."""
    del x, o
    return []


def fence(x: Instruction, o: OperandText) -> list[Line]:
    """A fence: of the async proxy, or of what a thread publishes and reads later."""
    del o
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
