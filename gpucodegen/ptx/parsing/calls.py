"""Calls of device functions, replaced by the functions' instructions.

Comes in: a kernel and the functions of its module.  Goes out: the kernel without calls
of functions that are known; parameters of calls have become registers.  External,
indirect and recursive calls stay; the translation refuses those that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from gpucodegen.ptx.parsing.entries import Entry, Instruction, Parameter
from gpucodegen.ptx.parsing.text import members, split
from gpucodegen.ptx.types import DTYPES, dtype

_WORD = re.compile(r"%?[\w$]+")
_SLOT = re.compile(r"\[([\w$]+)(?:\+(\d+))?\]")
Renaming = Callable[[str], str]


def inlined(entry: Entry, functions: Mapping[str, Entry]) -> None:
    """Replace the calls in a kernel, and those in what they call."""
    if any(x.opcode == "call" for x in entry.instructions):
        _Inliner(entry, functions).run()


def slot_register(place: str, start: int, size: int) -> str:
    """The register that stands for bytes of a parameter of a call.

    >>> slot_register("param0", 8, 4)
    '%slot_param0_8_w32_'
    """
    return f"%slot_{place}_{start}_w{8 * size}_"


class _Inliner:
    """The kernel that is rewritten, and what has become of it so far."""

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
        """Append a body under other names.

        ``slots`` maps the names of its parameters to those at the call (to nothing:
        a kernel's own, which stay), ``end`` is where a ``ret`` goes.
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
        """Append an instruction; operands that are given have their names already."""
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
        """Append the body of the function that is called, if it is known."""
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
        """Append moves of the parameters that are registers."""
        for target, source, parameter in moves:
            if parameter.in_register:
                kind = "pred" if parameter.type == "pred" else f"b{8 * parameter.size}"
                self._append(x, rename, "mov", (kind,), (target, source))

    def _adopt(self, body: Entry, prefix: str) -> None:
        """Declare a function's registers and local arrays in the kernel."""
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
        """Append moves from or to the registers that stand for a call's parameters."""
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
    """A name of the function's as the kernel has it; ``%`` stays in front."""
    return f"%{prefix}{name[1:]}" if name.startswith("%") else prefix + name


def _prefixed(body: Entry, prefix: str) -> Renaming:
    """Other names for the registers, labels and arrays of a function's body."""

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
