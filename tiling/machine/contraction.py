"""Recognition of contractions: the role of each loop by the accesses that it moves.

A statement ``C[...] = C[...] + f(A[...], B[...])`` with linear indices is a contraction
if each of its loops has a role:

| role | moves | |
|---|---|---|
| batch | C, A and B | |
| M | C and A | rows |
| N | C and B | columns |
| K | A or B, not C | reduces |

This covers matrix products, batched ones, matrix-vector products, tensor contractions
and convolutions (sliding indices such as ``2*h + kh``). `roles_of` is the only
definition of the roles.  `contractions` applies it to the relations of a `Model`, for
any bounds; ``passes/contraction/recognize.py`` applies it to operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Generic, TypeVar

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl_forms import coefficients
from gpucodegen.tiling.model.relations import Instances, Model, header
from gpucodegen.tiling.model.scop import Access, Loop, Statement
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts

LoopT = TypeVar("LoopT")
Moves = tuple[bool, bool, bool]
"""Whether a loop moves C, A and B."""

_ROLES: dict[Moves, str] = {
    (True, True, True): "batch",
    (True, True, False): "m",
    (True, False, True): "n",
    (False, True, True): "k",
    (False, True, False): "k",
    (False, False, True): "k",
}


@dataclass(frozen=True, slots=True)
class Roles(Generic[LoopT]):
    """The loops of a contraction by role, each role in nest order.

    ``outer``: outermost loops that move no operand and repeat the whole contraction.
    """

    outer: tuple[LoopT, ...]
    batch: tuple[LoopT, ...]
    m: tuple[LoopT, ...]
    n: tuple[LoopT, ...]
    k: tuple[LoopT, ...]


def roles_of(
    loops: Sequence[LoopT], moves: Callable[[LoopT], Moves]
) -> Roles[LoopT] | None:
    """The roles of loops, outermost first; None if some loop has none.

    >>> product = {"i": (True, True, False), "j": (True, False, True)}
    >>> product["k"] = (False, True, True)
    >>> roles_of("ikj", product.__getitem__).k
    ('k',)
    >>> roles_of("i", lambda _: (True, False, False)) is None
    True
    """
    outer = tuple(takewhile(lambda loop: not any(moves(loop)), loops))
    found: dict[str, list[LoopT]] = {"batch": [], "m": [], "n": [], "k": []}
    for loop in loops[len(outer) :]:
        role = _ROLES.get(moves(loop))
        if role is None:
            return None
        found[role].append(loop)
    return Roles(outer, *map(tuple, found.values()))


@dataclass(frozen=True, slots=True)
class OperandAccess:
    """One array of a contraction: per dimension, the coefficients of its loops."""

    access: Access
    position: int
    coefficients: tuple[dict[str, int], ...]

    @property
    def array(self) -> str:
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

    ``scalars`` are further operands that no loop moves.
    """

    output: OperandAccess
    left: OperandAccess
    right: OperandAccess
    scalars: tuple[OperandAccess, ...]
    roles: Roles[Loop]

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
    >>> [[loop.name for loop in getattr(product.roles, role)] for role in "mnk"]
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

    def moves(loop: Loop) -> Moves:
        in_output, in_left, in_right = (
            loop.name in operand.loops for operand in (output, left, right)
        )
        return in_output, in_left, in_right

    roles = roles_of(instances.loops, moves)
    if roles is None or not _kinds_fit(roles, kinds):
        return None
    scalars = tuple(operand for operand in inputs if not operand.loops)
    return ContractionShape(output, left, right, scalars, roles)


def _kinds_fit(roles: Roles[Loop], kinds: dict[str, LoopKind]) -> bool:
    """Whether K loops are reductions and all other loops are parallel."""
    reduced, free = roles.k, (*roles.batch, *roles.m, *roles.n)
    return (
        bool(reduced)
        and all(kinds[loop.name] is LoopKind.REDUCTION for loop in reduced)
        and all(kinds[loop.name] is LoopKind.PARALLEL for loop in free)
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
    """Per dimension, the coefficients of the loops; None if an index is not linear."""
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
