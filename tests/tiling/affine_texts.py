"""Random affine functions as MLIR text, each with what running it touches, in order.

The text and the touches come from one tree that neither the parser nor the analysis
has seen: a node writes its own lines and runs itself.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st
from tiling_oracle import Touch

from gpucodegen.tiling.model.scop import Access, AccessKind, Loop

Env: TypeAlias = dict[str, int]
Around: TypeAlias = tuple[tuple[Loop, int], ...]

NAME = re.compile(r"%\w+")
BUFFERS = {"A": ("memref<64xf32>", 1), "B": ("memref<64x64xf32>", 2)}


@dataclass(frozen=True)
class Expr:
    """An affine expression: its text over ``%`` names, and its value."""

    text: str
    value: Callable[[Env], int]


@dataclass(frozen=True)
class For:
    name: str
    lowers: tuple[Expr, ...]
    uppers: tuple[Expr, ...]
    step: int
    body: tuple[Node, ...]
    loop: Loop = field(default_factory=lambda: Loop("", ("0",), ("0",), 1, ()))

    def lines(self) -> Iterator[str]:
        lower = _bound("max", self.lowers)
        upper = _bound("min", self.uppers)
        yield f"affine.for {self.name} = {lower} to {upper} step {self.step} {{"
        yield from _inside(self.body)
        yield "}"

    def run(self, env: Env, around: Around) -> Iterator[Touch]:
        lower = max(e.value(env) for e in self.lowers)
        upper = min(e.value(env) for e in self.uppers)
        for value in range(lower, upper, self.step):
            inner = (*around, (self.loop, value))
            yield from _run(self.body, {**env, self.name: value}, inner)


@dataclass(frozen=True)
class Parallel:
    """Two variables, so two loops of the dependence table."""

    names: tuple[str, str]
    ranges: tuple[tuple[int, int, int], ...]
    body: tuple[Node, ...]
    loops: tuple[Loop, ...] = field(
        default_factory=lambda: tuple(Loop("", ("0",), ("0",), 1, ()) for _ in "ab")
    )

    def lines(self) -> Iterator[str]:
        lower, upper, step = (
            ", ".join(map(str, column)) for column in zip(*self.ranges, strict=True)
        )
        names = ", ".join(self.names)
        yield f"affine.parallel ({names}) = ({lower}) to ({upper}) step ({step}) {{"
        yield from _inside(self.body)
        yield "}"

    def run(self, env: Env, around: Around) -> Iterator[Touch]:
        for values in itertools.product(*(range(*r) for r in self.ranges)):
            inner = (*around, *zip(self.loops, values, strict=True))
            named = dict(zip(self.names, values, strict=True))
            yield from _run(self.body, {**env, **named}, inner)


@dataclass(frozen=True)
class Branch:
    condition: Expr
    equal: bool
    then: tuple[Node, ...]
    orelse: tuple[Node, ...]

    def lines(self) -> Iterator[str]:
        relation = "==" if self.equal else ">="
        dims, (text,), names = _over_dimensions(self.condition.text)
        yield f"affine.if affine_set<({dims}) : ({text} {relation} 0)>({names}) {{"
        yield from _inside(self.then)
        if self.orelse:
            yield "} else {"
            yield from _inside(self.orelse)
        yield "}"

    def run(self, env: Env, around: Around) -> Iterator[Touch]:
        value = self.condition.value(env)
        taken = value == 0 if self.equal else value >= 0
        yield from _run(self.then if taken else self.orelse, env, around)


@dataclass(frozen=True)
class Apply:
    """A value computed in between, which subscripts and bounds may use."""

    name: str
    expr: Expr

    def lines(self) -> Iterator[str]:
        yield f"{self.name} = {_mapped('affine.apply', self.expr.text)}"

    def run(self, env: Env, _: Around) -> Iterator[Touch]:
        env[self.name] = self.expr.value(env)
        yield from ()


@dataclass(frozen=True)
class Touching:
    """A load, a store, or one of a vector of two elements."""

    number: int
    access: Access
    indices: tuple[Expr, ...]
    lanes: int

    def lines(self) -> Iterator[str]:
        buffer = self.access.array
        place = f"%{buffer}[{', '.join(e.text for e in self.indices)}]"
        kind, value = ("", "f") if self.lanes == 1 else ("vector_", "v")
        tail = "" if self.lanes == 1 else f", vector<{self.lanes}xf32>"
        ty = BUFFERS[buffer][0]
        if self.access.writes:
            yield f"affine.{kind}store %{value}, {place} : {ty}{tail}"
        else:
            yield f"%x{self.number} = affine.{kind}load {place} : {ty}{tail}"

    def run(self, env: Env, around: Around) -> Iterator[Touch]:
        *outer, last = (e.value(env) for e in self.indices)
        for lane in range(self.lanes):
            cell = (*outer, last + lane)
            yield Touch(self.number, "", self.access, around, cell)


Node: TypeAlias = For | Parallel | Branch | Apply | Touching


@dataclass(frozen=True)
class Program:
    body: tuple[Node, ...]

    def __str__(self) -> str:
        buffers = ", ".join(f"%{name}: {ty}" for name, (ty, _) in BUFFERS.items())
        values = "%f: f32, %v: vector<2xf32>"
        body = "\n".join(_inside(self.body))
        return f"func.func @f({buffers}, {values}) {{\n{body}\n  return\n}}\n"

    def touches(self) -> list[Touch]:
        return list(_run(self.body, {}, ()))


def _run(body: tuple[Node, ...], env: Env, around: Around) -> Iterator[Touch]:
    for node in body:
        yield from node.run(env, around)


def _inside(body: tuple[Node, ...]) -> Iterator[str]:
    for node in body:
        yield from (f"  {line}" for line in node.lines())


def _over_dimensions(*texts: str) -> tuple[str, list[str], str]:
    """``d0, d1``, the texts over them, and the names that they stand for."""
    names = sorted({name for text in texts for name in NAME.findall(text)})
    dims = {name: f"d{i}" for i, name in enumerate(names)}
    renamed = [NAME.sub(lambda found: dims[found[0]], text) for text in texts]
    return ", ".join(dims.values()), renamed, ", ".join(names)


def _mapped(what: str, *texts: str) -> str:
    """``what affine_map<(d0) -> (..)>(%name)``: for where names cannot stand inline."""
    dims, renamed, names = _over_dimensions(*texts)
    return f"{what} affine_map<({dims}) -> ({', '.join(renamed)})>({names})".strip()


def _bound(join: str, exprs: tuple[Expr, ...]) -> str:
    if len(exprs) == 1 and "%" not in exprs[0].text:
        return exprs[0].text
    return _mapped(join if len(exprs) > 1 else "", *(e.text for e in exprs))


def constant(value: int) -> Expr:
    return Expr(str(value), lambda _: value)


@st.composite
def linear(draw: st.DrawFn, names: list[str], factors: tuple[int, ...]) -> Expr:
    parts = [(name, draw(st.sampled_from(factors))) for name in names]
    parts = [(name, factor) for name, factor in parts if factor]
    offset = draw(st.integers(-2, 2))
    text = " + ".join([*(f"{name} * {factor}" for name, factor in parts), str(offset)])
    return Expr(text, lambda env: offset + sum(env[n] * f for n, f in parts))


DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
}


@st.composite
def quasi_affine(draw: st.DrawFn, names: list[str]) -> Expr:
    inner = draw(linear(names, (0, 0, 1, 1, -1, 2)))
    division = draw(st.sampled_from([None, None, None, *DIVISIONS]))
    if division is None:
        return inner
    by = draw(st.integers(2, 4))
    compute = DIVISIONS[division]
    text = f"({inner.text}) {division} {by}"
    return Expr(text, lambda env: compute(inner.value(env), by))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A function of up to four loops deep with at most six accesses."""
    fresh = itertools.count()
    accesses = itertools.count()
    budget = draw(st.integers(2, 6))

    def touching(names: list[str]) -> Touching:
        buffer = draw(st.sampled_from(sorted(BUFFERS)))
        indices = tuple(draw(quasi_affine(names)) for _ in range(BUFFERS[buffer][1]))
        kind = draw(st.sampled_from([AccessKind.READ, AccessKind.WRITE]))
        lanes = draw(st.sampled_from([1, 1, 1, 2]))
        access = Access(buffer, kind, tuple(e.text for e in indices))
        return Touching(next(accesses), access, indices, lanes)

    def for_(names: list[str], depth: int) -> For:
        name = f"%i{next(fresh)}"
        lowers = [constant(draw(st.integers(-2, 2)))]
        uppers = [constant(draw(st.integers(2, 4)))]
        if names and draw(st.booleans()):
            lowers.append(draw(linear(names[-1:], (1, -1))))
        if names and draw(st.booleans()):
            uppers.append(draw(linear(names[-1:], (1, -1, 2))))
        body = inside([*names, name], depth + 1)
        step = draw(st.sampled_from([1, 1, 1, 2, 3]))
        return For(name, tuple(lowers), tuple(uppers), step, body)

    def parallel(names: list[str], depth: int) -> Parallel:
        own = (f"%i{next(fresh)}", f"%i{next(fresh)}")
        ranges = tuple(
            (draw(st.integers(-1, 1)), draw(st.integers(1, 3)), draw(st.integers(1, 2)))
            for _ in own
        )
        return Parallel(own, ranges, inside([*names, *own], depth + 2))

    def branch(names: list[str], depth: int) -> Branch:
        condition = draw(quasi_affine(names))
        then = inside(names, depth, flat=True)
        orelse = inside(names, depth, flat=True) if draw(st.booleans()) else ()
        return Branch(condition, draw(st.booleans()), then, orelse)

    def apply(names: list[str], _: int) -> Apply:
        return Apply(f"%v{next(fresh)}", draw(quasi_affine(names)))

    def access(names: list[str], _: int) -> Touching | None:
        return touching(names) if next(budgeted) < budget else None

    def inside(names: list[str], depth: int, *, flat: bool = False) -> tuple[Node, ...]:
        choices = [access, access]
        if not flat:
            choices += [branch, apply]
            choices += [for_, for_] if depth < 4 else []
            choices += [parallel] if depth < 3 else []
        names = list(names)
        nodes: list[Node] = []
        for _ in range(draw(st.integers(1, 3))):
            node = draw(st.sampled_from(choices))(names, depth)
            if isinstance(node, Apply):
                names.append(node.name)
            if node is not None:
                nodes.append(node)
        return tuple(nodes)

    budgeted = itertools.count()
    outer = draw(st.sampled_from([for_, for_, parallel]))
    return Program(tuple(outer([], 0) for _ in range(draw(st.integers(1, 2)))))
