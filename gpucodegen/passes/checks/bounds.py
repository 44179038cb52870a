"""Bounds checks: prove accesses in bounds, and guard the others on request.

`CheckBounds` proves accesses with `checks.buffers`.  On request, `guarded` adds a check
to each access without a proof, in the outermost region where its values are known:

* a check that depends on arguments and extents only, of an access that surely runs,
  refuses the call as soon as the last value is known: ``scf.if %bad { gcg.refuse }``;
* a check of an access under a condition, or of data-dependent indices, stands in the
  innermost region that decides it: ``scf.if %bad { gcg.report } else { the access }``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType
from gpucodegen.passes.analysis.lifting import (
    Lifted,
    Surroundings,
    lift_function,
    lift_operations,
)
from gpucodegen.passes.analysis.lifting.index_values import COLLAPSE, has_collapses
from gpucodegen.passes.analysis.lifting.reductions import in_same_place, updates
from gpucodegen.passes.analysis.place_allocations import placed
from gpucodegen.passes.checks.access_checks import Definitions, out_of_bounds_of
from gpucodegen.passes.checks.buffers import check_bounds
from gpucodegen.passes.checks.guard_conditions import (
    Check,
    ConditionBuilder,
    is_refusal,
    may_be_left_out,
    refusing,
    wrapped,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import definitions, in_functions, with_blocks
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import Model, model
from gpucodegen.tiling.proof.array_bounds import Pieces, Suspect, leaving, suspects
from gpucodegen.tiling.schedule.schedule_ast import Guard, names

_BUFFERS = (MemRefType, UnrankedMemRefType)
_NUMBERS = frozenset(
    {
        "affine.apply",
        "affine.max",
        "affine.min",
        "memref.dim",
        "memref.extract_strided_metadata",
        "memref.rank",
    }
)
"""Operations on scalars and extents, besides arithmetic."""
Found = Sequence[Suspect]
Access = tuple[Operation, Value, int]
"""An operation, and a dimension along which it may leave a buffer."""
Sizes = dict[tuple[Value, int], Value]
"""Extents of buffers, by dimension."""


def guarded(
    function: Operation, lifted: Lifted, built: Model, found: Found, *, kernels: bool
) -> tuple[Operation, Found]:
    """The function with checks for suspects of its model, and those without a check.

    ``kernels``: checks may stand in loops and branches, so every suspect gets one.
    Otherwise only those get one that arguments decide, which the host evaluates.
    """
    guarder = _Guarder(definitions(function), _uses([function]), kernels)
    entry, *others = blocks = Function(function).blocks
    if others and not kernels:
        return function, found
    if others:
        open_ = _accessed(lifted, found)
        made = [guarder.inside(block.operations, (), open_) for block in blocks]
        unguarded: Found = ()
    else:
        whole = _Level(entry.operations, (), lifted, built)
        body, unguarded = guarder.outermost(whole, found, frozenset(entry.arguments))
        made = [body]
    new = [b.with_operations(ops) for b, ops in zip(blocks, made, strict=True)]
    return function.with_(regions=(Region(tuple(new)),)), unguarded


@dataclass(frozen=True, slots=True)
class _Level:
    """A straight list of operations with its context and its model."""

    operations: Sequence[Operation]
    context: Sequence[Operation]
    lifted: Lifted
    built: Model


@dataclass(frozen=True, slots=True)
class _Launch:
    """A condition on parameters, and the suspect that it comes from."""

    suspect: Suspect
    pieces: Pieces


@dataclass(slots=True)
class _Needs:
    """The checks of each operation of a list: before it, or within it.

    ``open`` accesses, those of ``late`` suspects, are checked within.
    """

    before: dict[Operation, list[_Launch]] = field(
        default_factory=dict[Operation, list[_Launch]]
    )
    within: set[Operation] = field(default_factory=set[Operation])
    open: frozenset[Access] = frozenset()
    late: list[Suspect] = field(default_factory=list[Suspect])


def _accessed(lifted: Lifted, found: Found) -> frozenset[Access]:
    return frozenset(_access(lifted, one) for one in found)


def _access(lifted: Lifted, suspect: Suspect) -> Access:
    buffer = lifted.arrays[suspect.reference.access.array]
    return _operation(lifted, suspect), buffer, suspect.dimension


def _is_open(access: Access, open_: frozenset[Access]) -> bool:
    """Whether an access is to be checked; on a modelled-away buffer, if any is."""
    op, buffer, _ = access
    same = {known for known in open_ if known[0] is op}
    return access in same or bool(same and all(b is not buffer for _, b, _ in same))


def _operation(lifted: Lifted, suspect: Suspect) -> Operation:
    reference = suspect.reference
    return lifted.operations[reference.instances.name][reference.position]


@dataclass(frozen=True, slots=True)
class _Guarder:
    """Inserts checks; ``open_`` accesses are neither proven nor checked further out."""

    defined: Definitions
    uses: Counter[Value]
    kernels: bool

    # -- the body of a function ------------------------------------------------------

    def outermost(
        self, level: _Level, found: Found, arguments: frozenset[Value]
    ) -> tuple[list[Operation], Found]:
        """The body of a function, which the host runs, and suspects without a check."""
        open_ = _accessed(level.lifted, found)
        needs = self._needs(level, found, open_, whole=True)
        first: list[Operation] = []
        made: list[Operation] = []
        sizes: Sizes = {}
        for position, op in enumerate(level.operations):
            for launch in needs.before.get(op, ()):
                early = set(self._values(level, launch)) <= arguments
                check, before = self._launch_check(
                    level, launch, sizes if early else {}
                )
                (first if early else made).extend([*before, refusing(check)])
            if op not in needs.within or not self.kernels:
                made.append(op)
            elif op.regions:
                outside = level.operations[:position]
                made.append(self._regions(op, outside, needs.open))
            else:
                checks, before = self._leaf_checks(op)
                made += [*before, *map(refusing, checks), op]
        return _in_front(made, first), () if self.kernels else needs.late

    def _launch_check(
        self, level: _Level, launch: _Launch, sizes: Sizes
    ) -> tuple[Check, list[Operation]]:
        """``sizes``: extents that are values already."""
        access = launch.suspect.reference.access
        c = ConditionBuilder(Builder(_place(launch.suspect)))
        known: dict[str, Value] = {}
        shown: dict[str, Value] = {}
        for name in _names(launch.pieces):
            value = level.lifted.parameters.get(name)
            if value is not None:
                known[name] = shown[value.name or name] = c.as_index(value)
            else:
                memref, at = place = level.lifted.extents[name]
                if place not in sizes:
                    sizes[place] = c.extent(memref, at)
                known[name] = shown[f"{memref.name}.shape[{at}]"] = sizes[place]
        bad, extent = c.within(launch.pieces, known), launch.suspect.extent
        check = Check(
            c.b.location,
            access.array,
            access.kind.value,
            launch.suspect.dimension,
            tuple(shown.items()),
            bad,
            extent if isinstance(extent, int) else None,
        )
        return check, c.b.operations

    # -- operations in loops and conditions ------------------------------------------

    def inside(
        self,
        operations: Sequence[Operation],
        context: Sequence[Operation],
        open_: frozenset[Access],
    ) -> list[Operation]:
        """A list of operations, guarded where they would leave a buffer."""
        lifted = lift_operations(operations, context, counted=True)
        level = _Level(operations, context, lifted, model(lifted.scop))
        needs = self._needs(level, suspects(level.built), open_)
        updated = {
            update.first: update.last
            for update in updates(operations)
            if self._is_one(operations[update.first : update.last + 1], needs)
        }
        made: list[Operation] = []
        position = 0
        while position < len(operations):
            last = updated.get(position, position)
            made += self._left_out(level, needs, position, last)
            position = last + 1
        return made

    def _is_one(self, update: Sequence[Operation], needs: _Needs) -> bool:
        """Whether the check of an update's load decides the whole update alone."""
        load, *others, _ = update
        own = _uses(update)
        made = (value for op in others for value in op.results)
        return (
            (load in needs.within or load in needs.before)
            and needs.before.keys().isdisjoint(others)
            and all(self.uses[value] == own[value] for value in made)
        )

    def _left_out(
        self, level: _Level, needs: _Needs, first: int, last: int
    ) -> list[Operation]:
        """Operations ``first`` to ``last``, skipped where the first would fail."""
        checks, before, inner = self._checked(level, needs, first)
        body = [inner]
        for position in range(first + 1, last):
            body += self._left_out(level, needs, position, position)
        if last > first:
            load, store = level.operations[first], level.operations[last]
            body.append(in_same_place(load, store))
        if not checks:
            return [*before, *body]
        group = level.operations[first : last + 1]
        own, made = _uses(group), (v for op in group for v in op.results)
        used = {value for value in made if self.uses[value] > own[value]}
        return [*before, *wrapped(body, checks, used)]

    def _checked(
        self, level: _Level, needs: _Needs, position: int
    ) -> tuple[list[Check], list[Operation], Operation]:
        op = level.operations[position]
        checks: list[Check] = []
        made: list[Operation] = []
        for launch in needs.before.get(op, ()):
            check, before = self._launch_check(level, launch, {})
            checks.append(check)
            made += before
        if op in needs.within and op.regions:
            outside = (*level.context, *level.operations[:position])
            return checks, made, self._regions(op, outside, needs.open)
        if op in needs.within:
            more, before = self._leaf_checks(op)
            checks += more
            made += before
        return checks, made, op

    def _regions(
        self, op: Operation, context: Sequence[Operation], open_: frozenset[Access]
    ) -> Operation:
        return with_blocks(op, lambda inner: self.inside(inner, context, open_))

    def _leaf_checks(self, op: Operation) -> tuple[list[Check], list[Operation]]:
        c = ConditionBuilder(Builder(op.location))
        checks = [
            Check(op.location, leaf.buffer.name or "a temporary", leaf.verb,
                  leaf.dimension, leaf.known, leaf.bad)
            for leaf in out_of_bounds_of(c, op, self.defined)
        ]  # fmt: skip
        return checks, c.b.operations

    # -- placement of checks ---------------------------------------------------------

    def _needs(
        self,
        level: _Level,
        found: Found,
        open_: frozenset[Access],
        *,
        whole: bool = False,
    ) -> _Needs:
        """Conditions on parameters before an operation; else checks within it.

        ``whole``: they refuse the call, not the operation.
        """
        roots = {op: top for top in level.operations for op in top.walk()}
        hidden = _made_within(level.operations)
        needs, seen = _Needs(), set[object]()
        for suspect in found:
            access = _access(level.lifted, suspect)
            top = roots.get(access[0])
            if top is None or not _is_open(access, open_):
                continue
            pieces = None if self._is_joined(access) else leaving(level.built, suspect)
            launch = None if pieces is None else _Launch(suspect, pieces)
            is_early = launch and self._is_early(level, launch, hidden)
            if launch is None or not is_early or not (whole or may_be_left_out(top)):
                needs.within.add(top)
                needs.open |= {access}
                needs.late.append(suspect)
                continue
            array = suspect.reference.access.array
            key = (top, array, suspect.dimension, launch.pieces)
            if key not in seen:
                seen.add(key)
                needs.before.setdefault(top, []).append(launch)
        return needs

    def _is_early(self, level: _Level, launch: _Launch, hidden: set[Value]) -> bool:
        """Whether a check may stand at this level, where the host knows its values."""
        values = self._values(level, launch)
        if not hidden.isdisjoint(values):
            return False
        return self.kernels or all(map(self._is_on_host, values))

    def _is_on_host(self, value: Value) -> bool:
        """Whether arguments decide a number, not elements of a buffer."""
        made = self.defined.get(value)
        if made is None or isinstance(value.type, _BUFFERS):
            return True
        is_number = made.name in _NUMBERS or made.dialect == "arith"
        return is_number and all(map(self._is_on_host, made.operands))

    def _is_joined(self, access: Access) -> bool:
        """Whether the model joins the operation's indices into one."""
        op, buffer, _ = access
        made = self.defined.get(buffer)
        is_collapsed = made is not None and made.name == COLLAPSE
        return is_collapsed and buffer not in op.operands

    def _values(self, level: _Level, launch: _Launch) -> list[Value]:
        lifted = level.lifted
        return [
            lifted.parameters[name]
            if name in lifted.parameters
            else lifted.extents[name][0]
            for name in _names(launch.pieces)
        ]


def _uses(operations: Iterable[Operation]) -> Counter[Value]:
    """The uses of each value in operations and their regions."""
    return Counter(v for top in operations for op in top.walk() for v in op.used)


def _in_front(
    operations: list[Operation], checks: Sequence[Operation]
) -> list[Operation]:
    """Checks before the first loop, branch or allocation that is no refusal itself.

    A check between a buffer and its loops would split them into several kernels, so
    one kernel would wait for copies that another one starts.
    """
    places = (
        n
        for n, op in enumerate(operations)
        if (op.regions and not is_refusal(op)) or op.name in ALLOCATIONS
    )
    at = next(places, 0)
    return [*operations[:at], *checks, *operations[at:]]


def _names(pieces: Pieces) -> list[str]:
    return sorted({n for piece in pieces for n in names([Guard(piece, ())])})


def _place(suspect: Suspect) -> Location:
    loc = suspect.reference.access.loc
    return loc if isinstance(loc, Location) else UNKNOWN


def _made_within(operations: Sequence[Operation]) -> set[Value]:
    """Values defined in regions of these operations only."""
    found: set[Value] = set()
    for top in operations:
        for op in top.walk():
            found.update(op.block_arguments if op is top else op.defined)
    return found


@dataclass(frozen=True, slots=True)
class CheckBounds(ModulePass, name="check-bounds"):
    """Accesses proven out of bounds are errors, possible ones warnings or guarded.

    ``guard``: conditions on arguments are checked at launch; ``kernels``: conditions on
    data are checked in the kernels.  Unchecked accesses get a warning.
    """

    guard: bool = False
    kernels: bool = True

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def checked(op: Operation) -> list[Operation]:
            given = placed(op)
            if self.guard and self.kernels:
                from gpucodegen.passes.checks.access_checks import with_metadata

                op = given = with_metadata(given)
            lifted = lift_function(given, surroundings.for_bounds(collapses=True))
            built = model(lifted.scop)
            found = suspects(built)
            if any(one.outside is None for one in found) and has_collapses(given):
                lifted = lift_function(given, surroundings.for_bounds())
                built = model(lifted.scop)
                found = suspects(built)
            unguarded = found
            if self.guard and found:
                op, unguarded = guarded(
                    given, lifted, built, found, kernels=self.kernels
                )
            check_bounds(built, found, unguarded)
            return [op]

        return in_functions(module, checked)
