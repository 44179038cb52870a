"""GPU mapping: the nests of each function become kernel launches and host code.

Contractions are found first among the nests of a list, with the nests that their
kernels absorb (`contraction.fusion_groups`).  Every other nest is mapped by the first
entry of `KINDS` that accepts it, a function from a `Nest` to its launches or None; a
nest without parallel work runs in one thread.  Loops around calls or unknown operations
stay on the host.  The kinds, in order:

- `map_bound_loops`: loops that a schedule binds to blocks and threads
- `map_block_program`: user-written shared memory or asynchronous copies; a block per
  iteration of the outer parallel loops
- `map_histograms`: scatter updates (histograms), privatized in shared memory
- `map_windows`: windows of constant extents that overlap; a thread for several of them
- `map_reductions`: reductions, scans and chains of them along rows, columns or whole
  arrays
- `map_transposes`: transpositions through shared-memory tiles
- `map_elementwise`: elementwise nests with vector accesses of 16 bytes
- `map_lane_groups`: parallel loops around sequential programs; a thread group per
  iteration
- `map_parallel_loops`: other parallel loops; a thread per iteration, x along the loop
  of most contiguous accesses
- `map_stencil_sweeps`: stencils in a time loop, several time steps per launch
- `map_stepped_loop`: sequential loops around parallel ones; one kernel with barriers

A sequential loop of no kind stays on the host, around the kernels of its body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.gcg import BULK_ROW_CHOICES, with_bulk_rows
from gpucodegen.dialects.gpu import known_block, most_blocks
from gpucodegen.dialects.shared.dma import STARTS
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.attributes import IntegerAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.analysis.lifting.accesses import TAKES_SHAPE
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.analysis.work import iteration_work
from gpucodegen.passes.contraction.fusion_groups import (
    FusionGroups,
    FusionMember,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import IndexLike
from gpucodegen.passes.framework.functions import (
    definitions,
    has_no_effect,
    in_functions,
    users,
    with_blocks,
    without_dead_code,
)
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.plan_options import not_on_offer, restricted_plans
from gpucodegen.passes.gpu.block_programs import (
    allowed_by,
    block_program,
    map_block_program,
)
from gpucodegen.passes.gpu.bound_loops import map_bound_loops
from gpucodegen.passes.gpu.contractions import (
    contraction_launches,
    joined_launch,
    members_of,
)
from gpucodegen.passes.gpu.elementwise import map_elementwise
from gpucodegen.passes.gpu.joined_launches import Joinable
from gpucodegen.passes.gpu.nest_mapping import (
    LOOPS,
    Nest,
    map_parallel_loops,
)
from gpucodegen.passes.gpu.privatized_histograms import map_histograms
from gpucodegen.passes.gpu.reductions import map_reductions
from gpucodegen.passes.gpu.scalar_steps import Steps, with_scalar_steps
from gpucodegen.passes.gpu.stencil_sweeps import map_stencil_sweeps
from gpucodegen.passes.gpu.stepped import map_lane_groups, map_stepped_loop
from gpucodegen.passes.gpu.thread_coarsening import map_windows
from gpucodegen.passes.gpu.transposes import map_transposes
from gpucodegen.passes.lower_affine.control_flow import sequential
from gpucodegen.passes.outlining.cpu_outliner import has_dynamic_allocation, needs_host
from gpucodegen.passes.outlining.gpu_launch import (
    CONTAINER,
    KernelBody,
    free_values,
    gpu_module,
    launched,
    outline,
    through_buffers,
    vector_boxes,
)
from gpucodegen.passes.outlining.host_accesses import element_accesses
from gpucodegen.passes.outlining.kernel_operations import needs_kernel
from gpucodegen.passes.outlining.transfer_spans import spans
from gpucodegen.passes.vectorize.accumulations import Order
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import (
    MULTIPROCESSORS,
    GpuDevice,
    bulk_copies,
)
from gpucodegen.tiling.machine.gpu.product_plan import planned_for
from gpucodegen.tiling.machine.gpu.product_tiles import (
    Candidate,
    SharedTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.thread_groups import ThreadGroup
from gpucodegen.tiling.machine.plan_space import Choice, KernelMenus, Menus
from gpucodegen.tiling.proof.enumeration import have_owners, proven

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.knobs import Knob

Kind = Callable[[Nest], list[Operation] | None]
"""The host operations for a nest, or None if it is not of this kind."""

KINDS: tuple[Kind, ...] = (
    map_bound_loops,
    map_block_program,
    map_histograms,
    map_windows,
    map_reductions,
    map_transposes,
    map_elementwise,
    map_lane_groups,
    map_parallel_loops,
    map_stencil_sweeps,
    map_stepped_loop,
)
"""The kinds in the order in which they are tried.

Other loops stay on the host or run in one thread.
"""


@dataclass(slots=True)
class GpuMapper:
    """Maps one function; collects its kernels and their possible plans.

    ``loads``: how kernels get the vectors of earlier ones.
    """

    module: str
    definitions: Mapping[Value, Operation]
    plan: Candidate | None = None
    team: ThreadGroup | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    users: Mapping[Value, Sequence[Operation]] = field(
        default_factory=dict[Value, Sequence[Operation]]
    )
    contractions: bool = True
    time_tiles: bool = True
    order: Order = field(default_factory=Order)
    precision: str = "ieee"
    arch: str = ""
    menus: Menus = field(default_factory=Menus)
    kernels: list[Operation] = field(default_factory=list[Operation])
    loads: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    depth: int = 0
    joinable: Joinable | None = None

    @property
    def device(self) -> GpuDevice:
        """The GPU for which kernels are planned."""
        return planned_for(self.arch)

    @property
    def plans(self) -> KernelMenus:
        """The plans on offer for the next kernel."""
        return KernelMenus(self.menus, self._next_kernel)

    @property
    def _uses(self) -> dict[Value, int]:
        return {value: len(found) for value, found in self.users.items()}

    @property
    def _next_kernel(self) -> str:
        return f"{self.module}_k{len(self.kernels)}"

    def operations(
        self, operations: Sequence[Operation], context: Sequence[Operation] = ()
    ) -> list[Operation]:
        """Host operations for a straight list of operations."""
        members: list[FusionMember] = []
        before, run = list(context), list[Operation]()
        steps: Steps = {}
        if self.depth:
            operations, steps = with_scalar_steps(operations)
        skipped = {op for step in steps.values() for op in step[1:]}
        groups = spans(operations)
        for at, (op, *others) in enumerate(groups):
            made = {value for member in run for value in member.results}
            if op in skipped:
                continue
            if op in steps:
                members += [*self._closed(run, groups[at:]), self._step(steps[op])]
                before, run = [*before, *steps[op]], []
                continue
            if not others and needs_kernel(op, made):
                run.append(op)
            elif not others and _may_go_before(op) and made.isdisjoint(op.operands):
                members.append(FusionMember(op))
            else:
                members += self._closed(run, groups[at:])
                members += self._members((op, *others), tuple(before))
                run = []
            before += (op, *others)
        members += self._closed(run, ())
        return FusionGroups(
            *(members, self._contracted, self._uses, context, self.surroundings),
            strided=True,
            indexed=True,
            join=lambda contraction: joined_launch(contraction, self),
        ).all_mapped()

    def _step(self, step: Sequence[Operation]) -> FusionMember:
        """One thread for updates of single elements."""
        first, *others = step
        return FusionMember(
            first, lambda: self._single_thread(step, ()), others=tuple(others)
        )

    def _closed(
        self, run: Sequence[Operation], rest: Sequence[Sequence[Operation]]
    ) -> list[FusionMember]:
        """One thread for a run of operations on vectors."""
        if not run:
            return []
        used = free_values([op for group in rest for op in group])
        results = [v for op in run for v in op.results if v in used]
        first, *others = run
        return [
            FusionMember(
                first, lambda: self._single_thread(run, results), others=tuple(others)
            )
        ]

    def _members(
        self, group: Sequence[Operation], context: Sequence[Operation]
    ) -> list[FusionMember]:
        """A span, or the nests of an operation's distribution."""
        op, *others = group
        if not others and op.name in LOOPS and not _needs_host(op):
            return members_of(Nest(op, context, self))
        return [
            FusionMember(op, lambda: self._group(group, context), others=tuple(others))
        ]

    def _contracted(self, contraction: Contraction) -> list[Operation] | None:
        """The launch of a contraction with its fused operations."""
        before = len(self.kernels)
        made = contraction_launches(contraction, self.plan, self)
        targets, axes = contraction.targets, contraction.axes
        is_strided = any(target.is_strided(axes) for target in targets)
        if is_strided and not all(map(self._have_owners, self.kernels[before:])):
            del self.kernels[before:]
            self.joinable = None
            return None
        return made

    def _group(
        self, group: Sequence[Operation], context: Sequence[Operation]
    ) -> list[Operation]:
        op, *others = group
        if others:
            analysis = analyse(group, context, self.surroundings)
            given = group, analysis, context, self.surroundings
            kernel = block_program(*given, allowed_by(self))
            return self.launch(kernel)
        if op.name == "gpu.launch":
            return self._written(op)
        if op.name in LOOPS and not _needs_host(op):
            return self.nest(Nest(op, context, self))
        if op.name == "affine.parallel":  # the host runs one iteration after the other
            loops = sequential(op)
            return [self._branches(o, context) if o.regions else o for o in loops]
        if op.name in LOOPS or op.name in _AROUND_NESTS or _holds_launch(op):
            return [self._branches(op, context)]
        return [op]

    def _written(self, op: Operation) -> list[Operation]:
        """A user-written launch; its constants may be outside."""
        kernel = launched(op)
        sizes = [self._extent(size) for size in (*kernel.grid, *kernel.block)]
        gx, gy, gz, x, y, z = sizes
        return self.launch(KernelBody(kernel.operations, (gx, gy, gz), (x, y, z)))

    def _extent(self, size: IndexLike) -> Index:
        """A size as a number if it is a constant of the host."""
        index = Index.of(size)
        made = [self.definitions.get(value) for value in index.values]
        value = made[0].attributes.get("value") if len(made) == 1 and made[0] else None
        return Index.of(value.value) if isinstance(value, IntegerAttr) else index

    def _branches(self, op: Operation, context: Sequence[Operation]) -> Operation:
        self.depth += op.name in LOOPS
        regions = tuple(
            type(region)(
                tuple(
                    block.with_operations(self.operations(block.operations, context))
                    for block in region.blocks
                )
            )
            for region in op.regions
        )
        self.depth -= op.name in LOOPS
        return op.with_(regions=regions)

    def nest(self, nest: Nest) -> list[Operation]:
        """The operations of the first kernel kind that accepts a nest."""
        for kind in KINDS:
            mapped = kind(nest)
            if mapped is not None:
                return mapped
        mapped = self._host_loop(nest)
        return mapped or self._single_thread([nest.op], nest.op.results)

    def _host_loop(self, nest: Nest) -> list[Operation] | None:
        """The loop itself, with kernels in its body, one of them with more threads.

        One thread runs the loop instead where that is less than the launches.
        """
        if nest.op.name == "affine.parallel":
            return None
        before = len(self.kernels)
        loop = self._branches(nest.op, nest.context)
        launches = sum(op.name == "gpu.launch_func" for op in loop.walk())
        work = iteration_work(nest.op)
        is_short = work is not None and work <= LAUNCH_WORK * launches
        if not is_short and any(map(_has_threads, self.kernels[before:])):
            return [loop]
        del self.kernels[before:]
        return None

    def _single_thread(
        self, operations: Sequence[Operation], results: Sequence[Value]
    ) -> list[Operation]:
        """A single-thread kernel; its results leave through buffers."""
        before, inside, after = through_buffers(operations[0], results)
        boxes, stores, loads = vector_boxes(operations[0], results)
        body = (*operations, *inside, *stores)
        host = self.launch(KernelBody(body, (Index.of(1),) * 3, (1, 1, 1)))
        self.loads |= loads
        self.define(boxes)
        return [*before, *boxes, *host, *after]

    def define(self, operations: Sequence[Operation]) -> None:
        """Add host operations to the definitions."""
        own = {value: made for made in operations for value in made.results}
        self.definitions = {**self.definitions, **own}

    def launch(self, kernel: KernelBody) -> list[Operation]:
        """Outline a kernel; returns the host operations that launch it."""
        function, host = outline(
            kernel,
            f"{self.module}_kernels",
            self._next_kernel,
            self.definitions,
            self.surroundings.aliases.groups,
            self.loads,
        )
        self.kernels.append(self._with_rows(function))
        self.joinable = None
        return host

    def relaunch(
        self, kernel: KernelBody, parts: Joinable, added: KernelBody
    ) -> list[Operation] | None:
        """Launch a kernel in place of the last one, if it is certainly proven later.

        It is if ``added`` is: the part that was not launched before, or the kernel.
        Beyond `FEW` parts enumeration has to decide about shared memory, too: isl would
        take too long.
        """
        last, before = self.kernels.pop(), self.joinable
        self.launch(added)
        is_few = len(parts.bodies) <= FEW
        if not (self._have_owners if is_few else self._is_proven)(self.kernels.pop()):
            self.kernels.append(last)
            self.joinable = before
            return None
        host = self.launch(kernel)
        self.joinable = parts
        return host

    def _is_proven(self, kernel: Operation) -> bool:
        """Whether enumeration decides that it has no race, within its limits."""
        return proven(lift_function(kernel, self.surroundings).scop).is_complete

    def _have_owners(self, kernel: Operation) -> bool:
        """Whether it is quickly proven that no two threads use one cell of an array.

        That is asked where stores have strides: isl seldom decides them in time.
        """
        return have_owners(lift_function(kernel, self.surroundings).scop)

    def _with_rows(self, kernel: Operation) -> Operation:
        """A kernel with the attribute for bulk copies of rows, if it has DMA copies."""
        if not bulk_copies(self.arch) or not any(
            o.name in STARTS for o in kernel.walk()
        ):
            return kernel
        choose = self.plans.of("bulk")
        return with_bulk_rows(kernel, choose(BULK_ROW_CHOICES, lambda rows: rows.cost))


def _needs_host(op: Operation) -> bool:
    """Whether an operation in a nest cannot run in a kernel: its loops stay outside.

    GPU kernels have no buffers of an extent that is known only at run time.
    """
    return any(needs_host(o) or has_dynamic_allocation(o) for o in op.walk())


def _may_go_before(op: Operation) -> bool:
    """Whether the kernel of a run of operations may move behind an operation."""
    is_pure = has_no_effect(op) and op.name != TAKES_SHAPE
    return is_pure or op.name in ALLOCATIONS


def _has_threads(kernel: Operation) -> bool:
    return not {*known_block(kernel), *most_blocks(kernel)} <= {1}


def _holds_launch(op: Operation) -> bool:
    return any(inner.name == "gpu.launch" for inner in op.walk())


FEW = 4
"""Kernels of a launch that isl proves together where enumeration does not."""
LAUNCH_WORK = 256
"""Operations of one thread that take about as long as a launch (`estimate.START`).

Each is taken as 10 nanoseconds: dependent operations take 4 clocks, loads from the L1
cache 30 and more.
"""

_AROUND_NESTS = frozenset({"affine.if", "scf.execute_region", "scf.if"})


@dataclass(frozen=True, slots=True)
class MapGpu(ModulePass):
    """Nests become ``gpu.func`` kernels, the function launches them.

    ``tile``: rows, columns and depth of a contraction's shared tiles and the rows and
    columns of each thread; empty leaves the choice to the model.  ``stages``: shared
    tiles of each operand in a contraction of such a ``tile`` with asynchronous copies;
    0 leaves that to the model.  ``fragments``: the last two numbers of a ``tile`` are
    rows and columns of each warp, on tensor cores.  ``contractions`` become fused
    multiply-adds on shared tiles.  ``team``: blocks and threads of a block that run
    sequential loops together; empty leaves the choice to the model.  ``time_tiles``:
    without, these loops stay on the host.  ``relaxed``: sums may be reordered anywhere;
    ``exact``: nowhere.  ``precision``: of products of f32 on tensor cores, as the
    compiler's option says.  ``arch``: the architecture whose specific features kernels
    use, as sm_90a; empty: the common baseline.  ``plan``: fields of plans and their
    values in turn, as in ``plan=[stream.width,4]``; kernels that have no such plan get
    the one that differs least.  ``strict``: it is an error if no kernel has one.
    """

    name: ClassVar[str] = "map-gpu"
    tile: tuple[int, ...] = ()
    stages: int = 0
    fragments: bool = False
    contractions: bool = True
    team: tuple[int, ...] = ()
    time_tiles: bool = True
    relaxed: bool = False
    exact: bool = False
    precision: str = "ieee"
    arch: str = ""
    plan: tuple[int | str, ...] = ()
    strict: bool = True

    def apply(self, module: Module) -> Module:
        if self.arch not in ("", *MULTIPROCESSORS):
            raise errors.InvalidPassOption(
                name=self.name,
                problem=f"option 'arch' cannot be {self.arch!r}",
                hint=f"Known architectures: {', '.join(MULTIPROCESSORS)}",
            )
        menus = self._wanted(keeps=False)
        made = self._mapped(module, menus)
        if self.strict and menus.unmet:
            menus = self._wanted(keeps=True)
            self._mapped(module, menus)
            raise not_on_offer(self.name, menus, "kernel of the program has a plan")
        return made

    def knobs(self, module: Module) -> Sequence[Knob]:
        """The possible plans of each kernel."""
        from gpucodegen.tiling.tuning.knobs import menu_knob

        menus = self._wanted(keeps=True)
        self._mapped(module, menus)
        return list(map(menu_knob, menus.kept))

    def choices(self, module: Module) -> Sequence[Choice]:
        menus = self._wanted(keeps=True)
        self._mapped(module, menus)
        return list(menus.choices.values())

    def _wanted(self, *, keeps: bool) -> Menus:
        return restricted_plans(self.name, self.plan, keeps=keeps)

    def _mapped(self, module: Module, menus: Menus) -> Module:
        """The module of kernels, whose plans are of the menus.

        MLIR requires ``gpu.container_module`` on a module that launches kernels.
        """
        kind = WarpTiles if self.fragments else SharedTiles
        plan = _tiles(kind, *self.tile) if self.tile else None
        if plan and self.stages:
            plan = replace(plan, direct=(True, True), stages=self.stages)
        surroundings, kernels = Surroundings.of(module), list[Operation]()

        def map_function(op: Operation) -> list[Operation]:
            mapper = GpuMapper(
                symbol_name(op),
                definitions(op),
                plan,
                ThreadGroup(*self.team) if self.team else None,
                surroundings,
                users(op),
                self.contractions,
                self.time_tiles,
                Order(self.relaxed, self.exact),
                self.precision,
                self.arch,
                menus,
            )
            host = without_dead_code(with_blocks(op, mapper.operations))
            kernels.extend(mapper.kernels)
            for found in element_accesses(host):
                place = found.loop[1]
                errors.tell(
                    errors.ElementTransfers(
                        place, action=found.action, reason=found.reason
                    )
                )
            if not mapper.kernels:
                return [host]
            return [gpu_module(f"{mapper.module}_kernels", mapper.kernels), host]

        mapped = in_functions(module, map_function)
        if not kernels:
            return mapped
        return Module(mapped.operation.with_attribute(CONTAINER, UnitAttr()))


def _tiles(
    kind: type[SharedTiles | WarpTiles],
    rows: int,
    columns: int,
    depth: int,
    down: int,
    across: int,
    splits: int = 1,
    resident: int = 1,
    group: int = 1,
) -> Candidate:
    """The plan of user-given numbers; the way of copying is not among them."""
    tile = rows, columns, depth, down, across
    return kind(*tile, splits=splits, resident=resident, group=group)
