"""What the text says of one kernel: parameters, registers, variables, instructions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from gpucodegen.ptx.faults import SourceLocation
from gpucodegen.ptx.parsing.text import split
from gpucodegen.ptx.types import align, garbage, storage

_PREDICATED = re.compile(r"@(!?)\s*(%?[\w$]+)\s+")
_NUMBERED = re.compile(r"(.*?)(\d+)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; ``index`` is its place in the kernel, ``line`` in the text."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    predicate: str
    negated: bool
    index: int
    line: int
    location: SourceLocation | None
    text: str

    @staticmethod
    def of(
        text: str, index: int, line: int, location: SourceLocation | None
    ) -> Instruction:
        """An instruction from its text.

        >>> x = Instruction.of("@!%p1 add.s32 %r1, %r2, 1", 0, 1, None)
        >>> x.opcode, x.modifiers, x.operands, x.predicate, x.negated
        ('add', ('s32',), ('%r1', '%r2', '1'), '%p1', True)
        """
        guard = _PREDICATED.match(text)
        head, _, rest = (text[guard.end() :] if guard else text).partition(" ")
        opcode, *modifiers = head.replace("::", ":").split(".")
        return Instruction(
            opcode,
            tuple(modifiers),
            split(rest),
            guard[2] if guard else "",
            bool(guard and guard[1]),
            index,
            line,
            location,
            text,
        )

    @property
    def name(self) -> str:
        """Opcode and modifiers."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Parameter:
    """One kernel parameter in the packed block of parameters; sizes in bytes.

    Parameters of a device function may be registers.
    """

    name: str
    type: str
    offset: int
    size: int
    alignment: int
    in_register: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """An array in shared or local memory; ``offset`` counts from the space's start."""

    name: str
    offset: int
    size: int
    alignment: int


@dataclass(slots=True)
class SpaceLayout:
    """The variables of one kernel in one space, laid out in their order."""

    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    size: int = 0

    def place(self, name: str, size: int, alignment: int) -> None:
        """Add a variable after the others."""
        offset = align(self.size, alignment)
        self.variables[name] = Variable(name, offset, size, alignment)
        self.size = offset + size


@dataclass(slots=True)
class RegisterFile:
    """Declared registers; one gets its number when an instruction first names it."""

    single: dict[str, str] = field(default_factory=dict[str, str])
    families: dict[str, str] = field(default_factory=dict[str, str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    storage: list[str] = field(default_factory=list[str])

    def number(self, name: str) -> int | None:
        """The number of a register, or None if the name is none.

        >>> registers = RegisterFile(families={"%r": "b32"})
        >>> registers.number("%r7"), registers.number("%tid.x"), registers.storage
        (0, None, ['i4'])
        """
        known = self.numbers.get(name)
        if known is not None:
            return known
        declared = self.single.get(name)
        if declared is None:
            parts = _NUMBERED.fullmatch(name)
            declared = self.families.get(parts[1]) if parts else None
        if declared is None:
            return None
        self.numbers[name] = len(self.storage)
        self.storage.append(storage(declared))
        return self.numbers[name]

    def unwritten(self) -> list[Any]:
        """The registers of lanes that start: garbage, as in hardware."""
        return [garbage(kind) for kind in self.storage]


@dataclass(slots=True)
class Entry:
    """A kernel of a module: what a launch must respect, and what it executes."""

    name: str
    parameters: tuple[Parameter, ...]
    block_limit: tuple[int, ...] | None
    """What ``.maxntid`` or ``.reqntid`` say, if anything."""
    cluster: tuple[int, ...] | None = None
    """Blocks of a cluster along x, y, z, if the text says."""
    results: tuple[Parameter, ...] = ()
    """What a device function returns; a kernel returns nothing."""
    target: str = ""
    shared: SpaceLayout = field(default_factory=SpaceLayout)
    local: SpaceLayout = field(default_factory=SpaceLayout)
    registers: RegisterFile = field(default_factory=RegisterFile)
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    targets: dict[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    """Lists of labels among which an indirect branch chooses."""

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a block."""
        return self.shared.size

    @property
    def parameter_bytes(self) -> int:
        """Length of the packed block of parameters."""
        return max((p.offset + p.size for p in self.parameters), default=0)

    @property
    def max_threads(self) -> int | None:
        """The largest block that the text allows, None if it does not say."""
        if self.block_limit is None:
            return None
        threads = 1
        for extent in self.block_limit:
            threads *= extent
        return threads
