"""The slice of a kernel on which its accesses, control flow and synchronisation depend.

It is the backward program slice (Weiser, 1981) from every address, condition and
operand of a synchronising instruction.  A launch that is only counted executes the
slice: the other instructions cannot change which basic blocks run and which addresses
they access.  The slice does not distinguish definitions of one register, nor cells of
one state space, so it may hold too much, never too little.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field
from enum import Enum

from gpucodegen.ptx.entries import Entry, Instruction
from gpucodegen.ptx.parser import SLOT
from gpucodegen.ptx.translation.arithmetic_rules import (
    COMPARISON_RULES,
    FLOAT_RULES,
    INTEGER_RULES,
)
from gpucodegen.ptx.translation.conversion_rules import CONVERSION_RULES
from gpucodegen.ptx.translation.operands import SPACES, chosen
from gpucodegen.records import dataclass

_REGISTER = re.compile(r"%[\w$]+")
_COMPUTE = frozenset(
    (*INTEGER_RULES, *COMPARISON_RULES, *CONVERSION_RULES, *FLOAT_RULES)
) | {"mma", "movmatrix", "shfl", "redux", "vote", "match", "createpolicy"}
"""Opcodes whose only effect is their result, the first operand."""
_CARRIES = frozenset(("addc", "subc", "madc"))
_LOADS = frozenset(("ld", "ldu", "ldmatrix"))
_STORES = frozenset(("st", "stmatrix", "red"))
EVERY = frozenset(("global", "shared", "local"))
"""The state spaces whose contents stores change."""


class Role(Enum):
    """What a counted launch does with an instruction."""

    EXECUTED = "executed"
    COUNTED = "counted"
    LEFT_OUT = "left out"


def spaces_of(x: Instruction) -> frozenset[str]:
    """The state spaces that a load, store or atomic may access."""
    if x.opcode in ("ldmatrix", "stmatrix", "wgmma"):
        return frozenset(("shared",))
    named = chosen(x.modifiers, SPACES, "generic").partition(":")[0]
    alike = {"const": "global", "cluster": "shared"}
    return EVERY if named == "generic" else frozenset((alike.get(named, named),))


def is_copy(x: Instruction) -> bool:
    """Whether it starts a ``cp.async`` of each lane, not by the copy engine."""
    return x.opcode == "cp" and "bulk" not in x.modifiers and len(x.operands) > 1


def _is_product(x: Instruction) -> bool:
    return x.opcode == "wgmma" and "mma_async" in x.modifiers


def _computes(x: Instruction) -> bool:
    """Whether its only effect is its result."""
    if x.opcode in _LOADS:
        return "param" in spaces_of(x)
    hidden = x.opcode in _CARRIES or "cc" in x.modifiers
    return _is_product(x) or (x.opcode in _COMPUTE and not hidden)


def _accesses(x: Instruction) -> bool:
    """Whether it loads, stores or updates memory for its own lanes, at once."""
    if "async" in x.modifiers or _computes(x):
        return False
    return x.opcode in _LOADS or x.opcode in _STORES or x.opcode == "atom"


def _registers(operands: Iterable[str]) -> set[str]:
    return {name for operand in operands for name in _REGISTER.findall(operand)}


def _targets(x: Instruction) -> set[str]:
    """The registers of its result."""
    if x.opcode in _STORES:
        return set()
    return _registers(x.operands[:1])


def _place(x: Instruction) -> set[str]:
    """The registers of its address and of its guard."""
    place = x.operands[x.opcode in _LOADS or x.opcode == "atom"]
    return _registers((place, x.predicate))


@dataclass(frozen=True, slots=True)
class Slice:
    """The registers and the state spaces whose contents matter."""

    registers: frozenset[str]
    spaces: frozenset[str]
    has_products: bool
    """Whether the result of a ``wgmma`` matters."""

    def role(self, x: Instruction) -> Role:
        """The role of an instruction in a counted launch."""
        if x.opcode == "wgmma" and not _is_product(x):
            return Role.EXECUTED if self.has_products else Role.LEFT_OUT
        matters = not self.registers.isdisjoint(_targets(x))
        if _computes(x):
            return Role.EXECUTED if matters else Role.LEFT_OUT
        if _accesses(x):
            changes = x.opcode not in _LOADS and not self.spaces.isdisjoint(
                spaces_of(x)
            )
            return Role.EXECUTED if matters or changes else Role.COUNTED
        if is_copy(x) and "shared" not in self.spaces:
            return Role.COUNTED
        return Role.EXECUTED


@dataclass(slots=True)
class _Slicer:
    """The fixed point: registers and spaces that matter, and those to be followed."""

    registers: set[str] = field(default_factory=set[str])
    spaces: set[str] = field(default_factory=set[str])
    pending: list[str] = field(default_factory=list[str])

    def add(self, registers: Iterable[str]) -> None:
        new = set(registers) - self.registers
        self.registers |= new
        self.pending += new


def slice_of(entry: Entry) -> Slice:
    """The slice of a kernel."""
    found = _Slicer()
    definitions: defaultdict[str, list[Instruction]] = defaultdict(list)
    stores: list[Instruction] = []
    engine = any("bulk" in x.modifiers for x in entry.instructions)
    for x in entry.instructions:
        if _computes(x):
            pass
        elif _accesses(x):
            found.add(_place(x))
            if x.opcode not in _LOADS:
                stores.append(x)
        elif x.opcode != "wgmma":
            found.add(_registers((*x.operands, x.predicate)))
        if _computes(x) or _accesses(x):
            for name in _targets(x):
                definitions[name].append(x)
    if any(x.opcode == "call" for x in entry.instructions):
        found.add(name for name in definitions if name.startswith(SLOT))
    copies = engine or any(map(is_copy, entry.instructions))
    while found.pending:
        for x in definitions[found.pending.pop()]:
            found.add(_registers((*x.operands, x.predicate)))
            reads = x.opcode in _LOADS or x.opcode == "atom" or _is_product(x)
            new = spaces_of(x) & EVERY if reads else frozenset[str]()
            if copies and not new.isdisjoint(("global", "shared")):
                new |= {"global", "shared"}
            if new <= found.spaces:
                continue
            found.spaces |= new
            for store in stores:
                if not found.spaces.isdisjoint(spaces_of(store)):
                    found.add(_registers(store.operands))
    return Slice(
        frozenset(found.registers),
        frozenset(found.spaces),
        any(
            _is_product(x) and not found.registers.isdisjoint(_targets(x))
            for x in entry.instructions
        ),
    )
