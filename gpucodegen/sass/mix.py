"""What the instructions of a loop do: how many of each kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gpucodegen.sass.listing import Listing, MachineInstruction

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
"""Kinds that do what a program is for."""


def kind(x: MachineInstruction) -> str:
    """The kind of one instruction."""
    fits = [name for name, pattern in _PATTERNS if pattern.fullmatch(x.opcode)]
    return fits[-1] if fits else "other"


def mix(instructions: Sequence[MachineInstruction]) -> Counter[str]:
    """How many instructions there are of each kind."""
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


def share(counts: Counter[str], name: str) -> float:
    """The share of one kind.

    >>> share(Counter(FFMA=3, LDS=1), "FFMA")
    0.75
    """
    return counts[name] / max(counts.total(), 1)
