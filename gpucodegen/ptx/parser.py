"""PTX parser: module text to kernel entries and variables, with calls inlined.

The result is a `ParsedModule` with one `Entry` for each kernel, whose shared memory is
laid out, and the initial contents of ``.global`` and ``.const`` variables. `inlined`
replaces calls of known device functions by their instructions; the parameters of calls
become registers.  External, indirect and recursive calls stay; the translation refuses
those that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from math import prod

import numpy as np

from gpucodegen.ptx.entries import (
    Entry,
    Instruction,
    Parameter,
    TextStatement,
    constant,
    members,
    split,
    statements,
)
from gpucodegen.ptx.faults import SourceLocation
from gpucodegen.ptx.types import DTYPES, Array, align, dtype
from gpucodegen.records import dataclass

_WORD = re.compile(r"%?[\w$]+")
_SLOT = re.compile(r"\[([\w$]+)(?:\+(\d+))?\]")
Renaming = Callable[[str], str]


def inlined(entry: Entry, functions: Mapping[str, Entry]) -> None:
    """Inlines the calls in a kernel, and those in the called functions."""
    if any(x.opcode == "call" for x in entry.instructions):
        _Inliner(entry, functions).run()


SLOT = "%slot_"
"""The beginning of the names of such registers."""


def slot_register(place: str, start: int, size: int) -> str:
    """The register that holds bytes of a call's parameter.

    >>> slot_register("param0", 8, 4)
    '%slot_param0_8_w32_'
    """
    return f"{SLOT}{place}_{start}_w{8 * size}_"


class _Inliner:
    """The kernel that is rewritten, and the instructions so far."""

    def __init__(self, entry: Entry, functions: Mapping[str, Entry]) -> None:
        self.entry, self.functions = entry, functions
        self.made: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.calls = 0

    def run(self) -> None:
        """Rewrite the kernel in place."""
        kept = {p.name for p in self.entry.parameters}
        self._copy(self.entry, str, dict.fromkeys(kept, ""), "", ())
        self.entry.instructions[:] = self.made
        self.entry.labels.clear()
        self.entry.labels.update(self.labels)

    def _copy(
        self,
        body: Entry,
        rename: Renaming,
        slots: Mapping[str, str],
        end: str,
        callers: tuple[str, ...],
    ) -> None:
        """Appends a renamed body.

        ``slots`` maps the names of its parameters to those at the call, and a kernel's
        own parameters, which stay, to ""; ``ret`` branches to ``end``.
        """
        labels: dict[int, list[str]] = {}
        for label, index in body.labels.items():
            labels.setdefault(index, []).append(rename(label))
        for x in body.instructions:
            self._mark(labels.get(x.index, []))
            if x.opcode == "call" and self._called(x, rename, callers):
                continue
            if x.opcode == "ret" and end:
                self._append(x, rename, opcode="bra", modifiers=(), operands=(end,))
            elif x.opcode in ("ld", "st") and x.modifiers[:1] == ("param",):
                self._moved(x, rename, slots)
            else:
                self._append(x, rename)
        self._mark(labels.get(len(body.instructions), []))

    def _mark(self, labels: list[str]) -> None:
        for label in labels:
            self.labels[label] = len(self.made)

    def _append(
        self,
        x: Instruction,
        rename: Renaming,
        opcode: str = "",
        modifiers: tuple[str, ...] | None = None,
        operands: tuple[str, ...] | None = None,
    ) -> None:
        """Appends an instruction; given operands are already renamed."""
        own = tuple(_renamed(operand, rename) for operand in x.operands)
        new = replace(
            x,
            opcode=opcode or x.opcode,
            modifiers=x.modifiers if modifiers is None else modifiers,
            operands=own if operands is None else operands,
            predicate=rename(x.predicate),
            index=len(self.made),
        )
        self.made.append(new)

    def _called(
        self, x: Instruction, rename: Renaming, callers: tuple[str, ...]
    ) -> bool:
        """Appends the body of the called function, if it is known."""
        lists = [operand[1:-1] for operand in x.operands if operand.startswith("(")]
        results = split(lists[0]) if x.operands[0].startswith("(") else ()
        name = x.operands[1 if results else 0]
        given = split(lists[-1]) if len(lists) > bool(results) else ()
        body = self.functions.get(name)
        if body is None or name in callers:
            return False
        self.calls += 1
        prefix = f"call{self.calls}_"
        declared = (*body.results, *body.parameters)
        passed = [rename(slot) for slot in (*results, *given)]
        pairs = list(zip(declared, passed, strict=False))
        slots = {p.name: slot for p, slot in pairs if not p.in_register}
        self._adopt(body, prefix)
        skip = f"{prefix}end"
        if x.predicate:
            around = replace(x, negated=not x.negated)
            self._append(around, rename, "bra", (), (skip,))
        inner = _prefixed(body, prefix)
        arguments = pairs[len(results) :]
        self._pass(x, rename, [(inner(p.name), slot, p) for p, slot in arguments])
        self._copy(body, inner, slots, skip, (*callers, name))
        self._mark([skip])
        returned = pairs[: len(results)]
        self._pass(x, rename, [(slot, inner(p.name), p) for p, slot in returned])
        return True

    def _pass(
        self, x: Instruction, rename: Renaming, moves: list[tuple[str, str, Parameter]]
    ) -> None:
        """Appends moves of the parameters that are registers."""
        for target, source, parameter in moves:
            if parameter.in_register:
                kind = "pred" if parameter.type == "pred" else f"b{8 * parameter.size}"
                self._append(x, rename, "mov", (kind,), (target, source))

    def _adopt(self, body: Entry, prefix: str) -> None:
        """Declares a function's registers and local arrays in the kernel."""
        mine, its = self.entry.registers, body.registers
        for family, kind in its.families.items():
            mine.families[_with_prefix(family, prefix)] = kind
        for name, kind in its.single.items():
            mine.single[_with_prefix(name, prefix)] = kind
        for name, labels in body.targets.items():
            self.entry.targets[prefix + name] = tuple(prefix + n for n in labels)
        for variable in body.local.variables.values():
            self.entry.local.place(
                prefix + variable.name, variable.size, variable.alignment
            )

    def _moved(
        self, x: Instruction, rename: Renaming, slots: Mapping[str, str]
    ) -> None:
        """Appends moves from or to the registers that hold a call's parameters."""
        address, values = x.operands if x.opcode == "st" else x.operands[::-1]
        found = _SLOT.fullmatch(address)
        if found is None or slots.get(found[1]) == "":
            self._append(x, rename)
            return
        place = slots.get(found[1]) or rename(found[1])
        kind, start = x.modifiers[-1], int(found[2] or 0)
        size = dtype(kind).itemsize if kind in DTYPES else 0
        for i, value in enumerate(members(values)):
            slot = slot_register(place, start + i * size, size)
            self.entry.registers.single[slot] = f"b{8 * size}"
            own = _renamed(value, rename)
            pair = (slot, own) if x.opcode == "st" else (own, slot)
            self._append(x, rename, "mov", (kind,), pair)


def _with_prefix(name: str, prefix: str) -> str:
    """The name of a function's register in the kernel; ``%`` stays in front."""
    return f"%{prefix}{name[1:]}" if name.startswith("%") else prefix + name


def _prefixed(body: Entry, prefix: str) -> Renaming:
    """New names for the registers, labels and arrays of a function's body."""

    def rename(name: str) -> str:
        own = name in body.labels or name in body.local.variables
        if own or name.startswith(("param", "retval")):
            return prefix + name
        if name and body.registers.number(name) is not None:
            return _with_prefix(name, prefix)
        return name

    return rename


def _renamed(operand: str, rename: Renaming) -> str:
    return _WORD.sub(lambda word: rename(word[0]), operand)


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
    """A shared array outside all kernels; every kernel that names it gets it."""

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
        """Attaches a list of branch targets to the label before it."""
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
        """Places the module-level shared arrays; dynamic shared memory comes last.

        It has no declared size and begins behind all other arrays.
        """
        if not self.loose:
            return
        text = " ".join(x.text for x in entry.instructions)
        words = set(re.findall(r"[\w$]+", text))
        for array in sorted(self.loose, key=lambda array: array.size == 0):
            if array.name in words:
                self._place(entry, "shared", array.name, array.size, array.alignment)


def _parameters(text: str) -> tuple[Parameter, ...]:
    """The layout of the parameters: each at the next multiple of its alignment."""
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
