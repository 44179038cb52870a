"""Contractions, recognised from their access relations and not from names.

Comes in: a `Model` with its dependences. Goes out: for each statement of the form
``C[...] = C[...] + f(A[...], B[...])`` whose loops split into

* batch: in the indices of A, B and C,
* M: in C and A only,
* N: in C and B only,
* K: in A and B only, and a reduction,

a `ContractionShape`. Matrix products, batched ones, matrix-vector products, tensor
contractions and convolutions (sliding indices such as ``2*h + kh``) are all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias

from gpucodegen.tiling.model.isl_forms import coefficients
from gpucodegen.tiling.model.relations import Instances, Model, header
from gpucodegen.tiling.model.scop import Access, Loop, Statement
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import rectangular
from gpucodegen.tiling.proof.loops import LoopKind, loop_verdicts


@dataclass(frozen=True, slots=True)
class OperandAccess:
    """One array of a contraction: per dimension, the factor of each loop used in it."""

    access: Access
    position: int
    coefficients: tuple[dict[str, int], ...]

    @property
    def array(self) -> str:
        """The array's name."""
        return self.access.array

    @property
    def loops(self) -> frozenset[str]:
        """The names of the loops that move the access."""
        return frozenset(name for row in self.coefficients for name in row)

    @property
    def sliding(self) -> bool:
        """Whether some dimension is indexed by several loops at once."""
        return any(len(row) > 1 for row in self.coefficients)


@dataclass(frozen=True, slots=True)
class ContractionShape:
    """A statement that contracts ``left`` and ``right`` over K into ``output``.

    Loops stand in nest order, without the ``outer`` ones that merely repeat it all.
    ``scalars`` are further operands that no loop moves.
    """

    statement: Statement
    outer: tuple[Loop, ...]
    loops: tuple[Loop, ...]
    output: OperandAccess
    left: OperandAccess
    right: OperandAccess
    scalars: tuple[OperandAccess, ...]
    batch: tuple[Loop, ...]
    m: tuple[Loop, ...]
    n: tuple[Loop, ...]
    k: tuple[Loop, ...]
    rectangular: bool

    @property
    def sliding(self) -> bool:
        """Whether it is a convolution: some operand slides."""
        return any(o.sliding for o in (self.output, self.left, self.right))


def contractions(
    model: Model, found: Sequence[Dependence]
) -> tuple[ContractionShape, ...]:
    """Every statement that is a contraction, in textual order.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Reduction, Scop, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> a, b = read("A", "i", "k"), read("B", "k", "j")
    >>> update = read("C", "i", "j"), write("C", "i", "j")
    >>> mac = Statement("S", (a, b, *update), Reduction("add", read=2, write=3))
    >>> chain = [Loop("i", "0", "8"), Loop("j", "0", "8"), Loop("k", "0", "8")]
    >>> arrays = tuple(Array(name, (8, 8)) for name in "ABC")
    >>> built = model(Scop(arrays=arrays, body=nest(chain, (mac,))))
    >>> (product,) = contractions(built, dependences(built))
    >>> [[loop.name for loop in part] for part in (product.m, product.n, product.k)]
    [['i'], ['j'], ['k']]
    """
    kinds = {v.loop.name: v.kind for v in loop_verdicts(model, tuple(found))}
    candidates = (_contraction(model, s, kinds) for s in model.statements)
    return tuple(c for c in candidates if c is not None)


def _contraction(
    model: Model, instances: Instances, kinds: dict[str, LoopKind]
) -> ContractionShape | None:
    statement = instances.node
    if not isinstance(statement, Statement) or statement.reduction is None:
        return None
    operands = _operands(model, instances)
    if operands is None:
        return None
    output = operands[statement.reduction.write]
    inputs = [
        operand
        for operand in operands
        if operand.position not in (statement.reduction.read, statement.reduction.write)
    ]
    moving = [operand for operand in inputs if operand.loops]
    if len(moving) != 2 or any(operand.access.writes for operand in inputs):
        return None
    left, right = moving
    used = output.loops | left.loops | right.loops
    outer = tuple(takewhile(lambda loop: loop.name not in used, instances.loops))
    loops = instances.loops[len(outer) :]
    parts = _split(loops, output, left, right)
    if parts is None or not _kinds_fit(parts, kinds):
        return None
    batch, m, n, k = parts
    return ContractionShape(
        statement=statement,
        outer=outer,
        loops=loops,
        output=output,
        left=left,
        right=right,
        scalars=tuple(operand for operand in inputs if not operand.loops),
        batch=batch,
        m=m,
        n=n,
        k=k,
        rectangular=rectangular(loops),
    )


_Parts: TypeAlias = tuple[
    tuple[Loop, ...], tuple[Loop, ...], tuple[Loop, ...], tuple[Loop, ...]
]
_MEMBERSHIP = ((True, True, True), (True, True, False), (True, False, True))
_REDUCED = (False, True, True)


def _split(
    loops: Sequence[Loop],
    output: OperandAccess,
    left: OperandAccess,
    right: OperandAccess,
) -> _Parts | None:
    """Batch, M, N and K; None if some loop is of no such kind or nothing is reduced."""
    where = {
        loop.name: tuple(
            loop.name in operand.loops for operand in (output, left, right)
        )
        for loop in loops
    }
    batch, m, n, k = (
        tuple(loop for loop in loops if where[loop.name] == membership)
        for membership in (*_MEMBERSHIP, _REDUCED)
    )
    complete = len(batch) + len(m) + len(n) + len(k) == len(loops)
    return (batch, m, n, k) if complete and k else None


def _kinds_fit(parts: _Parts, kinds: dict[str, LoopKind]) -> bool:
    """K loops reduce, all others are parallel."""
    batch, m, n, k = parts
    return all(kinds[loop.name] is LoopKind.REDUCTION for loop in k) and all(
        kinds[loop.name] is LoopKind.PARALLEL for loop in (*batch, *m, *n)
    )


def _operands(model: Model, instances: Instances) -> tuple[OperandAccess, ...] | None:
    operands: list[OperandAccess] = []
    for position, access in enumerate(instances.accesses):
        rows = index_coefficients(model, instances, access)
        if rows is None:
            return None
        operands.append(OperandAccess(access, position, rows))
    return tuple(operands)


def index_coefficients(
    model: Model, instances: Instances, access: Access
) -> tuple[dict[str, int], ...] | None:
    """Per dimension, the factors of the loops; None if an index is not linear."""
    if None in access.indices or access.span or not access.must:
        return None
    names = [loop.name for loop in instances.loops]
    target = ", ".join(str(index) for index in access.indices)
    relation = f"[{', '.join(names)}] -> [{target}]"
    linear = model.solver.map(f"{header(model.scop)} {{ {relation} }}")
    rows = model.solver.ask(lambda: coefficients(linear), None)
    if rows is None:
        return None
    return tuple(
        {name: factor for name, factor in zip(names, row, strict=True) if factor}
        for row in rows
    )
