"""Kernel entries: parameters, registers, variables, instructions, and the tokenizer.

`statements` cuts module text into `TextStatement` records with line numbers: labels,
scopes, headers, directives, instructions.  `Entry` has the description of one kernel;
`constant` reads constants as NumPy scalars.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from gpucodegen.ptx.faults import SourceLocation
from gpucodegen.ptx.types import align, garbage, storage
from gpucodegen.records import dataclass

_INTEGER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
_DECIMAL = re.compile(
    r"-?(\d*\.\d+|\d+\.\d*)([eE][-+]?\d+)?|-?\d+[eE][-+]?\d+",
)
_HEX_FLOAT = re.compile(r"0([fF][0-9a-fA-F]{8}|[dD][0-9a-fA-F]{16})")


def integer(text: str) -> int | None:
    """An integer constant, or None.

    >>> integer("-0x10"), integer("017"), integer("%r1")
    (-16, 15, None)
    """
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    octal = found[2][0] == "0" and found[2].isdigit()
    number = int(found[2], 8 if octal else 0)
    return -number if found[1] else number


def real(text: str) -> tuple[float, int] | None:
    """A floating-point constant and its width in bytes, or None.

    >>> real("0f3F800000"), real("1.5"), real("7")
    ((1.0, 4), (1.5, 8), None)
    """
    if found := _HEX_FLOAT.fullmatch(text):
        single = found[1][0] in "fF"
        digits = bytes.fromhex(found[1][1:])
        number = struct.unpack(">f" if single else ">d", digits)[0]
        return number, 4 if single else 8
    return (float(text), 8) if _DECIMAL.fullmatch(text) else None


def word(number: int, kind: np.dtype[Any]) -> Any:
    """An integer as the bits of a type, modulo its width."""
    size = kind.itemsize
    return np.array(number % (1 << 8 * size), f"u{size}").view(kind)[()]


def constant(text: str, kind: np.dtype[Any]) -> Any:
    """A constant in a type; `ValueError` if it is no constant, such as an address.

    >>> constant("-1", np.dtype("u2")), constant("0f3F800000", np.dtype("f8"))
    (np.uint16(65535), np.float64(1.0))
    """
    number = integer(text)
    if number is not None and kind.kind != "f":
        return word(number, kind)
    given = real(text) if number is None else (float(number), kind.itemsize)
    if given is None:
        raise ValueError(f"no constant: {text}")
    value, size = given
    if kind.kind == "f":
        return kind.type(value)
    return np.array(value, f"f{size}").view(f"i{size}").astype(kind)[()]


class TextStatement(NamedTuple):
    """One statement: its kind, its text without the closing mark, and its line.

    Kinds are ``open`` and ``close`` (a scope's braces), ``label``, ``line`` (a
    directive that ends with its line), ``header`` (of a function) and ``statement``.
    """

    kind: str
    text: str
    line: int


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_STATEMENT = re.compile(
    r"""\s*(?:
      (?P<open>\{) | (?P<close>\})
    | \.section\s+\S+\s*\{[^}]*\}
    | (?P<line>\.(?:version|target|address_size|loc|file)\b[^\n]*)
    | (?P<header>(?:\.(?:visible|weak|extern)\s+)*\.(?:entry|func)\b[^{;]*)
    | (?P<label>[\w$]+)\s*:(?!:)
    | (?P<statement>[^;]*);
    )""",
    re.VERBOSE,
)


def statements(text: str) -> Iterator[TextStatement]:
    """The statements of a module in order, without comments.

    >>> [(s.kind, s.text) for s in statements("L: add.s32 %r1,  %r2, 1; // one")]
    [('label', 'L'), ('statement', 'add.s32 %r1, %r2, 1')]
    """
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    ends = [found.start() for found in re.finditer("\n", text)]
    at = 0
    while found := _STATEMENT.match(text, at):
        at = found.end()
        kind = found.lastgroup
        if kind is not None:
            words = " ".join(found[kind].split())
            if words:
                line = bisect_right(ends, found.start(kind)) + 1
                yield TextStatement(kind, words, line)


def split(text: str) -> tuple[str, ...]:
    """Comma-separated operands; those in braces, brackets or parentheses stay whole.

    >>> split("{%f1, %f2}, [%rd1+4]")
    ('{%f1, %f2}', '[%rd1+4]')
    """
    parts: list[str] = []
    depth, start = 0, 0
    for at, mark in enumerate(text):
        if mark in "{[(":
            depth += 1
        elif mark in "}])":
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return (*parts, last) if last else tuple(parts)


def members(operand: str) -> tuple[str, ...]:
    """The registers of a vector operand; a single operand is a vector of one.

    >>> members("{%f1, %f2}"), members("%f1")
    (('%f1', '%f2'), ('%f1',))
    """
    return split(operand[1:-1]) if operand.startswith("{") else (operand,)


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
    """The variables of one kernel in one space, laid out in order."""

    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    size: int = 0

    def place(self, name: str, size: int, alignment: int) -> None:
        """Adds a variable after the others."""
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
        """The number of a register, or None for other names.

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
        """Initial register contents: garbage, as in hardware."""
        return [garbage(kind) for kind in self.storage]


@dataclass(slots=True)
class Entry:
    """A kernel of a module: its launch limits and its instructions."""

    name: str
    parameters: tuple[Parameter, ...]
    block_limit: tuple[int, ...] | None
    """The limit of ``.maxntid`` or ``.reqntid``, if any."""
    cluster: tuple[int, ...] | None = None
    """Blocks of a cluster along x, y, z, if declared."""
    results: tuple[Parameter, ...] = ()
    """Results of a device function; a kernel has none."""
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
        """The largest block that the text allows, None if unlimited."""
        if self.block_limit is None:
            return None
        threads = 1
        for extent in self.block_limit:
            threads *= extent
        return threads
