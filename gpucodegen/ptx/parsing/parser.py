"""PTX text into entries and module variables.

Comes in: the text of a module.  Goes out: a `ParsedModule` with one `Entry` for each
kernel, whose shared memory is laid out, and the initial contents of ``.global`` and
``.const`` variables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod

import numpy as np

from gpucodegen.ptx.faults import SourceLocation
from gpucodegen.ptx.parsing.calls import inlined
from gpucodegen.ptx.parsing.constants import constant
from gpucodegen.ptx.parsing.entries import Entry, Instruction, Parameter
from gpucodegen.ptx.parsing.text import TextStatement, split, statements
from gpucodegen.ptx.types import Array, align, dtype

_HEADER = re.compile(
    r".*?\.(entry|func)\s+(?:\(([^)]*)\)\s*)?([\w$]+)\s*(?:\(([^)]*)\))?(.*)"
)
_PARAMETER = re.compile(
    r"\.(param|reg)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\s+.*?)?(%?[\w$]+)(?:\[(\d+)\])?"
)
_BLOCK_LIMIT = re.compile(r"\.(?:max|req)ntid\s+([\d, ]+)")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+([\d, ]+)")
_VARIABLE = re.compile(
    r"(?:\.\w+ )*?\.(shared|local|global|const)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
    r"([\w$]+)\s*((?:\[\d*\])*)\s*(?:=\s*(.*))?"
)
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)")
_FAMILY = re.compile(r"(%?[\w$%]+)<(\d+)>")
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Loose:
    """A shared array outside all kernels; those that name it get it."""

    name: str
    size: int
    alignment: int


@dataclass(slots=True)
class ParsedModule:
    """A parsed module."""

    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    variables: dict[str, Array] = field(default_factory=dict[str, Array])
    target: str = ""


class ModuleParser:
    """Reads one module, statement by statement."""

    def __init__(self, text: str, weak_alignment: bool = False) -> None:
        self.weak_alignment = weak_alignment
        self.parsed = ParsedModule()
        self.functions: dict[str, Entry] = {}
        self.files: dict[str, str] = dict(_FILE.findall(text))
        self.loose: list[Loose] = []
        self.entry: Entry | None = None
        self.pending: Entry | None = None
        self.scopes: list[dict[str, str]] = []
        self.location: SourceLocation | None = None
        self.renamed = 0
        handlers = {
            "open": self._open,
            "close": self._close,
            "label": self._label,
            "line": self._line,
            "header": self._header,
            "statement": self._statement,
        }
        for statement in statements(text):
            handlers[statement.kind](statement)
        for entry in self.parsed.entries.values():
            entry.target = self.parsed.target
            inlined(entry, self.functions)
            self._lay_out(entry)

    def _open(self, _: TextStatement) -> None:
        if self.pending is not None:
            self.entry, self.pending = self.pending, None
        self.scopes.append({})

    def _close(self, _: TextStatement) -> None:
        self.scopes.pop()
        if not self.scopes:
            self.entry = None

    def _label(self, statement: TextStatement) -> None:
        assert self.entry is not None
        name = self._in_scope(statement.text)
        self.entry.labels[name] = len(self.entry.instructions)

    def _line(self, statement: TextStatement) -> None:
        word, _, rest = statement.text.partition(" ")
        if word == ".target":
            self.parsed.target = rest.partition(",")[0].strip()
        elif (found := _LOC.match(statement.text)) is not None:
            file = self.files.get(found[1], found[1])
            self.location = SourceLocation(file, int(found[2]), int(found[3] or 0))

    def _header(self, statement: TextStatement) -> None:
        found = _HEADER.fullmatch(statement.text)
        assert found is not None, statement
        kind, results, name, parameters, attributes = found.groups()
        limit = _BLOCK_LIMIT.search(attributes)
        extents = tuple(map(int, split(limit[1]))) if limit else None
        entry = Entry(name, _parameters(parameters or ""), extents)
        if (cluster := _CLUSTER.search(attributes)) is not None:
            entry.cluster = tuple(map(int, split(cluster[1])))
        entry.results = _parameters(results or "")
        for given in (*entry.results, *entry.parameters):
            if given.in_register:
                entry.registers.single[given.name] = given.type
        self.location = None
        if "extern" in statement.text.split(f".{kind}")[0]:
            return
        self.pending = entry
        bodies = self.parsed.entries if kind == "entry" else self.functions
        bodies[name] = entry

    def _statement(self, statement: TextStatement) -> None:
        text = statement.text
        if not text.startswith("."):
            assert self.entry is not None, statement
            index = len(self.entry.instructions)
            self.entry.instructions.append(
                Instruction.of(
                    self._in_scope(text), index, statement.line, self.location
                )
            )
        elif text.startswith(".branchtargets"):
            self._branch_targets(text)
        elif (registers := _REGISTERS.fullmatch(text)) is not None:
            self._declare(registers[1], split(registers[2]))
        elif (variable := _VARIABLE.fullmatch(text)) is not None:
            self._variable(variable)

    def _branch_targets(self, text: str) -> None:
        """A list of labels under the label before it."""
        assert self.entry is not None
        name = list(self.entry.labels)[-1]
        labels = split(self._in_scope(text.partition(" ")[2]))
        self.entry.targets[name] = labels

    def _declare(self, kind: str, names: tuple[str, ...]) -> None:
        assert self.entry is not None
        registers = self.entry.registers
        for name in names:
            family = _FAMILY.fullmatch(name)
            if family is not None:
                registers.families[family[1]] = kind
            elif len(self.scopes) > 1:  # of an inline block: such names may repeat
                self.renamed += 1
                inner = f"{name}_in{self.renamed}_"
                self.scopes[-1][name] = inner
                registers.single[inner] = kind
            else:
                registers.single[name] = kind

    def _in_scope(self, text: str) -> str:
        for names in self.scopes[1:]:
            for outer, inner in names.items():
                word = rf"(?<![\w%$]){re.escape(outer)}(?![\w$])"
                text = re.sub(word, lambda _, inner=inner: inner, text)
        return text

    def _variable(self, found: re.Match[str]) -> None:
        space, alignment, kind, name, extent, values = found.groups()
        each = dtype(kind)
        count = prod(int(n or 0) for n in re.findall(r"\[(\d*)\]", extent))
        aligned = int(alignment or each.itemsize)
        if space in ("global", "const"):
            data = np.zeros(max(1, count), each)
            known = [constant(v, each) for v in re.findall(r"[-\w.+]+", values or "")]
            data[: len(known)] = known
            self.parsed.variables[name] = data
        elif self.entry is None:
            self.loose.append(Loose(name, count * each.itemsize, aligned))
        else:
            self._place(self.entry, space, name, count * each.itemsize, aligned)

    def _place(
        self, entry: Entry, space: str, name: str, size: int, alignment: int
    ) -> None:
        where = entry.shared if space == "shared" else entry.local
        if self.weak_alignment and align(where.size, alignment) % (2 * alignment) == 0:
            where.size = align(where.size, alignment) + alignment
        where.place(name, size, alignment)

    def _lay_out(self, entry: Entry) -> None:
        """Place the loose shared arrays; dynamic memory, which has no size, comes last.

        Its users find it after everything else.
        """
        if not self.loose:
            return
        text = " ".join(x.text for x in entry.instructions)
        words = set(re.findall(r"[\w$]+", text))
        for array in sorted(self.loose, key=lambda array: array.size == 0):
            if array.name in words:
                self._place(entry, "shared", array.name, array.size, array.alignment)


def _parameters(text: str) -> tuple[Parameter, ...]:
    """The packed block of parameters: each at the next multiple of its alignment."""
    made: list[Parameter] = []
    offset = 0
    for declared in split(text):
        found = _PARAMETER.fullmatch(declared)
        if found is None:
            continue
        space, alignment, kind, name, extent = found.groups()
        size = dtype(kind).itemsize * int(extent or 1)
        aligned = int(alignment or dtype(kind).itemsize)
        offset = align(offset, aligned)
        made.append(Parameter(name, kind, offset, size, aligned, space == "reg"))
        offset += size
    return tuple(made)
