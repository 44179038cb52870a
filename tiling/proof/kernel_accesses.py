"""The threads of a kernel and its accesses, for proofs by enumeration.

`KernelAccesses.of` takes a `Scop` whose outermost loops are blocks and threads of known
extents, and lists every access with the loops and conditions around it.  `points` and
`holding` enumerate the threads of a block and the iterations of loops as the axes of
NumPy arrays.  Kernels of other shapes raise `UndecidedError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpucodegen.tiling.model.isl_evaluation import (
    LARGEST,
    Environment,
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

    ``body`` is the program of a thread.  Threads are numbered as in `kernel_order`: the
    outermost thread loop varies fastest.
    """

    blocks: dict[str, int]
    threads: dict[str, int]
    body: tuple[Node, ...]
    arrays: dict[str, Array]
    uses: tuple[Use, ...]

    @staticmethod
    def of(scop: Scop) -> KernelAccesses:
        """Raise UndecidedError where the shape of the kernel is not known."""
        blocks, threads, body = dict[str, int](), dict[str, int](), scop.body
        if scop.parameters:
            raise UndecidedError("parameters")
        while len(body) == 1 and isinstance(body[0], Loop) and _is_fixed(body[0]):
            loop = body[0]
            extents = threads if loop.role is Role.THREAD else blocks
            extents[loop.name] = _extent(loop)
            body = loop.body
        if not threads or prod(threads.values()) > MOST_THREADS:
            raise UndecidedError("the number of threads")
        for node in walk(body):
            if isinstance(node, Loop) and (_is_fixed(node) or not _is_counted(node)):
                raise UndecidedError(f"loop {node.name}")
        arrays = {array.name: array for array in scop.arrays}
        uses = tuple(uses_in(body))
        variables = {loop.name for loop in loops(scop.body)}
        for use in uses:
            local = [name for name, _ in use.access.span]
            if len(set(local) - variables) < len(local):
                raise UndecidedError("local iterators with names of loops")
        return KernelAccesses(blocks, threads, body, arrays, uses)

    @property
    def count(self) -> int:
        return prod(self.threads.values())

    @property
    def numbers(self) -> Integers:
        """The numbers of the threads of a block."""
        return np.arange(self.count)

    @property
    def indices(self) -> dict[str, Integers]:
        """The values of the thread variables, by the number of the thread."""
        found, rest = dict[str, Integers](), self.numbers
        for name, extent in self.threads.items():
            found[name], rest = rest % extent, rest // extent
        return found

    def is_private(self, array: str) -> bool:
        """Whether each thread of each block has its own copy of the array."""
        return self.blocks.keys() | self.threads.keys() <= set(self.arrays[array].scope)

    def is_of_block(self, array: str) -> bool:
        """Whether each block has one copy of the array for the whole kernel."""
        return self.blocks.keys() == set(self.arrays[array].scope)


def _is_fixed(loop: Loop) -> bool:
    return loop.role is not Role.SEQUENTIAL


def _is_counted(loop: Loop) -> bool:
    return bool(loop.lowers and loop.uppers and loop.step > 0) and not loop.opaque


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


def points(
    kernel: KernelAccesses, ranges: Sequence[tuple[str, Integers]]
) -> tuple[dict[str, Integers], tuple[int, ...]]:
    """The variables of all threads (axis 0) and ranges (one axis each), the shape."""
    shape = (kernel.count, *(len(values) for _, values in ranges))
    if prod(shape) > MOST_POINTS:
        raise UndecidedError("too many points")
    inner = (1,) * len(ranges)
    found = {name: value.reshape(-1, *inner) for name, value in kernel.indices.items()}
    for axis, (name, values) in enumerate(ranges, 1):
        found[name] = values.reshape(
            *(-1 if d == axis else 1 for d in range(len(shape)))
        )
    return found, shape


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
