"""MLIR text of scalar operations by name, for every kind of element."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.kernels.elements import BOOL, I64, Element
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """A number by its name."""

    name: str
    element: Element


BINARY: dict[str, dict[str, str]] = {
    "add": {"f": "arith.addf", "i": "arith.addi", "b": "arith.ori", "c": "complex.add"},
    "sub": {"f": "arith.subf", "i": "arith.subi", "c": "complex.sub"},
    "mul": {
        "f": "arith.mulf",
        "i": "arith.muli",
        "b": "arith.andi",
        "c": "complex.mul",
    },
    "div": {"f": "arith.divf", "c": "complex.div"},
    "max": {
        "f": "arith.maximumf",
        "i": "arith.maxsi",
        "u": "arith.maxui",
        "b": "arith.ori",
    },
    "min": {
        "f": "arith.minimumf",
        "i": "arith.minsi",
        "u": "arith.minui",
        "b": "arith.andi",
    },
    "rem": {"f": "arith.remf", "i": "arith.remsi", "u": "arith.remui"},
    "floordiv": {"i": "arith.floordivsi", "u": "arith.divui"},
    "pow": {"f": "math.powf", "c": "complex.pow", "i": "math.ipowi"},
    "atan2": {"f": "math.atan2"},
    "copysign": {"f": "math.copysign"},
    "and": {"i": "arith.andi", "b": "arith.andi"},
    "or": {"i": "arith.ori", "b": "arith.ori"},
    "xor": {"i": "arith.xori", "b": "arith.xori"},
    "shl": {"i": "arith.shli"},
    "shr": {"i": "arith.shrsi", "u": "arith.shrui"},
}
"""Binary function -> operation for each kind; u defaults to i."""
_BOTH = "exp log sin cos tan tanh sqrt rsqrt expm1"
_FLOAT = """log2 log10 log1p exp2 erf ceil floor trunc roundeven asin acos atan sinh
            cosh asinh acosh atanh cbrt"""
UNARY: dict[str, dict[str, str]] = {
    **{name: {"f": f"math.{name}", "c": f"complex.{name}"} for name in _BOTH.split()},
    **{name: {"f": f"math.{name}"} for name in _FLOAT.split()},
    "neg": {"f": "arith.negf", "c": "complex.neg"},
    "abs": {"f": "math.absf", "i": "math.absi"},
}
"""Unary function -> operation for each kind."""
_ORDER = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_WORDS = {16: "<e", 32: "<f", 64: "<d"}


@dataclass(slots=True)
class Scalars:
    """Lines under construction; ``head`` precedes all ``lines``."""

    head: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    known: dict[str, str] = field(default_factory=dict[str, str])
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count - 1}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def once(self, text: str) -> str:
        """A value computed once, in the head."""
        if text not in self.known:
            self.known[text] = self.fresh()
            self.head.append(f"{self.known[text]} = {text}")
        return self.known[text]

    def constant(self, value: complex, element: Element) -> Value:
        """A constant; of narrow floats, rounded to their type."""
        return Value(self.once(_constant(value, element)), element)

    def _made(self, text: str, element: Element) -> Value:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return Value(name, element)

    def binary(self, name: str, x: Value, y: Value, *, free: bool = False) -> Value:
        """A binary operation; ``free``: sums may be reassociated."""
        op = _of_kind(BINARY, name, x.element)
        is_sum = free and x.element.kind == "f" and name in {"add", "mul"}
        flags = " fastmath<reassoc>" if is_sum else ""
        return self._made(
            f"{op} {x.name}, {y.name}{flags} : {x.element.mlir}", x.element
        )

    def unary(self, name: str, x: Value) -> Value:
        if name == "abs" and x.element.kind in "ub":
            return x
        if name == "abs" and x.element.kind == "c":
            return self._made(
                f"complex.abs {x.name} : {x.element.mlir}", x.element.part
            )
        if name == "neg" and x.element.kind in "iu":
            return self.binary("sub", self.constant(0, x.element), x)
        op = _of_kind(UNARY, name, x.element)
        return self._made(f"{op} {x.name} : {x.element.mlir}", x.element)

    def compared(self, name: str, x: Value, y: Value) -> Value:
        """``eq ne lt le gt ge``; with NaN only ``ne`` is true."""
        element = x.element
        if element.kind == "c":
            op = {"eq": "complex.eq", "ne": "complex.neq"}[name]
            return self._made(f"{op} {x.name}, {y.name} : {element.mlir}", BOOL)
        if element.kind == "f":
            predicate = {"eq": "oeq", "ne": "une"}.get(name, f"o{name}")
        else:
            sign = "s" if element.kind == "i" else "u"
            predicate = f"{sign}{name}" if name in _ORDER else name
        op = "cmpf" if element.kind == "f" else "cmpi"
        where = f"{x.name}, {y.name} : {element.mlir}"
        return self._made(f"arith.{op} {predicate}, {where}", BOOL)

    def is_nan(self, x: Value) -> Value:
        where = f"{x.name}, {x.name} : {x.element.mlir}"
        return self._made(f"arith.cmpf uno, {where}", BOOL)

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        """``x`` if the condition holds, else ``y``."""
        names = f"{condition.name}, {x.name}, {y.name}"
        return self._made(f"arith.select {names} : {x.element.mlir}", x.element)

    def at_index(self, index: str, element: Element) -> Value:
        where = f"{index} : index to {element.mlir}"
        return self._made(f"arith.index_cast {where}", element)

    def at_index_once(self, index: str) -> Value:
        """An index of the head as a number."""
        return Value(self.once(f"arith.index_cast {index} : index to i64"), I64)

    def cast(self, x: Value, element: Element) -> Value:
        """A number in another type, as NumPy converts it."""
        old = x.element
        if old.mlir == element.mlir:
            return Value(x.name, element)
        if element.kind == "c":
            return self._to_complex(x, element)
        if element.kind == "b":
            return self.compared("ne", x, self.constant(0, old))
        if "f" in old.kind + element.kind and "c" not in old.kind:
            wide = old.computed if old.kind == "f" else element.computed
            if wide.mlir not in {old.mlir, element.mlir}:  # by way of f32
                return self.cast(self.cast(x, wide), element)
        op = _cast(old, element)
        return self._made(f"{op} {x.name} : {old.mlir} to {element.mlir}", element)

    def cast_once(self, x: Value, element: Element) -> Value:
        """A real number of the head, converted to another type there."""
        if element.kind != "c":
            return Value(x.name, element)
        zero = self.constant(0, element.part)
        line = f"complex.create {x.name}, {zero.name} : {element.mlir}"
        return Value(self.once(line), element)

    def _to_complex(self, x: Value, element: Element) -> Value:
        ty, part = element.mlir, element.part
        if x.element.kind != "c":
            real, zero = self.cast(x, part), self.constant(0, part)
            return self._made(
                f"complex.create {real.name}, {zero.name} : {ty}", element
            )
        old = x.element
        parts = [
            self.cast(self._made(f"complex.{p} {x.name} : {old.mlir}", old.part), part)
            for p in ("re", "im")
        ]
        names = ", ".join(p.name for p in parts)
        return self._made(f"complex.create {names} : {ty}", element)

    def total(self, name: str, values: Sequence[Value]) -> Value:
        """Values combined from the left."""
        first, *rest = values
        for value in rest:
            first = self.binary(name, first, value)
        return first


def has(table: dict[str, dict[str, str]], name: str, kind: str) -> bool:
    """Whether a table has a function for a kind of number.

    >>> has(BINARY, "div", "f"), has(BINARY, "div", "i"), has(BINARY, "and", "u")
    (True, False, True)
    """
    return kind in table[name] or (kind == "u" and "i" in table[name])


def _of_kind(table: dict[str, dict[str, str]], name: str, element: Element) -> str:
    if not has(table, name, element.kind):
        raise errors.WrongDtype(
            function=name,
            argument="x",
            expected="numbers of another kind",
            actual=element.dtype,
        )
    return table[name].get(element.kind) or table[name]["i"]


def _cast(old: Element, new: Element) -> str:
    """The operation from one real type to another."""
    match old.kind, new.kind:
        case "f", "f":
            return "arith.extf" if new.bits > old.bits else "arith.truncf"
        case "f", kind:
            return "arith.fptosi" if kind == "i" else "arith.fptoui"
        case kind, "f":
            return "arith.sitofp" if kind == "i" else "arith.uitofp"
        case _ if old.mlir == "index" or new.mlir == "index":
            return "arith.index_cast" if old.kind == "i" else "arith.index_castui"
        case kind, _ if new.bits > old.bits:
            return "arith.extsi" if kind == "i" else "arith.extui"
        case _:
            return "arith.trunci"


def _constant(value: complex, element: Element) -> str:
    if element.kind == "c":
        value, part = complex(value), element.part
        parts = [_number(part_of, part) for part_of in (value.real, value.imag)]
        inner = ", ".join(f"{number} : {part.mlir}" for number in parts)
        return f"complex.constant [{inner}] : {element.mlir}"
    if element.kind == "b":
        return f"arith.constant {'true' if value else 'false'}"
    return f"arith.constant {_number(value, element)} : {element.mlir}"


def _number(value: complex, element: Element) -> str:
    """A literal.

    >>> from gpucodegen.kernels.elements import F32, I32
    >>> _number(1e-5, F32), _number(float("inf"), F32), _number(-3, I32)
    ('1.0e-05', '0x7F800000', '-3')
    """
    assert not isinstance(value, complex)
    if element.kind != "f":
        number = int(value)
        half = 1 << (element.bits - 1)
        return str(
            number - 2 * half if element.kind == "u" and number >= half else number
        )
    if not math.isfinite(value):
        bits = struct.pack(_WORDS[element.bits], value)[::-1]
        return f"0x{bits.hex().upper()}"
    digits, mark, exponent = repr(float(value)).partition("e")
    return f"{digits}{'' if '.' in digits else '.0'}{mark}{exponent}"
