"""Operands of instructions as Python expressions, and results as assignments.

Comes in: one kernel and the variables of its module.  Goes out: text of expressions
over the names that generated functions know: ``R`` (registers), ``S`` (the batch that
runs), ``q`` (the mask of the instruction) and constants made here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.parsing.constants import integer, real, word
from gpucodegen.ptx.parsing.entries import Entry
from gpucodegen.ptx.translation.sites import (
    LOCAL_WINDOW,
    PARAMETER_WINDOW,
    SHARED_START,
    SHARED_WINDOW,
)
from gpucodegen.ptx.translation.special import SPECIAL
from gpucodegen.ptx.types import dtype


class Untranslatable(Exception):
    """An instruction cannot be translated; the text says why."""


class Write(NamedTuple):
    """An assignment to a register, under the mask if there is one."""

    register: int
    value: str


Line = str | Write
"""A line of a generated function."""

_ADDRESS = re.compile(r"\[\s*(%?[\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]")
_SYMBOL = re.compile(r"([\w$]+)(?:\+(\d+))?")


def address_parts(operand: str) -> tuple[str, int]:
    """Register or variable, and offset in bytes, of an operand in brackets."""
    found = _ADDRESS.fullmatch(operand)
    if found is None:
        raise Untranslatable(f"address {operand}")
    return found[1], int(found[2] or "0", 0)


def short(kind: np.dtype[Any]) -> str:
    """NumPy's shortest name of a type.

    >>> short(np.dtype("float32")), short(np.dtype("bool"))
    ('f4', '?')
    """
    return kind.str[1:] if kind.kind != "b" else "?"


def recast(value: str, have: np.dtype[Any], want: np.dtype[Any]) -> str:
    """The same bits, or as many of them as the narrower type has."""
    if have == want:
        return value
    if have.itemsize == want.itemsize and "b" not in have.kind + want.kind:
        return f"{value}.view({short(want)!r})"
    if want.kind == "f":
        return f"{value}.astype('i{want.itemsize}').view({short(want)!r})"
    if have.kind == "f":
        return f"{value}.view('i{have.itemsize}').astype({short(want)!r})"
    return f"{value}.astype({short(want)!r})"


@dataclass(slots=True)
class OperandText:
    """Reads and writes operands of one kernel's instructions."""

    entry: Entry
    variables: Collection[str]
    constants: dict[str, Any] = field(default_factory=dict[str, Any])
    known: dict[tuple[str, Any], str] = field(
        default_factory=dict[tuple[str, Any], str]
    )

    def constant(self, value: Any) -> str:
        """The name of any constant."""
        name = f"K{len(self.constants)}"
        self.constants[name] = value
        return name

    def number(self, value: float, kind: np.dtype[Any]) -> str:
        """The name of a NumPy scalar; integers are taken modulo their width."""
        key = short(kind), repr(value)
        if key not in self.known:
            whole = kind.kind in "iu"
            made = word(int(value), kind) if whole else kind.type(value)
            self.known[key] = self.constant(made)
        return self.known[key]

    def read(self, operand: str, kind: str) -> str:
        """An operand as an expression of a PTX type."""
        want = dtype(kind)
        register = self.entry.registers.number(operand)
        if register is not None:
            have = np.dtype(self.entry.registers.storage[register])
            return recast(f"R[{register}]", have, want)
        if operand[0] in "-!" and not operand[1:2].isdigit():
            sign = "~" if operand[0] == "!" else "-"
            return f"({sign}{self.read(operand[1:], kind)})"
        if operand in SPECIAL:
            value = f"S.special({operand!r})"
            return recast(value, np.dtype(SPECIAL[operand].dtype), want)
        return self._literal(operand, want) or self._symbol(operand, want)

    def _literal(self, text: str, want: np.dtype[Any]) -> str:
        number, value = integer(text), real(text)
        if number is not None:
            if want.kind == "f":  # the bits of it
                return self.number(word(number, want), want)
            return self.number(number, want)
        if value is None:
            return ""
        if want.kind == "f":
            return self.number(value[0], want)
        have = np.dtype(f"f{value[1]}")
        return recast(self.number(value[0], have), have, want)

    def _symbol(self, text: str, want: np.dtype[Any]) -> str:
        found = _SYMBOL.fullmatch(text)
        if found is None:
            raise Untranslatable(f"operand {text}")
        name, offset = found[1], int(found[2] or 0)
        if name in self.entry.shared.variables:
            start = SHARED_START + self.entry.shared.variables[name].offset
            return self.number(start + offset, want)
        if name in self.entry.local.variables:
            return self.number(self.entry.local.variables[name].offset + offset, want)
        for parameter in self.entry.parameters:
            if parameter.name == name:
                return self.number(parameter.offset + offset, want)
        if name in self.variables:
            return f"(S.symbols[{name!r}] + {self.number(offset, np.dtype('i8'))})"
        raise Untranslatable(f"unknown name {name}")

    def predicate(self, operand: str) -> str:
        """A predicate, which may stand negated or as a number."""
        if operand.isdigit():
            return "np.True_" if int(operand) else "np.False_"
        return self.read(operand, "pred")

    def address(self, operand: str) -> tuple[str, int]:
        """Expression and offset of an operand in brackets."""
        name, offset = address_parts(operand)
        register = self.entry.registers.number(name)
        if register is None:
            return self.read(name, "s64"), offset
        if self.entry.registers.storage[register] == "i8":
            return f"R[{register}]", offset
        return f"R[{register}].view('u4').astype('i8')", offset

    def write(self, register: str, value: str, kind: str) -> Line:
        """A result of a PTX type into a register; ``_`` takes it nowhere."""
        if register == "_":
            return value
        number = self.entry.registers.number(register)
        if number is None:
            raise Untranslatable(f"destination {register}")
        want = np.dtype(self.entry.registers.storage[number])
        return Write(number, recast(f"({value})", dtype(kind), want))


WINDOWS = {
    "shared": SHARED_WINDOW,
    "local": LOCAL_WINDOW,
    "param": PARAMETER_WINDOW,
}
"""What is added to an address of a space to make it generic."""
RANGES = {
    "shared": (SHARED_WINDOW, LOCAL_WINDOW),
    "local": (LOCAL_WINDOW, PARAMETER_WINDOW),
    "param": (PARAMETER_WINDOW, PARAMETER_WINDOW + SHARED_WINDOW),
    "global": (BASE, 1 << 62),
    "const": (BASE, 1 << 62),
}
"""The generic addresses of each space."""
