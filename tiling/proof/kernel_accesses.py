"""The threads of a kernel and its accesses, for proofs by enumeration.

`KernelAccesses.of` takes a `Scop` whose outermost loops are blocks, and threads of
known extents, and lists every access with the loops and conditions around it.  `points`
and `held` enumerate the threads of a block and the iterations of loops as the axes of
NumPy arrays.  Kernels of other shapes raise `UndecidedError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl_evaluation import (
    LARGEST,
    Environment,
    Formula,
    Integers,
    UndecidedError,
    formula,
)
from gpucodegen.tiling.model.scop import (
    Access,
    Array,
    Barrier,
    Commit,
    GroupWait,
    If,
    Loop,
    Node,
    ProxyFence,
    Role,
    Scop,
    Statement,
    Wait,
    loops,
    walk,
)

Mask: TypeAlias = NDArray[np.bool_]
Fence: TypeAlias = Barrier | Commit | GroupWait | ProxyFence

MOST_THREADS = 1024
"""Threads of a block on all GPUs (CUDA C++ Programming Guide, Compute Capabilities)."""
MOST_POINTS = 1 << 20
"""Elements of one array of values."""
MOST_WORK = 1 << 25
"""Elements of all arrays of one proof; one that needs more is left to isl."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Whether all constraints hold, or not all; None is unknown."""

    constraints: tuple[str, ...] | None
    holds: bool


@dataclass(frozen=True, slots=True)
class Use:
    """An access with the sequential loops and the conditions around it."""

    access: Access
    statement: Statement
    loops: tuple[Loop, ...]
    conditions: tuple[Condition, ...]

    @property
    def is_plain(self) -> bool:
        """Whether the thread itself executes the access, at its place in the program.

        Asynchronous copies and operations on mbarriers are not plain.
        """
        of = self.statement
        special = of.tag or of.phase or of.grouped or of.bulk or of.joined
        return not special


@dataclass(frozen=True, slots=True)
class KernelAccesses:
    """The extents of the grid and of a block, and all accesses inside.

    An extent of the grid that is not known is None.  ``parameters`` are integers of any
    value.  ``body`` is the program of a thread.  Threads are numbered as in
    `kernel_order`: the outermost thread loop varies fastest.
    """

    blocks: dict[str, int | None]
    threads: dict[str, int]
    parameters: frozenset[str]
    body: tuple[Node, ...]
    arrays: dict[str, Array]
    uses: tuple[Use, ...]

    @staticmethod
    def of(scop: Scop) -> KernelAccesses:
        """Raise UndecidedError where the shape of the kernel is not known."""
        blocks, threads, body = dict[str, int | None](), dict[str, int](), scop.body
        while len(body) == 1 and isinstance(body[0], Loop) and _is_fixed(body[0]):
            loop = body[0]
            if loop.role is Role.THREAD:
                threads[loop.name] = _extent(loop)
            else:
                blocks[loop.name] = _extent(loop) if _is_known(loop) else None
            body = loop.body
        if not threads or prod(threads.values()) > MOST_THREADS:
            raise UndecidedError("the number of threads")
        for node in walk(body):
            if isinstance(node, Loop) and (_is_fixed(node) or not _is_counted(node)):
                raise UndecidedError(f"loop {node.name}")
        arrays = {array.name: array for array in scop.arrays}
        uses = tuple(uses_in(body))
        variables = {*scop.parameters, *(loop.name for loop in loops(scop.body))}
        for use in uses:
            local = [name for name, _ in use.access.span]
            if len(set(local) - variables) < len(local):
                raise UndecidedError("local iterators with names of loops")
        parameters = frozenset(scop.parameters)
        return KernelAccesses(blocks, threads, parameters, body, arrays, uses)

    def extent(self, block: str) -> int:
        """The extent of the grid along a dimension; raise if it is not known."""
        extent = self.blocks[block]
        if extent is None:
            raise UndecidedError(f"the extent of {block}")
        return extent

    def all_blocks(self, names: Sequence[str]) -> tuple[dict[str, Integers], int]:
        """The numbers of all blocks along these dimensions, and how many there are."""
        shape = [self.extent(name) for name in names]
        count = prod(shape)
        if count > MOST_POINTS:
            raise UndecidedError("too many blocks")
        grid = np.indices(shape, np.int64).reshape(len(names), count)
        return dict(zip(names, grid, strict=True)), count

    @property
    def unknown(self) -> frozenset[str]:
        """The variables that may have any value: parameters, and blocks of those."""
        blocks = {name for name, extent in self.blocks.items() if extent is None}
        return self.parameters | blocks

    @property
    def count(self) -> int:
        return prod(self.threads.values())

    @property
    def numbers(self) -> Integers:
        """The numbers of the threads of a block."""
        return _numbers(self.count)

    @property
    def indices(self) -> dict[str, Integers]:
        """The values of the thread variables, by the number of the thread."""
        values = _thread_indices(tuple(self.threads.values()))
        return dict(zip(self.threads, values, strict=True))

    def is_private(self, array: str) -> bool:
        """Whether each thread of each block has its own copy of the array."""
        return self.blocks.keys() | self.threads.keys() <= set(self.arrays[array].scope)

    def is_of_block(self, array: str) -> bool:
        """Whether each block has one copy of the array for the whole kernel."""
        return self.blocks.keys() == set(self.arrays[array].scope)


@lru_cache(maxsize=64)
def _numbers(count: int) -> Integers:
    numbers = np.arange(count)
    numbers.flags.writeable = False
    return numbers


@lru_cache(maxsize=64)
def _thread_indices(extents: tuple[int, ...]) -> tuple[Integers, ...]:
    """The values of each thread variable; the first one varies fastest."""
    found, rest = list[Integers](), _numbers(prod(extents))
    for extent in extents:
        found.append(rest % extent)
        rest = rest // extent
    for values in found:
        values.flags.writeable = False
    return tuple(found)


def has_fence(node: Node) -> bool:
    return any(isinstance(inner, Fence) for inner in walk((node,)))


def _is_fixed(loop: Loop) -> bool:
    return loop.role is not Role.SEQUENTIAL


def _is_counted(loop: Loop) -> bool:
    return bool(loop.lowers and loop.uppers and loop.step > 0) and not loop.opaque


def _is_known(loop: Loop) -> bool:
    return len(loop.uppers) == 1 and loop.uppers[0].isdecimal()


def _extent(loop: Loop) -> int:
    if loop.lowers != ("0",) or len(loop.uppers) != 1 or loop.step != 1 or loop.opaque:
        raise UndecidedError(f"loop {loop.name}")
    (upper,) = loop.uppers
    if not upper.isdecimal() or not 0 < int(upper) < LARGEST:
        raise UndecidedError(f"loop {loop.name}")
    return int(upper)


@dataclass(slots=True)
class Budget:
    """What is left of the elements that a proof may compute."""

    left: int = MOST_WORK

    def spend(self, elements: int) -> None:
        """Raise UndecidedError where too many elements were computed."""
        self.left -= elements
        if self.left < 0:
            raise UndecidedError("too much to enumerate")


def uses_in(
    body: Sequence[Node],
    around: tuple[Loop, ...] = (),
    conditions: tuple[Condition, ...] = (),
) -> Iterator[Use]:
    """The accesses in a body, in textual order."""
    for node in body:
        match node:
            case Loop():
                yield from uses_in(node.body, (*around, node), conditions)
            case If(constraints=known):
                inside = (*conditions, Condition(known, holds=True))
                yield from uses_in(node.body, around, inside)
                outside = (*conditions, Condition(known, holds=False))
                yield from uses_in(node.orelse, around, outside)
            case Statement():
                for access in node.accesses:
                    yield Use(access, node, around, conditions)
            case Barrier() | Wait() | Commit() | GroupWait() | ProxyFence():
                pass


def are_updates(uses: Sequence[Use]) -> bool:
    """Whether some accesses are atomic updates of one kind, which never race."""
    kinds = {use.access.atomic for use in uses}
    return len(kinds) == 1 and kinds != {""}


@dataclass(frozen=True, slots=True)
class Range:
    """A loop, whose bounds are the greatest lower and the least upper one."""

    name: str
    lowers: tuple[Formula, ...]
    uppers: tuple[Formula, ...]
    step: int

    @property
    def bounds(self) -> tuple[Formula, ...]:
        return *self.lowers, *self.uppers

    def lower(self, values: Environment) -> Integers:
        found = [np.asarray(bound.value(values)) for bound in self.lowers]
        return reduce(np.maximum, found)

    def values(self, values: Environment) -> Integers:
        """The values, if the bounds do not depend on threads."""
        upper = min(int(bound.value(values)) for bound in self.uppers)
        return steps(int(self.lower(values)), upper, self.step)

    @staticmethod
    def of(loop: Loop, fixed: frozenset[str] = frozenset()) -> Range:
        lowers, uppers = (
            tuple(formula(text, fixed) for text in texts)
            for texts in (loop.lowers, loop.uppers)
        )
        return Range(loop.name, lowers, uppers, loop.step)


def points(
    kernel: KernelAccesses,
    ranges: Sequence[Range],
    spans: Sequence[tuple[str, Integers]],
    fixed: Environment,
) -> tuple[dict[str, int | Integers], Mask]:
    """The variables of all threads (axis 0), loops and spans (an axis each).

    And which of these points exist.  Bounds of loops may depend on threads, on loops
    before and on ``fixed`` values.
    """
    rank = 1 + len(ranges) + len(spans)
    found: dict[str, int | Integers] = {
        name: value.reshape(-1, *(1,) * (rank - 1))
        for name, value in kernel.indices.items()
    }
    found |= fixed
    mask = np.ones((kernel.count, *(1,) * (rank - 1)), bool)
    for axis, loop in enumerate(ranges, 1):
        if any(not bound.variables <= found.keys() for bound in loop.bounds):
            raise UndecidedError(f"bounds of loop {loop.name}")
        lower = loop.lower(found)
        upper = reduce(
            np.minimum, [np.asarray(bound.value(found)) for bound in loop.uppers]
        )
        check_bounds(int(lower.min(initial=0)), int(upper.max(initial=0)))
        trips = steps(0, int((upper - lower).max(initial=0)), loop.step)
        value = lower + _along(axis, rank, trips)
        if mask.size * trips.size > MOST_POINTS:
            raise UndecidedError("too many points")
        mask = mask & (value < upper)
        found[loop.name] = value
    for axis, (name, values) in enumerate(spans, 1 + len(ranges)):
        found[name] = _along(axis, rank, values)
        if mask.size * values.size > MOST_POINTS:
            raise UndecidedError("too many points")
        mask = mask & np.ones_like(found[name], bool)
    return found, mask


def _along(axis: int, rank: int, values: Integers) -> Integers:
    return values.reshape(*(-1 if d == axis else 1 for d in range(rank)))


def spans(access: Access) -> list[tuple[str, Integers]]:
    """The ranges of the local iterators of an access; all must be constant."""
    if access.where or any(upper is None for _, upper in access.span):
        raise UndecidedError("constraints on cells")
    found = [(name, formula(str(upper))) for name, upper in access.span]
    if any(upper.variables for _, upper in found):
        raise UndecidedError("a span that is not constant")
    ranges = [(name, steps(0, int(upper.value({})), 1)) for name, upper in found]
    if not all(values.size for _, values in ranges):
        raise UndecidedError("an access without cells")
    return ranges


def steps(lower: int, upper: int, step: int) -> Integers:
    """The values of a loop variable."""
    check_bounds(lower, upper)
    if (upper - lower) // step > MOST_POINTS:
        raise UndecidedError("too many iterations")
    return np.arange(lower, upper, step)


def check_bounds(lower: int, upper: int) -> None:
    """Raise UndecidedError where values of a variable may be too large."""
    if lower <= -LARGEST or upper >= LARGEST:
        raise UndecidedError("large bounds")


def held(constraints: Sequence[str], values: Environment, shape: Sequence[int]) -> Mask:
    """Where all constraints hold; every variable must have a value."""
    mask = np.ones(shape, bool)
    for text in constraints:
        condition = formula(text, is_constraint=True)
        if not condition.variables <= values.keys():
            raise UndecidedError(text)
        mask &= condition.value(values)
    return mask
