"""Race freedom of a mapped kernel by enumeration of one block, without isl.

`proven` returns the arrays of a `Scop` that certainly break none of the rules of
`races`, and whether all rules hold.  It never finds a race: what it does not decide is
left to `races`, which also has the witnesses.  It covers

* arrays that are never written, and arrays of one thread that no copy accesses;
* arrays whose accesses are all atomic updates of one kind, and no copies;
* arrays of the whole grid whose cells have single owners (`cell_owners`);
* arrays of a block, with barriers of the block and of warps and with copies in commit
  groups, by a walk over the program (`_Walk`).

Parameters, tags and waits on them, mbarriers, the copy engine, barriers of the grid or
of some lanes, and unknown trip counts are left to isl.  `Access.must`, ``assumed`` and
``trusted`` do not matter: every access counts, and an unknown index of an array that is
written is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import prod
from types import CodeType
from typing import TypeAlias

import numpy as np

from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.isl_evaluation import (
    Environment,
    Formula,
    Integers,
    UndecidedError,
    evaluated,
    formula,
)
from gpucodegen.tiling.model.scop import (
    Barrier,
    Commit,
    GroupWait,
    If,
    Loop,
    Node,
    ProxyFence,
    Scop,
    Statement,
    Wait,
    walk,
)
from gpucodegen.tiling.proof.cell_owners import Owners, check_owners
from gpucodegen.tiling.proof.kernel_accesses import (
    MOST_POINTS,
    Condition,
    KernelAccesses,
    Mask,
    Use,
    held,
    points,
    spans,
    steps,
    uses_in,
)
from gpucodegen.tiling.proof.kernel_order import ALL_LANES

MOST_STEPS = 50_000
"""Loop iterations, accesses and barriers of one walk."""
MOST_WALKS = 16
"""Blocks that are walked because they branch differently."""
MOST_CELLS = 1 << 22
"""Cells of an array of a block; shared memory has fewer."""


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
    conflicting = by_array.keys() - decided
    of_blocks = frozenset(filter(kernel.is_of_block, conflicting))
    decided |= {
        name
        for name in conflicting - of_blocks
        if _has_owners(kernel, name, by_array[name])
    }
    try:
        _walk(kernel, of_blocks)
    except UndecidedError:
        return Verdict(frozenset(decided))
    decided |= of_blocks
    return Verdict(frozenset(decided), by_array.keys() <= decided)


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
    return kernel.is_private(uses[0].access.array) or _are_updates(uses)


def _are_updates(uses: Sequence[Use]) -> bool:
    kinds = {use.access.atomic for use in uses}
    return len(kinds) == 1 and kinds != {""}


Key: TypeAlias = tuple[int, ...]
Event: TypeAlias = tuple[int, Key, int]
"""An access that threads execute: numbers of its site and of the threads' mask.

The key has the values of all that its cells depend on but threads and inner loops.
"""
Table: TypeAlias = tuple[Integers, Integers]
"""Cells and the threads that access them, in pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class _Site:
    """An access in loops that hold no barrier, so all its iterations are of one phase.

    ``parts``: the parts of its formulas over the walked loops, by name; their values
    are the key of an event.
    """

    number: int
    use: Use
    extents: tuple[int, ...]
    indices: tuple[Formula, ...]
    loops: tuple[_Range, ...]
    conditions: tuple[tuple[tuple[Formula, ...], bool], ...]
    parts: dict[str, CodeType]

    @property
    def is_copy(self) -> bool:
        return self.use.statement.grouped


@dataclass(frozen=True, slots=True)
class _Range:
    name: str
    lowers: tuple[Formula, ...]
    uppers: tuple[Formula, ...]
    step: int

    def values(self, values: Environment) -> Integers:
        lower = max(int(bound.value(values)) for bound in self.lowers)
        upper = min(int(bound.value(values)) for bound in self.uppers)
        return steps(lower, upper, self.step)

    @staticmethod
    def of(loop: Loop, fixed: frozenset[str] = frozenset()) -> _Range:
        lowers, uppers = (
            tuple(formula(text, fixed) for text in texts)
            for texts in (loop.lowers, loop.uppers)
        )
        return _Range(loop.name, lowers, uppers, loop.step)


@dataclass(frozen=True, slots=True, eq=False)
class _WalkedLoop:
    range: _Range
    body: tuple[_Step, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Branch:
    constraints: tuple[str, ...]
    body: tuple[_Step, ...]
    orelse: tuple[_Step, ...]


_Step: TypeAlias = "_Site | _WalkedLoop | _Branch | Barrier | Commit | GroupWait"


def _is_fence(node: Node) -> bool:
    return isinstance(node, Barrier | Commit | GroupWait)


def _has_fence(node: Node) -> bool:
    return any(map(_is_fence, walk((node,))))


@dataclass(slots=True)
class _Program:
    """The program of a block: accesses to some arrays, fences, and what holds them.

    ``control``: the loop bounds and, with True, the conditions that depend on blocks.
    """

    kernel: KernelAccesses
    arrays: frozenset[str]
    sites: list[_Site] = field(default_factory=list[_Site])
    control: set[tuple[str, bool]] = field(default_factory=set[tuple[str, bool]])

    def steps(self, nodes: Sequence[Node], fixed: frozenset[str]) -> tuple[_Step, ...]:
        """The body of a loop; ``fixed``: the variables of the loops that are walked."""
        return tuple(step for node in nodes for step in self._steps(node, fixed))

    def _steps(self, node: Node, fixed: frozenset[str]) -> Iterator[_Step]:
        match node:
            case Barrier() | Commit() | GroupWait():
                yield node
            case Loop() if _has_fence(node):
                known = fixed
                for text in (*node.lowers, *node.uppers):
                    self._control(text, known, is_constraint=False)
                body = self.steps(node.body, fixed | {node.name})
                yield _WalkedLoop(_Range.of(node), body)
            case If(constraints=constraints) if _has_fence(node):
                if constraints is None:
                    raise UndecidedError("an unknown condition around a barrier")
                known = fixed | self.kernel.threads.keys()
                for text in constraints:
                    self._control(text, known, is_constraint=True)
                body = self.steps(node.body, fixed)
                yield _Branch(constraints, body, self.steps(node.orelse, fixed))
            case _:
                uses = uses_in((node,))
                yield from (self._site(u, fixed) for u in uses if self._counts(u))

    def _control(self, text: str, known: frozenset[str], *, is_constraint: bool) -> None:
        """Requires that control depends on known variables or on blocks, not both."""
        variables = formula(text, is_constraint=is_constraint).variables
        if variables <= known:
            return
        if not variables <= self.kernel.blocks.keys():
            raise UndecidedError(text)
        self.control.add((text, is_constraint))

    def _counts(self, use: Use) -> bool:
        of, is_asked = use.statement, use.access.array in self.arrays
        if of.tag or of.phase or of.bulk or of.joined:
            raise UndecidedError(f"{of.name} is of an engine or has a tag")
        if of.grouped and use.access.writes != is_asked:
            raise UndecidedError(f"{of.name} copies from or to other memory")
        return is_asked

    def _site(self, use: Use, fixed: frozenset[str]) -> _Site:
        known = self.kernel.threads.keys() | {loop.name for loop in use.loops}
        known |= {name for name, _ in use.access.span}
        array = self.kernel.arrays[use.access.array]
        extents = tuple(extent for extent in array.shape if isinstance(extent, int))
        texts = [index for index in use.access.indices if index is not None]
        if not len(texts) == len(extents) == len(array.shape) or array.ordered:
            raise UndecidedError(f"unknown extents or indices of {array.name}")
        if prod(extent + 2 for extent in extents) > MOST_CELLS:
            raise UndecidedError(f"{array.name} is large")
        indices = tuple(formula(text, fixed) for text in texts)
        loops = tuple(_Range.of(loop, fixed) for loop in use.loops)
        conditions = tuple(_decided(use.conditions, fixed, known))
        bounds = [bound for loop in loops for bound in (*loop.lowers, *loop.uppers)]
        if any(bound.variables for bound in bounds) or not all(
            index.variables <= known for index in indices
        ):
            raise UndecidedError(f"an access to {array.name} depends on other variables")
        held = [each for formulas, _ in conditions for each in formulas]
        parts = {n: code for f in (*indices, *bounds, *held) for n, code in f.parts}
        number = len(self.sites)
        site = _Site(number, use, extents, indices, loops, conditions, parts)
        self.sites.append(site)
        return site


def _decided(
    conditions: Sequence[Condition], fixed: frozenset[str], known: Set[str]
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


@dataclass(slots=True)
class _CommitGroup:
    """Copies that all threads committed together; arrived: they waited for it."""

    copies: tuple[Event, ...]
    has_arrived: bool = False


@dataclass(slots=True)
class _Walk:
    """The execution of one block, all threads at once, with checks at each barrier.

    Loops that hold barriers have bounds that do not depend on the thread, so an
    execution x has one place S(x) for all threads.  A phase has the accesses between
    two neighbouring barriers of the block.  Two executions x, y of different threads
    are ordered by a barrier unless

        both are of one phase, and
        their warps differ, or no barrier of their warp is between them.

    So the rule ``threads`` holds if in each phase (a) no cell is written by one warp
    and accessed by another and (b) among the accesses since a barrier of the warp, no
    cell is written by one thread and accessed by another.  Without barriers of warps,
    (b) implies (a).

    Copies belong to the commit groups of all threads alike.  A copy has arrived behind
    a wait that leaves fewer groups open than were committed since; other threads see
    it behind the next barrier of the block.  The rule ``transfers`` and those on copies
    of one group hold if, between two fences,

        no cell of a copy that has not arrived is accessed or copied again,
        a cell of one that has arrived is only accessed or copied by its own thread,

    and ``unfinished`` if at the end all copies have arrived.  ``divergence`` holds as
    barriers of the block, commits and waits are reached by all threads, those of warps
    by whole warps.

    What an event accesses depends on its key alone, so each set of events is checked
    once, and the cells of an event are enumerated once.
    """

    kernel: KernelAccesses
    sites: Sequence[_Site]
    count: int = 0
    masks: list[Mask] = field(default_factory=list[Mask])
    mask_numbers: dict[bytes, int] = field(default_factory=dict[bytes, int])
    tables: dict[object, Table] = field(default_factory=dict[object, Table])
    checked: set[object] = field(default_factory=set[object])
    phase: set[Event] = field(default_factory=set[Event])
    """The accesses since the last barrier of the block."""
    recent: set[Event] = field(default_factory=set[Event])
    """Those that no barrier of the warp is behind."""
    segment: set[Event] = field(default_factory=set[Event])
    """The accesses since the last fence of any kind."""
    uncommitted: list[Event] = field(default_factory=list[Event])
    groups: list[_CommitGroup] = field(default_factory=list[_CommitGroup])

    def run(self, program: Sequence[_Step], block: Mapping[str, int]) -> None:
        """Raise UndecidedError unless a block with these variables obeys the rules."""
        self.uncommitted, self.groups = [], []
        self._execute(program, block, np.ones(self.kernel.count, bool))
        self._end_phase()
        if self.uncommitted or any(group.copies for group in self._open()):
            raise UndecidedError("a copy that does not arrive")

    def _open(self) -> list[_CommitGroup]:
        return [group for group in self.groups if not group.has_arrived]

    def _execute(
        self, program: Sequence[_Step], values: Mapping[str, int], mask: Mask
    ) -> None:
        for step in program:
            self.count += 1
            if self.count > MOST_STEPS:
                raise UndecidedError("too many steps")
            match step:
                case _Site():
                    self._access(step, values, mask)
                case _WalkedLoop(range=each, body=body):
                    for value in each.values(values).tolist():
                        self.count += 1
                        self._execute(body, {**values, each.name: value}, mask)
                case _Branch(constraints=constraints):
                    known = {**values, **self.kernel.indices}
                    taken = held(constraints, known, mask.shape)
                    for body, some in ((step.body, taken), (step.orelse, ~taken)):
                        if (mask & some).any():
                            self._execute(body, values, mask & some)
                case Barrier(lanes=None):
                    self._require(mask.all())
                    if "shared" in step.orders:
                        self._end_phase()
                case Barrier():
                    self._synchronize_warps(step, mask)
                case Commit() | GroupWait():
                    self._require(mask.all())
                    self._end_segment()
                    self._count_groups(step)

    def _require(self, holds: bool | np.bool_) -> None:
        if not holds:
            raise UndecidedError("threads that do not reach a barrier")

    def _count_groups(self, step: Commit | GroupWait) -> None:
        if isinstance(step, Commit):
            self.groups.append(_CommitGroup(tuple(self.uncommitted)))
            self.uncommitted = []
        else:
            for group in self.groups[: max(0, len(self.groups) - step.pending)]:
                group.has_arrived = True

    def _access(self, site: _Site, values: Mapping[str, int], mask: Mask) -> None:
        key = tuple(int(evaluated(code, values)) for code in site.parts.values())
        event = site.number, key, self._mask_number(mask)
        if not self._table(event)[0].size:
            return
        for events in (self.phase, self.recent, self.segment):
            events.add(event)
        if site.is_copy:
            self.uncommitted.append(event)

    def _mask_number(self, mask: Mask) -> int:
        number = self.mask_numbers.setdefault(mask.tobytes(), len(self.masks))
        if number == len(self.masks):
            self.masks.append(mask)
        return number

    def _synchronize_warps(self, barrier: Barrier, mask: Mask) -> None:
        """A barrier of the warps in the mask."""
        self._require(mask.size % WARP == 0)
        warps = mask.reshape(-1, WARP)
        self._require((warps.any(axis=1) == warps.all(axis=1)).all())
        if "shared" in barrier.orders:
            self._end_segment()
            self._check_threads(self.recent, 1)
            others = {
                (site, key, self._mask_number(self.masks[number] & ~mask))
                for site, key, number in self.recent
            }
            self.recent = {e for e in others if self.masks[e[2]].any()}

    def _end_phase(self) -> None:
        """A barrier of the block."""
        self._end_segment()
        self._check_threads(self.recent, 1)
        if self.recent != self.phase:
            self._check_threads(self.phase, WARP)
        self.phase, self.recent, self.groups = set(), set(), self._open()

    def _check_threads(self, events: set[Event], size: int) -> None:
        """No cell is written in one set of ``size`` threads and used in another."""
        if not self._is_new((size, frozenset(events))):
            return
        for _, cells, same in self._by_array(events):
            uses = [self.sites[event[0]].use for event in same]
            if not _are_updates(uses) and any(use.access.writes for use in uses):
                tables = [(u, *self._table(e)) for u, e in zip(uses, same, strict=True)]
                written = (
                    (where, threads // size)
                    for use, where, threads in tables
                    if use.access.writes
                )
                owners = Owners.of(cells, written)
                for use, where, threads in tables:
                    if not use.access.writes:
                        owners.check(where, threads // size)

    def _is_new(self, question: object) -> bool:
        is_new = question not in self.checked
        self.checked.add(question)
        return is_new

    def _by_array(
        self, events: Iterable[Event]
    ) -> Iterator[tuple[str, int, list[Event]]]:
        """The events of each array, with a bound of the numbers of its cells."""
        found = dict[str, list[Event]]()
        for event in events:
            found.setdefault(self.sites[event[0]].use.access.array, []).append(event)
        for array, same in found.items():
            yield array, _cells(self.sites[same[0][0]].extents), same

    def _end_segment(self) -> None:
        """A fence: checks the accesses before it against copies under way."""
        segment, self.segment = self.segment, set()
        under_way = [*self.uncommitted, *(c for g in self._open() for c in g.copies)]
        arrived = [c for g in self.groups if g.has_arrived for c in g.copies]
        if not under_way and not arrived:
            return
        copies = tuple(sorted(under_way)), tuple(sorted(arrived))
        if not self._is_new((frozenset(segment), copies)):
            return
        started = {array: same for array, _, same in self._by_array(under_way)}
        complete = {array: same for array, _, same in self._by_array(arrived)}
        for array, cells, same in self._by_array(segment):
            opened, ended = started.get(array, []), complete.get(array, [])
            self._check_copies(cells, same, opened, ended)

    def _check_copies(
        self,
        cells: int,
        segment: Sequence[Event],
        under_way: Sequence[Event],
        arrived: Sequence[Event],
    ) -> None:
        owners = Owners.of(cells, map(self._table, arrived))
        copied = np.zeros(cells, np.int64)
        for event in under_way:
            where, threads = self._table(event)
            owners.check(where, threads)
            copied += np.bincount(where, minlength=cells)
        if (copied > 1).any():
            raise UndecidedError("two copies of one cell")
        for event in segment:
            if not self.sites[event[0]].is_copy:
                where, threads = self._table(event)
                owners.check(where, threads)
                if copied[where].any():
                    raise UndecidedError("a cell is used while it is copied")

    def _table(self, event: Event) -> Table:
        if event not in self.tables:
            site, key, number = event
            if event[:2] not in self.tables:
                self.tables[event[:2]] = _table(self.kernel, self.sites[site], key)
            cells, threads = self.tables[event[:2]]
            kept = self.masks[number][threads]
            is_whole = bool(kept.all())
            self.tables[event] = (
                (cells, threads) if is_whole else (cells[kept], threads[kept])
            )
        return self.tables[event]


def _cells(extents: Sequence[int]) -> int:
    """The number of cells, with a border around them."""
    return prod(extent + 2 for extent in extents)


def _table(kernel: KernelAccesses, site: _Site, key: Key) -> Table:
    """The cells of all threads and inner iterations.

    All cells outside of the array on one side are one: that only adds conflicts.
    """
    fixed = dict(zip(site.parts, key, strict=True))
    ranges = [(each.name, each.values(fixed)) for each in site.loops]
    variables, shape = points(kernel, [*ranges, *spans(site.use.access)])
    values = {**variables, **fixed}
    cells = np.zeros((1,) * len(shape), np.int64)
    for index, extent in zip(site.indices, site.extents, strict=True):
        inside = np.clip(index.value(values), -1, extent)
        cells = cells * (extent + 2) + (inside + 1)
    mask = np.ones(shape, bool)
    for formulas, holds in site.conditions:
        is_true = np.ones(shape, bool)
        for each in formulas:
            is_true &= each.value(values)
        mask &= is_true == holds
    numbers = kernel.numbers.reshape(-1, *(1,) * (len(shape) - 1))
    return np.broadcast_to(cells, shape)[mask], np.broadcast_to(numbers, shape)[mask]


def _walk(kernel: KernelAccesses, arrays: frozenset[str]) -> None:
    """Raise UndecidedError unless arrays of blocks, barriers and copies are in order.

    Blocks for which all control has the same values execute the same program.
    """
    if not all(map(_is_covered, walk(kernel.body))):
        raise UndecidedError("a fence of another kind")
    program = _Program(kernel, arrays)
    body = program.steps(kernel.body, frozenset())
    done = _Walk(kernel, program.sites)
    for block in _unlike_blocks(kernel, sorted(program.control)):
        done.run(body, block)


def _is_covered(node: Node) -> bool:
    match node:
        case Barrier():
            is_whole = node.lanes in (None, ALL_LANES)
            return is_whole and not node.of_grid and not node.alone
        case Commit():
            return not node.bulk
        case GroupWait():
            return not node.bulk and not node.reads
        case Wait() | ProxyFence():
            return False
        case Loop() | If() | Statement():
            return True


def _unlike_blocks(
    kernel: KernelAccesses, control: Sequence[tuple[str, bool]]
) -> Iterator[dict[str, int]]:
    """A block for each combination of values of bounds and conditions."""
    if not control:
        yield {}
        return
    formulas = [formula(text, is_constraint=is_test) for text, is_test in control]
    used = sorted(frozenset[str]().union(*(each.variables for each in formulas)))
    shape = [kernel.blocks[name] for name in used]
    if prod(shape) > MOST_POINTS:
        raise UndecidedError("too many blocks")
    grid = np.indices(shape, np.int64).reshape(len(used), -1)
    values = dict(zip(used, grid, strict=True))
    rows = [np.broadcast_to(each.value(values), prod(shape)) for each in formulas]
    _, first = np.unique(np.stack(rows), axis=1, return_index=True)
    if len(first) > MOST_WALKS:
        raise UndecidedError("too many kinds of blocks")
    yield from ({name: int(values[name][n]) for name in used} for n in first)
