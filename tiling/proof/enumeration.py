"""Race freedom of a mapped kernel by enumeration of one block, without isl.

`proven` returns the arrays of a `Scop` that certainly break none of the rules of
`races`, and whether all rules hold.  It never finds a race: what it does not decide is
left to `races`, which also has the witnesses.  It covers

* arrays that are never written, and arrays of one thread that no copy accesses;
* arrays whose accesses are all atomic updates of one kind, and no copies;
* arrays of the whole grid whose cells have single owners (`cell_owners`);
* the arrays of one ring of stages with mbarriers (`mbarrier_rings`);
* arrays of a block, with barriers of the block and of warps, copies in commit groups,
  by threads and by the copy engine, and proxy fences, by executing one block
  (`block_execution`); with them arrays of the whole grid of which each block accesses
  tiles of its own (`cell_owners`).

Extents of the grid and trip counts of loops with barriers may depend on parameters,
and conditions on copies may depend on these counts (`cases`).
Tags and waits on them, other mbarriers, barriers of the grid or of some lanes, and
other uses of parameters are left to isl.  `Access.must`, ``assumed`` and ``trusted`` do
not matter: every access counts, and an unknown index of an array that is written is
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl_evaluation import UndecidedError
from gpucodegen.tiling.model.scop import (
    Barrier,
    Commit,
    GroupWait,
    If,
    Loop,
    Node,
    Phase,
    ProxyFence,
    Scop,
    Statement,
    Wait,
    walk,
)
from gpucodegen.tiling.proof.block_execution import BlockExecution
from gpucodegen.tiling.proof.block_program import Program, unlike_blocks
from gpucodegen.tiling.proof.cases import ANY, Case, branch_cases, trip_cases
from gpucodegen.tiling.proof.cell_owners import Tiling, check_owners, tiling_of
from gpucodegen.tiling.proof.kernel_accesses import (
    Budget,
    KernelAccesses,
    Use,
    are_updates,
)
from gpucodegen.tiling.proof.kernel_order import ALL_LANES
from gpucodegen.tiling.proof.mbarrier_rings import Ring, find_ring


@dataclass(frozen=True, slots=True)
class Verdict:
    """What enumeration proves of a kernel.

    ``arrays``: no rule on pairs of accesses to these is broken.  ``is_complete``: no
    rule of `races` is broken at all, and there are no waits on tags.
    """

    arrays: frozenset[str] = frozenset()
    is_complete: bool = False


def proven(scop: Scop) -> Verdict:
    """Decide what enumeration can.

    >>> from gpucodegen.tiling.model.scop import Array, Role, nest, read, write
    >>> thread = Loop("t", "0", "32", role=Role.THREAD)
    >>> put, get = write("s", "t"), read("s", "31 - t")
    >>> store, load = Statement("put", (put,)), Statement("get", (get,))
    >>> def kernel(*body):
    ...     return Scop(arrays=(Array("s", (32,)),), body=nest([thread], body))
    >>> proven(kernel(store, Barrier(), load)).is_complete
    True
    >>> proven(kernel(store, load))
    Verdict(arrays=frozenset(), is_complete=False)
    """
    try:
        kernel = KernelAccesses.of(scop)
    except UndecidedError:
        return Verdict()
    by_array = dict[str, list[Use]]()
    for use in kernel.uses:
        by_array.setdefault(use.access.array, []).append(use)
    decided = {name for name in by_array if _needs_no_order(kernel, by_array[name])}
    ring = _ring(kernel)
    decided |= ring.arrays
    conflicting = by_array.keys() - decided
    of_blocks = frozenset(filter(kernel.is_of_block, conflicting))
    shared = conflicting - of_blocks
    decided |= {name for name in shared if _has_owners(kernel, name, by_array[name])}
    tilings = dict(_tilings(kernel, by_array, shared - decided))
    for tiled in (tilings, {}) if tilings else ({},):
        arrays = of_blocks | tiled.keys()
        if _are_in_order(kernel, arrays, tiled, ring.statements):
            decided |= arrays
            return Verdict(frozenset(decided), by_array.keys() <= decided)
    return Verdict(frozenset(decided))


def have_owners(scop: Scop) -> bool:
    """Whether one thread of one block owns each cell of the arrays of the whole grid.

    Arrays that are only read, or only updated atomically, count, too.
    """
    try:
        kernel = KernelAccesses.of(scop)
    except UndecidedError:
        return False
    by_array = dict[str, list[Use]]()
    for use in kernel.uses:
        by_array.setdefault(use.access.array, []).append(use)
    return all(
        kernel.is_of_block(name)
        or _needs_no_order(kernel, uses)
        or _has_owners(kernel, name, uses)
        for name, uses in by_array.items()
    )


def _tilings(
    kernel: KernelAccesses, by_array: Mapping[str, Sequence[Use]], names: Iterable[str]
) -> Iterator[tuple[str, Tiling]]:
    for name in names:
        with suppress(UndecidedError):
            yield name, tiling_of(kernel, name, by_array[name])


def _has_owners(kernel: KernelAccesses, array: str, uses: Sequence[Use]) -> bool:
    try:
        check_owners(kernel, array, uses)
    except UndecidedError:
        return False
    return True


def _needs_no_order(kernel: KernelAccesses, uses: Sequence[Use]) -> bool:
    """Whether no two accesses of different threads to one array conflict.

    It is only read, or each thread has its own, or all accesses are atomic updates of
    one kind.  Asynchronous copies may only read it.
    """
    if not any(use.access.writes for use in uses):
        return True
    if not all(use.is_plain for use in uses):
        return False
    return kernel.is_private(uses[0].access.array) or are_updates(uses)


def _ring(kernel: KernelAccesses) -> Ring:
    try:
        return find_ring(kernel)
    except UndecidedError:
        return Ring()


def _are_in_order(
    kernel: KernelAccesses,
    arrays: frozenset[str],
    tilings: Mapping[str, Tiling],
    proven: frozenset[str],
) -> bool:
    """Whether `_check_blocks` succeeds for all values, or in each of some cases."""
    for cases_of in (lambda _: [ANY], trip_cases, branch_cases):
        with suppress(UndecidedError):
            cases = cases_of(kernel)
            _check_blocks(kernel, arrays, tilings, proven, cases)
            if cases:
                return True
    return False


def _check_blocks(
    kernel: KernelAccesses,
    arrays: frozenset[str],
    tilings: Mapping[str, Tiling],
    proven: frozenset[str],
    cases: Sequence[Case],
) -> None:
    """Raise UndecidedError unless arrays of blocks, barriers and copies are in order.

    Blocks for which all control has the same values execute the same program.
    ``tilings``: of those arrays that all blocks share.  ``proven``: the statements on
    mbarriers, which order nothing here.  Each branch is as much work as a kernel alone.
    """
    written = {use.access.array for use in kernel.uses if use.access.writes}
    if not all(_is_covered(n, arrays, written, proven) for n in walk(kernel.body)):
        raise UndecidedError("a fence or copy of another kind")
    memories = frozenset({"shared", "global"} if tilings else {"shared"})
    everyone, budget = np.ones(kernel.count, bool), Budget()
    for case in cases:
        budget = Budget() if case.branch else budget
        program = Program(kernel, arrays, memories, tilings, case)
        nodes = case.program(kernel.body, kernel.parameters)
        body = program.steps(nodes, frozenset(), everyone)
        period = program.period
        done = BlockExecution(kernel, program.sites, memories, period, budget=budget)
        for block in unlike_blocks(kernel, sorted(program.control)):
            done.run(body, block)


def _is_covered(
    node: Node,
    arrays: frozenset[str],
    written: AbstractSet[str],
    proven: frozenset[str],
) -> bool:
    """Whether it is no fence or copy that `BlockExecution` does not know.

    Each copy must access some of the arrays, so that it is an event, and others only if
    these are never ``written``.  It must not read an array that it writes.
    """
    match node:
        case Barrier():
            is_whole = node.lanes in (None, ALL_LANES)
            return is_whole and not node.of_grid and not node.alone
        case Commit() | GroupWait() | ProxyFence():
            return True
        case Wait():
            return False
        case Statement(phase=Phase()):
            return node.name in proven
        case Statement(grouped=True):
            into = {access.array for access in node.accesses if access.writes}
            out = {access.array for access in node.accesses if not access.writes}
            used = (into | out) & written
            is_event = bool(used) and used <= arrays and not into & out
            return is_event and not (node.tag or node.joined)
        case Statement():
            return not (node.tag or node.bulk or node.joined)
        case Loop() | If():
            return True
