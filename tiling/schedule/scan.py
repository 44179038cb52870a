"""Cells of a set, dimension by dimension: the bounds of a loop nest that visits them.

Comes in: a `Set` over parameters. Goes out: a `ScannedRange` per dimension, with bounds
that are plain `Linear` functions of parameters and of the dimensions before it.

A set that is no single polyhedron is visited as the smallest one that the constraints
of its parts describe; a caller that needs to know whether that is more compares with
`scanned`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.tiling.model.isl import PARAM, SET, BasicSet, Constraint, Set, Solver


@dataclass(frozen=True, slots=True)
class Linear:
    """``floor((sum of factor * name + constant) / divisor)``.

    >>> print(Linear((("t", 2), ("N", -1)), 3), Linear((("t", 1),), 0, 4))
    2*t - N + 3 floor((t)/4)
    """

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0
    divisor: int = 1

    def __str__(self) -> str:
        parts = [(factor, f"*{name}") for name, factor in self.terms]
        parts += [(self.constant, "")] if self.constant or not parts else []
        signed = (f"{'-' if f < 0 else '+'} {abs(f)}{name}" for f, name in parts)
        text = " ".join(signed).replace(" 1*", " ").removeprefix("+ ")
        text = f"-{text[2:]}" if text.startswith("- ") else text
        return text if self.divisor == 1 else f"floor(({text})/{self.divisor})"

    @property
    def names(self) -> frozenset[str]:
        """The parameters and dimensions in it."""
        return frozenset(name for name, _ in self.terms)


@dataclass(frozen=True, slots=True)
class ScannedRange:
    """From the largest of ``lowers`` to the smallest of ``uppers``, exclusive."""

    lowers: tuple[Linear, ...]
    uppers: tuple[Linear, ...]


def scan(solver: Solver, cells: Set, context: Set) -> tuple[ScannedRange, ...] | None:
    """The bounds of each dimension, named ``c0``, ``c1``, ...; None where open.

    ``context``: the parameters for which they have to hold.

    >>> solver = Solver()
    >>> text = "[t, N] -> { [i, j] : t <= i < t + 4 and i < N and 0 <= j <= i }"
    >>> i, j = scan(solver, solver.set(text), solver.set("[t, N] -> { : 0 <= t < N }"))
    >>> [str(bound) for bound in (*i.lowers, *i.uppers)]
    ['t', 't + 4', 'N']
    >>> [str(bound) for bound in (*j.lowers, *j.uppers)]
    ['0', 'c0 + 1']
    """
    return solver.ask(lambda: _ranges(cells, context), None)


def scanned(
    solver: Solver, ranges: Sequence[ScannedRange], parameters: Sequence[str]
) -> Set:
    """The cells that loops with these bounds visit."""
    names = [f"c{d}" for d in range(len(ranges))]
    held = [
        f"{name} {relation} {bound}"
        for name, range_ in zip(names, ranges, strict=True)
        for relation, bounds in ((">=", range_.lowers), ("<", range_.uppers))
        for bound in bounds
    ]
    tuple_ = f"[{', '.join(names)}]"
    inside = " and ".join(held) or "1 = 1"
    return solver.set(f"[{', '.join(parameters)}] -> {{ {tuple_} : {inside} }}")


def hull(cells: Set) -> BasicSet:
    """One polyhedron around a set, made of the constraints of its parts."""
    return cells.remove_divs().coalesce().simple_hull()


def lower_bounds(
    solver: Solver, cells: Set, context: Set, d: int
) -> tuple[Linear, ...]:
    """Functions of parameters alone that no cell is below along dimension ``d``."""

    def query() -> tuple[Linear, ...]:
        rank = cells.dim(SET)
        line = cells.project_out(SET, d + 1, rank - d - 1).project_out(SET, 0, d)
        (range_,) = _ranges(line, context) or (ScannedRange((), ()),)
        return range_.lowers

    return solver.ask(query, ())


def _ranges(cells: Set, context: Set) -> tuple[ScannedRange, ...] | None:
    whole = hull(cells)
    rank = whole.dim(SET)
    ranges: list[ScannedRange] = []
    for d in range(rank):
        known = hull(context).add_dims(SET, d + 1)
        prefix = whole.project_out(SET, d + 1, rank - d - 1).remove_divs()
        range_ = _range(prefix.gist(known).remove_redundancies(), d)
        if not range_.lowers or not range_.uppers:
            return None
        ranges.append(range_)
    return tuple(ranges)


def _range(prefix: BasicSet, d: int) -> ScannedRange:
    """The constraints on dimension ``d``: factor * c_d + rest >= 0, or = 0."""
    lowers: list[Linear] = []
    uppers: list[Linear] = []
    for constraint in prefix.get_constraints():
        factor = constraint.get_coefficient_val(SET, d).to_python()
        rest = _rest(constraint, d)
        for sign in (1, -1) if constraint.is_equality() else (1,):
            signed = replace(
                rest,
                terms=tuple((n, f * sign) for n, f in rest.terms),
                constant=rest.constant * sign,
            )
            if factor * sign > 0:
                lowers.append(_at_least(signed, factor * sign))
            elif factor * sign < 0:
                uppers.append(_at_most(signed, -factor * sign))
    return ScannedRange(tuple(dict.fromkeys(lowers)), tuple(dict.fromkeys(uppers)))


def _at_least(rest: Linear, factor: int) -> Linear:
    """factor * c + rest >= 0:  c >= ceil(-rest / factor)."""
    terms = tuple((name, -f) for name, f in rest.terms)
    return Linear(terms, factor - 1 - rest.constant, factor)


def _at_most(rest: Linear, factor: int) -> Linear:
    """rest - factor * c >= 0:  c < floor((rest + factor) / factor)."""
    return Linear(rest.terms, rest.constant + factor, factor)


def _rest(constraint: Constraint, d: int) -> Linear:
    """A constraint without its term in dimension ``d``."""
    terms: list[tuple[str, int]] = []
    space = constraint.get_space()
    for kind in (PARAM, SET):
        for i in range(space.dim(kind)):
            factor = constraint.get_coefficient_val(kind, i).to_python()
            if factor and (kind, i) != (SET, d):
                name = space.get_dim_name(PARAM, i) if kind == PARAM else f"c{i}"
                terms.append((str(name), factor))
    constant = constraint.get_constant_val().to_python()
    return Linear(tuple(terms), constant)
