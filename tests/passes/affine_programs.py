"""Random affine programs for hypothesis, as text, with arguments to run them on."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

SHAPES = {"A": (7,), "B": (5, 6), "C": (4,)}
TYPES = {
    name: f"memref<{'x'.join(map(str, shape))}xf64>" for name, shape in SHAPES.items()
}
HEADER = ", ".join(f"%{name}: {ty}" for name, ty in TYPES.items())


@dataclass(slots=True)
class Writer:
    """Builds one program; ``symbolic`` loops may end at arguments."""

    draw: st.DrawFn
    symbolic: bool
    carried: bool
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    rectangular: bool = False
    budget: int = 5
    arrays: tuple[str, ...] = tuple(SHAPES)

    def affine(self, names: list[str], low: int = -2, high: int = 2) -> str:
        terms = [str(self.draw(st.integers(low, high)))]
        for name in names:
            factor = self.draw(st.sampled_from([0, 1, 1, -1, 2]))
            if factor:
                terms.append(f"{name} * {factor}")
        return " + ".join(terms)

    def bound(self, names: list[str], low: int, high: int, word: str) -> str:
        """A number, an argument, a loop variable and a number, or two of them."""
        choices = ["number", "number", "several"]
        choices += ["argument"] if self.symbolic else []
        choices += ["variable"] if names else []
        kind = self.draw(st.sampled_from(choices))
        number = self.draw(st.integers(low, high))
        if kind == "number":
            return str(number)
        if kind == "argument":
            return "%n"
        other = names[-1] if names else "%n" if self.symbolic else None
        if other is None:
            return f"{word} affine_map<() -> ({number}, {number - 1})>()"
        exprs = f"d0 + {number}" if kind == "variable" else f"d0 + 1, {number}"
        prefix = "" if kind == "variable" else f"{word} "
        return f"{prefix}affine_map<(d0) -> ({exprs})>({other})"

    def subscripts(self, array: str, names: list[str]) -> str:
        """Inside the array, whatever the loops do."""
        return ", ".join(
            f"({self.affine(names)}) mod {extent}" for extent in SHAPES[array]
        )

    def array(self) -> str:
        return self.draw(st.sampled_from(self.arrays))

    def statement(self, names: list[str], extra: str = "") -> list[str]:
        """``X[..] = Y[..] * 1/2 + Z[..] + instance``, or an update of one cell."""
        n = next(self.numbers)
        target = self.array()
        at = self.subscripts(target, names)
        source, where = self.array(), ""
        if self.draw(st.booleans()):
            source, where = target, at
        where = where or self.subscripts(source, names)
        lines = [
            f"%mark{n} = affine.apply {_instance(n, names)}",
            f"%int{n} = arith.index_cast %mark{n} : index to i64",
            f"%own{n} = arith.sitofp %int{n} : i64 to f64",
            f"%x{n} = affine.load %{source}[{where}] : {TYPES[source]}",
            f"%half{n} = arith.mulf %x{n}, %c : f64",
            f"%y{n} = arith.addf %half{n}, %own{n} : f64",
        ]
        value = f"%y{n}"
        if extra:
            lines.append(f"%z{n} = arith.subf {value}, {extra} : f64")
            value = f"%z{n}"
        return [*lines, f"affine.store {value}, %{target}[{at}] : {TYPES[target]}"]

    def header(self, names: list[str]) -> tuple[str, str]:
        name = f"%i{next(self.numbers)}"
        names = [] if self.rectangular else names
        lower = self.bound(names, -2, 0 if self.rectangular else 2, "max")
        upper = self.bound(names, 2 if self.rectangular else -1, 4, "min")
        step = self.draw(st.sampled_from([1, 1, 2, 3]))
        return name, f"affine.for {name} = {lower} to {upper} step {step}"

    def loop(self, names: list[str], depth: int) -> list[str]:
        name, header = self.header(names)
        body = self.body([*names, name], depth + 1)
        return [f"{header} {{", *_indented(body), "}"]

    def reduction(self, names: list[str]) -> list[str]:
        """A loop that carries a value, and a statement that uses it."""
        n = next(self.numbers)
        name, header = self.header(names)
        source = self.array()
        where = self.subscripts(source, [*names, name])
        body = [
            f"%mark{n} = affine.apply {_instance(n, [*names, name])}",
            f"%v{n} = affine.load %{source}[{where}] : {TYPES[source]}",
            f"%d{n} = arith.mulf %a{n}, %c : f64",
            f"%s{n} = arith.addf %d{n}, %v{n} : f64",
            f"affine.yield %s{n} : f64",
        ]
        head = f"%r{n} = {header} iter_args(%a{n} = %c) -> (f64) {{"
        return [head, *_indented(body), "}", *self.statement(names, f"%r{n}")]

    def body(self, names: list[str], depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, 2 if depth else 3))):
            self.budget -= 1
            choices = ["statement", "statement", "if"] if names else []
            choices += ["loop", "loop"] if depth < 3 and self.budget > 0 else []
            choices += ["reduction"] if names and self.carried else []
            match self.draw(st.sampled_from(choices or ["loop"])):
                case "statement":
                    lines += self.statement(names)
                case "loop":
                    lines += self.loop(names, depth)
                case "reduction":
                    lines += self.reduction(names)
                case _:
                    sets = f"affine_set<(d0) : (d0 - {self.draw(st.integers(0, 2))}"
                    inner = _indented(self.statement(names))
                    head = f"affine.if {sets} >= 0)>({names[-1]}) {{"
                    lines += [head, *inner, "}"]
        return lines

    def nest(self, headers: list[tuple[str, str]]) -> list[str]:
        """Perfectly nested loops with these headers around one or two statements."""
        names = [name for name, _ in headers]
        lines = [
            line
            for _ in range(self.draw(st.integers(1, 2)))
            for line in self.statement(names)
        ]
        for _, header in reversed(headers):
            lines = [f"{header} {{", *_indented(lines), "}"]
        return lines


def _instance(number: int, names: list[str]) -> str:
    """A number of its own for each execution of a statement."""
    factors = [f"d{i} * {17**i}" for i in range(len(names))]
    dims = ", ".join(f"d{i}" for i in range(len(names)))
    total = " + ".join([str(100_000 * number), *factors])
    return f"affine_map<({dims}) -> ({total})>({', '.join(names)})"


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


ARRAYS = st.sampled_from([tuple(SHAPES), ("C",), ("B",), ("A", "C")])
"""The fewer arrays, the more dependences."""


def _function(body: list[str]) -> str:
    lines = ["%c = arith.constant 0.5 : f64", *body, "return"]
    text = "\n".join(_indented(lines))
    return f"func.func @f({HEADER}, %n: index, %t: index) {{\n{text}\n}}"


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    symbolic: bool = False,
    carried: bool = True,
    rectangular: bool = False,
) -> str:
    """A function ``@f`` on `SHAPES`, ``%n`` and ``%t``."""
    writer = Writer(draw, symbolic, carried, rectangular=rectangular)
    writer.arrays = draw(ARRAYS)
    return _function(writer.body([], 0))


@st.composite
def perfect_nests(draw: st.DrawFn, count: int = 1) -> str:
    """``count`` neighbouring rectangular nests of two or three loops, bounds alike."""
    writer = Writer(draw, symbolic=False, carried=False, rectangular=True)
    writer.arrays = draw(ARRAYS)
    depth = draw(st.integers(2, 3))
    headers = [writer.header([]) for _ in range(depth)]
    body: list[str] = []
    for number in range(count):
        named = [
            (f"{name}_{number}", header.replace(name, f"{name}_{number}", 1))
            for name, header in headers
        ]
        body += writer.nest(named)
    return _function(body)


def arguments(n: int, t: int = 3) -> list[object]:
    """Arrays filled with different numbers, and the two integers."""
    rng = np.random.default_rng(7)
    return [*(rng.standard_normal(shape) for shape in SHAPES.values()), n, t]
