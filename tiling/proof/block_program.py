"""The program of a block as enumeration walks it.

`Program` makes the body of a `KernelAccesses` into steps: fences, the loops and
branches that hold fences, and a `Site` for each access to some arrays.  Everything else
is left out.  A fence is a barrier, a commit of copies, a wait for them, or a
proxy fence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from math import lcm, prod
from typing import TypeAlias

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.isl_evaluation import (
    Formula,
    Integers,
    Residues,
    Sum,
    UndecidedError,
    formula,
    formula_of,
    residues,
    sum_of,
)
from gpucodegen.tiling.model.scop import (
    Barrier,
    Commit,
    GroupWait,
    If,
    Loop,
    Node,
    ProxyFence,
)
from gpucodegen.tiling.proof.cases import ANY, Case
from gpucodegen.tiling.proof.cell_owners import Tiling
from gpucodegen.tiling.proof.kernel_accesses import (
    Condition,
    Fence,
    KernelAccesses,
    Mask,
    Range,
    Use,
    has_fence,
    held,
    points,
    spans,
    uses_in,
)

MOST_CELLS = 1 << 22
"""Cells of an array of a block; shared memory has fewer."""
MOST_KINDS = 16
"""Blocks that branch differently."""

Key: TypeAlias = tuple[int, ...]
Table: TypeAlias = tuple[Integers, Integers]
"""Cells and the threads that access them, in pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """An access in loops that hold no barrier, so all its iterations are of one phase.

    ``parts``: the parts of its formulas over the walked loops, by name; their values
    are the key of an event.  Where a part has parameters, it may have several values.
    """

    number: int
    use: Use
    extents: tuple[int, ...]
    indices: tuple[Formula, ...]
    loops: tuple[Range, ...]
    conditions: tuple[tuple[tuple[Formula, ...], bool], ...]
    parts: dict[str, Residues]

    @property
    def is_copy(self) -> bool:
        return self.use.statement.grouped


@dataclass(frozen=True, slots=True, eq=False)
class WalkedLoop:
    """A loop that holds fences; its bounds are the same for all threads."""

    range: Range
    body: tuple[Step, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OpenLoop:
    """A loop that holds fences and has any number of trips, the same for all threads.

    The first value is one of ``lowers``. ``last``: the bodies of the last trips, which
    are always executed; an empty ``body``: there are no others.
    """

    name: str
    lowers: tuple[Sum, ...]
    step: int
    body: tuple[Step, ...]
    last: tuple[tuple[Step, ...], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """A condition around fences that holds for all threads of a block, or for none."""

    body: tuple[Step, ...]
    orelse: tuple[Step, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A condition around fences."""

    constraints: tuple[str, ...]
    body: tuple[Step, ...]
    orelse: tuple[Step, ...]


Step: TypeAlias = "Site | WalkedLoop | OpenLoop | Branch | Fork | Fence"


def is_open(step: Step) -> bool:
    """Whether it has several outcomes."""
    match step:
        case OpenLoop() | Fork():
            return True
        case WalkedLoop():
            return any(map(is_open, step.body))
        case Branch():
            return any(map(is_open, (*step.body, *step.orelse)))
        case _:
            return False


def are_warps(threads: Mask) -> bool:
    """Whether a set of threads consists of whole warps."""
    if threads.size % WARP:
        return False
    warps = threads.reshape(-1, WARP)
    return bool((warps.any(axis=1) == warps.all(axis=1)).all())


@dataclass(slots=True)
class Program:
    """The program of a block: accesses to some arrays, fences, and what holds them.

    ``control``: the loop bounds and, with True, the conditions that depend on blocks.
    ``memories``: those that a barrier has to order to count.  ``tilings``: of the
    arrays that all blocks share, each of which accesses tiles of its own. ``case``:
    the values of the parameters.
    """

    kernel: KernelAccesses
    arrays: frozenset[str]
    memories: frozenset[str] = frozenset({"shared"})
    tilings: Mapping[str, Tiling] = field(default_factory=dict[str, Tiling])
    case: Case = ANY
    sites: list[Site] = field(default_factory=list[Site])
    control: set[tuple[str, bool]] = field(default_factory=set[tuple[str, bool]])
    open_loops: set[str] = field(default_factory=set[str])

    @property
    def period(self) -> int:
        """The remainders of variables of open loops that matter."""
        parts = (part for site in self.sites for part in site.parts.values())
        return lcm(*(part.period for part in parts))

    def steps(
        self,
        nodes: Sequence[Node],
        fixed: frozenset[str],
        threads: Mask | None = None,
    ) -> tuple[Step, ...]:
        """The body of a loop; ``fixed``: the variables of the loops that are walked.

        ``threads``: those that execute it, None where more than threads decides that.
        """
        each = (self._steps(node, fixed, threads) for node in nodes)
        return tuple(step for found in each for step in found)

    def _steps(
        self, node: Node, fixed: frozenset[str], threads: Mask | None
    ) -> Iterator[Step]:
        match node:
            case Barrier() if threads is not None and self._converges(node, threads):
                pass
            case Barrier() | Commit() | GroupWait() | ProxyFence():
                yield node
            case Loop() if has_fence(node):
                texts = (*node.lowers, *node.uppers)
                bounds = [self._control(t, fixed, is_constraint=False) for t in texts]
                if not all(bounds):
                    self.open_loops.add(node.name)
                nodes, trips = self.case.trips(node, self.kernel.parameters)
                inside = fixed | {node.name}
                body = self.steps(nodes, inside, threads)
                last = tuple(self.steps(each, inside, threads) for each in trips)
                if body and all(bounds):
                    yield WalkedLoop(Range.of(node), body)
                elif body or last:
                    lowers = tuple(map(sum_of, node.lowers))
                    yield OpenLoop(node.name, lowers, node.step, body, last)
            case If(constraints=constraints) if has_fence(node):
                if constraints is None:
                    raise UndecidedError("an unknown condition around a barrier")
                known = fixed | self.kernel.threads.keys()
                tests = [
                    self._control(t, known, is_constraint=True) for t in constraints
                ]
                taken, other = self._branches(constraints, threads)
                body = self.steps(node.body, fixed, taken)
                orelse = self.steps(node.orelse, fixed, other)
                if (body or orelse) and all(tests):
                    yield Branch(constraints, body, orelse)
                elif body or orelse:
                    self._check_uniform(constraints)
                    yield Fork(body, orelse)
            case _:
                uses = (u for u in uses_in((node,)) if u.access.array in self.arrays)
                yield from (self._site(use, fixed) for use in uses)

    def _converges(self, barrier: Barrier, threads: Mask) -> bool:
        """Whether whole warps reach a barrier of warps that orders no accesses."""
        is_of_warps = barrier.lanes is not None
        return (
            is_of_warps and not self.memories <= barrier.orders and are_warps(threads)
        )

    def _branches(
        self, constraints: tuple[str, ...], threads: Mask | None
    ) -> tuple[Mask | None, Mask | None]:
        """The threads of each branch, None where more than threads decides that."""
        indices = self.kernel.indices
        used = [formula(text, is_constraint=True).variables for text in constraints]
        if threads is None or not all(names <= indices.keys() for names in used):
            return None, None
        taken = held(constraints, indices, threads.shape)
        return threads & taken, threads & ~taken

    def _control(
        self, text: str, known: frozenset[str], *, is_constraint: bool
    ) -> bool:
        """Whether a bound or condition has a known value in each block.

        It must not depend on threads and on what is not known.
        """
        variables = formula(text, is_constraint=is_constraint).variables
        blocks = self.kernel.blocks.keys()
        if variables <= known - self.open_loops:
            return True
        if variables <= blocks - self.kernel.unknown:
            self.control.add((text, is_constraint))
            return True
        if not variables <= (known | blocks | self.kernel.unknown):
            raise UndecidedError(text)
        if variables & self.kernel.threads.keys():
            raise UndecidedError(text)
        return False

    def _check_uniform(self, constraints: Sequence[str]) -> None:
        """Raise UndecidedError if a condition may differ between threads."""
        for text in constraints:
            used = formula(text, is_constraint=True).variables
            if used & self.kernel.threads.keys():
                raise UndecidedError(text)

    def _site(self, use: Use, fixed: frozenset[str]) -> Site:
        known = self.kernel.threads.keys() | {loop.name for loop in use.loops}
        known |= {name for name, _ in use.access.span}
        split = fixed | self.kernel.unknown
        indices, extents = self._cell(use, split)
        loops = tuple(Range.of(loop, split) for loop in use.loops)
        exact = fixed - self.open_loops
        conditions = tuple(_decided(use.conditions, exact, known))
        formulas = [*indices, *(bound for loop in loops for bound in loop.bounds)]
        if not all(each.variables <= known for each in formulas):
            raise UndecidedError(
                f"an access to {use.access.array} depends on other variables"
            )
        held = [each for formulas, _ in conditions for each in formulas]
        parts = {
            name: residues(name, exact, self.kernel.unknown)
            for each in (*formulas, *held)
            for name, _ in each.parts
        }
        number = len(self.sites)
        site = Site(number, use, extents, indices, loops, conditions, parts)
        self.sites.append(site)
        return site

    def _cell(
        self, use: Use, fixed: frozenset[str]
    ) -> tuple[tuple[Formula, ...], tuple[int, ...]]:
        """The indices and the extents of the array, or those inside of a tile."""
        access, array = use.access, self.kernel.arrays[use.access.array]
        if array.name in self.tilings:
            tiling = self.tilings[array.name]
            nodes = tiling.indices[use.statement.name, id(access)]
            indices = tuple(formula_of(node, fixed) for node in nodes)
            return indices, tiling.extents
        extents = tuple(extent for extent in array.shape if isinstance(extent, int))
        texts = [index for index in access.indices if index is not None]
        if not len(texts) == len(extents) == len(array.shape) or array.ordered:
            raise UndecidedError(f"unknown extents or indices of {array.name}")
        if prod(extent + 2 for extent in extents) > MOST_CELLS:
            raise UndecidedError(f"{array.name} is large")
        return tuple(formula(text, fixed) for text in texts), extents


def _decided(
    conditions: Sequence[Condition], fixed: frozenset[str], known: AbstractSet[str]
) -> Iterator[tuple[tuple[Formula, ...], bool]]:
    """The conditions over known variables; the others are taken as true."""
    for condition in conditions:
        if condition.constraints is not None:
            formulas = tuple(
                formula(text, fixed, is_constraint=True)
                for text in condition.constraints
            )
            if all(each.variables <= known for each in formulas):
                yield formulas, condition.holds


def cell_count(extents: Sequence[int]) -> int:
    """The number of cells, with a border around them."""
    return prod(extent + 2 for extent in extents)


def table_of(kernel: KernelAccesses, site: Site, key: Key) -> Table:
    """The cells of all threads and inner iterations.

    All cells outside of the array on one side are one: that only adds conflicts.
    """
    fixed = dict(zip(site.parts, key, strict=True))
    values, mask = points(kernel, site.loops, spans(site.use.access), fixed)
    shape = mask.shape
    cells: int | Integers = 0
    for index, extent in zip(site.indices, site.extents, strict=True):
        inside = np.minimum(np.maximum(index.value(values), -1), extent)
        cells = cells * (extent + 2) + (inside + 1)
    for formulas, holds in site.conditions:
        is_true = np.ones(shape, bool)
        for each in formulas:
            is_true &= each.value(values)
        mask &= is_true == holds
    where = _spread(cells, shape)
    numbers = _spread(kernel.numbers.reshape(-1, *(1,) * (len(shape) - 1)), shape)
    if mask.all():
        return where.ravel(), numbers.ravel()
    return where[mask], numbers[mask]


def _spread(values: int | Integers, shape: tuple[int, ...]) -> Integers:
    spread = np.asarray(values)
    return spread if spread.shape == shape else np.broadcast_to(spread, shape)


def unlike_blocks(
    kernel: KernelAccesses, control: Sequence[tuple[str, bool]]
) -> Iterator[dict[str, int]]:
    """A block for each combination of values of bounds and conditions."""
    if not control:
        yield {}
        return
    formulas = [formula(text, is_constraint=is_test) for text, is_test in control]
    used = sorted(frozenset[str]().union(*(each.variables for each in formulas)))
    values, count = kernel.all_blocks(used)
    rows = [np.broadcast_to(each.value(values), count) for each in formulas]
    _, first = np.unique(np.stack(rows), axis=1, return_index=True)
    if len(first) > MOST_KINDS:
        raise UndecidedError("too many kinds of blocks")
    yield from ({name: int(values[name][n]) for name in used} for n in first)
