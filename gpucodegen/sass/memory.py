"""What machine code moves: widths of accesses, bytes that are under way at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gpucodegen.sass.listing import MachineInstruction

_BITS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128}
_ACCESSES = frozenset(("LDG", "LD", "LDS", "STG", "ST", "STS", "LDGSTS", "LDL", "STL"))
_REGISTER = re.compile(r"\bR(\d+)\b")
_PENDING = re.compile(r"SB\d+, 0x([0-9a-f]+)")


def bits(x: MachineInstruction) -> int:
    """What one thread moves with an access, 0 for another instruction.

    >>> bits(MachineInstruction(0, "", "LDG.E.128.CONSTANT", "R4, desc[UR4][R2.64]"))
    128
    """
    if x.opcode not in _ACCESSES:
        return 0
    return next((_BITS[part] for part in x.name.split(".") if part in _BITS), 32)


def widths(instructions: Sequence[MachineInstruction]) -> dict[str, Counter[int]]:
    """How many accesses of each opcode move so many bits."""
    found: dict[str, Counter[int]] = {}
    for x in instructions:
        if bits(x):
            found.setdefault(x.opcode, Counter())[bits(x)] += 1
    return found


def in_flight(instructions: Sequence[MachineInstruction]) -> int:
    """Most bytes from global memory that a thread has asked for and not yet used.

    The text is read from top to bottom, loops once.  A load is under way until an
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
