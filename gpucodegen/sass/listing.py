"""A disassembled kernel: its instructions, and the loops that branches back make."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
        """The instructions of each loop, those of the loops inside it included."""
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
    """Branches to places before them."""
    found: dict[int, int] = {}
    for number, x in enumerate(instructions):
        target = _TARGET.search(x.operands) if x.opcode == "BRA" else None
        first = labels.get(target[0], number + 1) if target else number + 1
        if first <= number:
            found[first] = number
    return sorted(found.items())
