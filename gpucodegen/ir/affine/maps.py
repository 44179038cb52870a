"""Affine maps and integer sets: several affine expressions of the same variables.

Comes in: expressions (`ir.affine`) and how many dimensions and symbols they may name.
Goes out: immutable values that print as MLIR does, compose and evaluate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.affine.evaluation import evaluate, substitute
from gpucodegen.ir.affine.expressions import AffineExpr, Const, Dim, Sym


def _signature(num_dims: int, num_syms: int) -> str:
    dims = ", ".join(f"d{i}" for i in range(num_dims))
    syms = ", ".join(f"s{i}" for i in range(num_syms))
    return f"({dims})" + (f"[{syms}]" if num_syms else "")


@dataclass(frozen=True, slots=True)
class AffineMap:
    """``(d0, ..)[s0, ..] -> (results)``.

    >>> print(AffineMap(2, 0, (Dim(1), Dim(0))))
    (d0, d1) -> (d1, d0)
    """

    num_dims: int
    num_syms: int
    results: tuple[AffineExpr, ...]

    def __str__(self) -> str:
        results = ", ".join(map(str, self.results))
        return f"{_signature(self.num_dims, self.num_syms)} -> ({results})"

    @property
    def num_inputs(self) -> int:
        """Number of operands a use of this map takes."""
        return self.num_dims + self.num_syms

    @property
    def is_identity(self) -> bool:
        """Whether the map is ``(d0, .., dn) -> (d0, .., dn)`` without symbols."""
        return self.num_syms == 0 and self == AffineMap.identity(self.num_dims)

    @staticmethod
    def identity(rank: int) -> AffineMap:
        """The identity map of ``rank`` dimensions."""
        return AffineMap(rank, 0, tuple(Dim(i) for i in range(rank)))

    @staticmethod
    def constant(*values: int) -> AffineMap:
        """The map ``() -> (values)``."""
        return AffineMap(0, 0, tuple(map(Const, values)))

    def evaluate(
        self, dims: Sequence[int], syms: Sequence[int] = ()
    ) -> tuple[int, ...]:
        """Results at integer inputs."""
        return tuple(evaluate(r, dims, syms) for r in self.results)

    def compose(self, inner: AffineMap) -> AffineMap:
        """``self`` after ``inner``; symbols of ``self`` come before those of ``inner``.

        >>> outer = AffineMap(1, 0, (Dim(0) * 2,))
        >>> print(outer.compose(AffineMap(2, 0, (Dim(0) + Dim(1),))))
        (d0, d1) -> (d0 * 2 + d1 * 2)
        """
        shifted = [Sym(i + self.num_syms) for i in range(inner.num_syms)]
        dims = [Dim(i) for i in range(inner.num_dims)]
        values = [substitute(r, dims, shifted) for r in inner.results]
        own = [Sym(i) for i in range(self.num_syms)]
        results = tuple(substitute(r, values, own) for r in self.results)
        return AffineMap(inner.num_dims, self.num_syms + inner.num_syms, results)


@dataclass(frozen=True, slots=True)
class Constraint:
    """``expr == 0`` if ``equality`` else ``expr >= 0``."""

    expr: AffineExpr
    equality: bool

    def __str__(self) -> str:
        return f"{self.expr} {'==' if self.equality else '>='} 0"


@dataclass(frozen=True, slots=True)
class IntegerSet:
    """``(d0, ..)[s0, ..] : (constraints)``.

    >>> print(IntegerSet(1, 1, (Constraint(Sym(0) - Dim(0) - 1, equality=False),)))
    (d0)[s0] : (s0 - d0 - 1 >= 0)
    """

    num_dims: int
    num_syms: int
    constraints: tuple[Constraint, ...]

    def __str__(self) -> str:
        constraints = ", ".join(map(str, self.constraints))
        return f"{_signature(self.num_dims, self.num_syms)} : ({constraints})"

    @property
    def num_inputs(self) -> int:
        """Number of operands a use of this set takes."""
        return self.num_dims + self.num_syms

    def contains(self, dims: Sequence[int], syms: Sequence[int] = ()) -> bool:
        """Whether the point satisfies every constraint."""
        return all(
            (value == 0) if c.equality else (value >= 0)
            for c in self.constraints
            for value in (evaluate(c.expr, dims, syms),)
        )
