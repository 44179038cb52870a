"""SASS listings: instructions and loops of disassembled kernels, and their statistics.

`listings` parses a disassembly; loops are found by branches back.  `mix` counts the
instructions of a loop by kind, `widths` the accesses by width, and `in_flight`
estimates the bytes of global memory that are in flight at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from gpucodegen.records import dataclass

_LABEL = re.compile(r"\s*(\.L_x_\d+):")
_INSTRUCTION = re.compile(
    r"\s*/\*(?P<at>[0-9a-f]{4,})\*/\s+(?:\{\s*)?"
    r"(?P<predicate>@!?U?P\d+\s+)?(?P<name>[A-Z][\w.]*)(?P<rest>[^;]*);"
)
_TARGET = re.compile(r"\.L_x_\d+")
_SECTION = re.compile(r"\s*\.section\s+\.text\.([\w$]+),")


@dataclass(frozen=True, slots=True)
class MachineInstruction:
    """One instruction; ``name`` has its modifiers, ``at`` is its address in bytes."""

    at: int
    predicate: str
    name: str
    operands: str

    @property
    def opcode(self) -> str:
        """The name without modifiers."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Listing:
    """A kernel's instructions; ``branches``: (first, last) of each loop, by number."""

    instructions: tuple[MachineInstruction, ...]
    branches: tuple[tuple[int, int], ...]

    def loops(self) -> list[tuple[MachineInstruction, ...]]:
        """The instructions of each loop, inner loops included."""
        return [
            self.instructions[first : last + 1]
            for first, last in self.branches
            if first < last  # a branch to itself ends the text of every kernel
        ]


def listings(text: str) -> dict[str, Listing]:
    r"""The kernels of a disassembly by name.

    >>> text = '''
    ... 	.section	.text.k,"ax",@progbits
    ... .L_x_0:
    ...         /*0000*/                   FFMA R0, R1, R2, R0 ;
    ...         /*0010*/              @!P0 BRA `(.L_x_0) ;
    ...         /*0020*/                   EXIT ;
    ... '''
    >>> [x.opcode for x in listings(text)["k"].loops()[0]]
    ['FFMA', 'BRA']
    """
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        section = _SECTION.match(line)
        if section:
            lines = found.setdefault(section[1], [])
        lines.append(line)
    return {name: _listing(lines) for name, lines in found.items()}


def _listing(lines: list[str]) -> Listing:
    labels: dict[str, int] = {}
    instructions: list[MachineInstruction] = []
    for line in lines:
        label = _LABEL.match(line)
        found = _INSTRUCTION.match(line)
        if label:
            labels[label[1]] = len(instructions)
        elif found:
            predicate = (found["predicate"] or "").strip()
            name, rest = found["name"], found["rest"].strip()
            at = int(found["at"], 16)
            instructions.append(MachineInstruction(at, predicate, name, rest))
    return Listing(tuple(instructions), tuple(_back(instructions, labels)))


def _back(
    instructions: list[MachineInstruction], labels: dict[str, int]
) -> list[tuple[int, int]]:
    """Branches to earlier addresses."""
    found: dict[int, int] = {}
    for number, x in enumerate(instructions):
        target = _TARGET.search(x.operands) if x.opcode == "BRA" else None
        first = labels.get(target[0], number + 1) if target else number + 1
        if first <= number:
            found[first] = number
    return sorted(found.items())


_BITS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128}
_ACCESSES = frozenset(("LDG", "LD", "LDS", "STG", "ST", "STS", "LDGSTS", "LDL", "STL"))
_REGISTER = re.compile(r"\bR(\d+)\b")
_PENDING = re.compile(r"SB\d+, 0x([0-9a-f]+)")


def bits(x: MachineInstruction) -> int:
    """Bits that one thread moves with an access, 0 for another instruction.

    >>> bits(MachineInstruction(0, "", "LDG.E.128.CONSTANT", "R4, desc[UR4][R2.64]"))
    128
    """
    if x.opcode not in _ACCESSES:
        return 0
    return next((_BITS[part] for part in x.name.split(".") if part in _BITS), 32)


def widths(instructions: Sequence[MachineInstruction]) -> dict[str, Counter[int]]:
    """The number of accesses by opcode and width in bits."""
    found: dict[str, Counter[int]] = {}
    for x in instructions:
        if bits(x):
            found.setdefault(x.opcode, Counter())[bits(x)] += 1
    return found


def in_flight(instructions: Sequence[MachineInstruction]) -> int:
    """The most bytes of global memory that a thread has loaded but not yet used.

    The text is read from top to bottom, loops once.  A load is in flight until an
    instruction names its registers, a copy to shared memory until a wait for its group.

    >>> load = "desc[UR4][R2.64]"
    >>> in_flight([
    ...     MachineInstruction(0, "", "LDG.E.128", f"R4, {load}"),
    ...     MachineInstruction(16, "", "LDG.E.128", f"R8, {load}"),
    ...     MachineInstruction(32, "", "FADD", "R0, R4, R8"),
    ...     MachineInstruction(48, "", "LDG.E.128", f"R4, {load}"),
    ... ])
    32
    """
    loads: list[tuple[set[int], int]] = []
    groups = [0]
    most = 0
    for x in instructions:
        named = {int(number) for number in _REGISTER.findall(x.operands)}
        loads = [(held, size) for held, size in loads if not held & named]
        pending = _PENDING.search(x.operands) if x.opcode == "DEPBAR" else None
        if x.opcode in ("LDG", "LD"):
            target = _REGISTER.match(x.operands)
            first = int(target[1]) if target else 0
            held = set(range(first, first + max(bits(x) // 32, 1)))
            loads.append((held, bits(x) // 8))
        elif x.opcode == "LDGSTS":
            groups[-1] += bits(x) // 8
        elif x.opcode == "LDGDEPBAR":
            groups.append(0)
        elif pending:
            groups = groups[-1 - int(pending[1], 16) :]
        most = max(most, sum(groups) + sum(size for _, size in loads))
    return most


KINDS: tuple[tuple[str, str], ...] = (
    ("FFMA", r"FFMA|FMUL|FADD"),
    ("DFMA", r"DFMA|DMUL|DADD"),
    ("HFMA2", r"HFMA2|HADD2|HMUL2"),
    ("MMA", r"[HIDQO]G?MMA"),
    ("MUFU", r"MUFU"),
    ("LDS", r"LDS|LDSM"),
    ("STS", r"STS|STSM"),
    ("LDG", r"LDG|LD"),
    ("STG", r"STG|ST|RED|ATOM\w*"),
    ("LDGSTS", r"LDGSTS|UTMA\w*|UBLKCP"),
    ("local", r"LDL|STL"),
    ("barrier", r"BAR|SYNCS|\w*DEPBAR|WARPGROUP|WARPSYNC|BSYNC|BSSY|MEMBAR"),
    (
        "integer",
        r"U?(I(?!G?MMA)\w*|LEA|SHF|LOP3?|PRMT|SEL|VIADD\w*|BREV|FLO|POPC|SGXT|BMSK)",
    ),
    ("compare", r"U?(ISETP|FSETP|DSETP|PLOP3|FSEL|FMNMX|VIMNMX)"),
    ("move", r"U?MOV|CS2R|S2U?R|R2UR|R2P|P2R|U?LDC|SHFL|VOTE\w*"),
    ("branch", r"BRA|EXIT|CALL|RET|JMP|NOP|BREAK|WARPEXIT|YIELD|NANOSLEEP"),
)
"""Kinds of instructions by opcode; the last one that fits is taken, else "other"."""
_PATTERNS = [(kind, re.compile(pattern)) for kind, pattern in KINDS]
ARITHMETIC = ("FFMA", "DFMA", "HFMA2", "MMA")
"""Kinds that do a program's arithmetic."""


def kind(x: MachineInstruction) -> str:
    return _kind(x.opcode)


@cache
def _kind(opcode: str) -> str:
    fits = [name for name, pattern in _PATTERNS if pattern.fullmatch(opcode)]
    return fits[-1] if fits else "other"


def mix(instructions: Sequence[MachineInstruction]) -> Counter[str]:
    """The number of instructions of each kind."""
    return Counter(map(kind, instructions))


def main_loop(listing: Listing) -> tuple[MachineInstruction, ...]:
    """The loop that holds most arithmetic, else the longest; the smallest such loop.

    Empty where the kernel has no loop.
    """

    def weight(loop: tuple[MachineInstruction, ...]) -> tuple[int, int, int]:
        counts = mix(loop)
        work = sum(counts[name] for name in ARITHMETIC)
        return work, -len(loop) if work else len(loop), -loop[0].at

    return max(listing.loops(), key=weight, default=())
