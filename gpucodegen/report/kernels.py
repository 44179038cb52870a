"""Mapped kernels of a function: grid, work shares of blocks and threads, race proof.

`mapping` takes a module, a function and sizes of its arguments, and returns a `Mapping`
per target. The facts are read from the mapped kernels themselves, not from their plans:
isl computes the cells that the first block and its first thread touch.
"""

from __future__ import annotations

import warnings
from collections import abc, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import product
from math import prod

from gpucodegen import errors
from gpucodegen.compiling.lowering import Key, Stages, map_module
from gpucodegen.compiling.targets import find
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gcg import update_notes_of
from gpucodegen.ir.locations import FileLoc, file_location
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType, Type, VectorType
from gpucodegen.options import Options
from gpucodegen.passes.analysis.lifting import Lifted, Surroundings, lift_function
from gpucodegen.passes.analysis.work import KernelLaunches, host_program
from gpucodegen.passes.checks.races import check_kernel
from gpucodegen.passes.gpu.lower_collectives import LowerCollectives
from gpucodegen.passes.outlining.host_accesses import ElementAccesses, element_accesses
from gpucodegen.records import dataclass
from gpucodegen.report.access_facts import element_bytes
from gpucodegen.report.schedule_tree import Tree, Verdicts, effects, schedule_tree
from gpucodegen.report.subjects import location_of
from gpucodegen.runtime.host.arguments import alignments, allocated, parameters_of
from gpucodegen.tiling.model.isl import Interval
from gpucodegen.tiling.model.points import Tuple, touched, touched_cells
from gpucodegen.tiling.model.relations import Model, model
from gpucodegen.tiling.model.scop import Array, Loop, Role, loops, statements

MANY_CELLS = 256
"""A box of more cells is not listed one by one."""
BLOCKS_SHOWN = 4
THREADS_SHOWN = 3


Box = tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class WorkShare:
    """The cells of one array that the workers of a kernel touch.

    ``blocks``: boxes of the first block (GPU) or parallel iteration (CPU), and of its
    neighbours where they write. ``threads``: the cells that its first threads write, if
    they are few.
    """

    array: str
    memory: str
    writes: bool
    element_bytes: int
    blocks: tuple[Box, ...]
    threads: tuple[tuple[Tuple, ...], ...] = ()

    @property
    def extents(self) -> tuple[int | None, ...]:
        """The sides of the first box; None where it is not bounded."""
        return tuple(map(length, self.blocks[0]))

    @property
    def size(self) -> int | None:
        """Bytes in the first box."""
        known = [extent for extent in self.extents if extent is not None]
        complete = len(known) == len(self.extents)
        return prod(known) * self.element_bytes if complete else None


def length(side: Interval) -> int | None:
    """The number of integers in an interval, if it is bounded."""
    if side.lower is None or side.upper is None:
        return None
    return side.upper - side.lower + 1


@dataclass(frozen=True, slots=True)
class MappedKernel:
    """A mapped kernel. ``grid`` and ``block`` are x, y, z and empty on the CPU.

    ``objection``: why it could not be proven free of races; empty when it was.
    ``updates``: where atomic updates of cells conflict, and why.
    """

    name: str
    grid: tuple[int | None, ...]
    block: tuple[int, ...]
    workers: int | None
    vectors: tuple[str, ...]
    shares: tuple[WorkShare, ...]
    tree: Tree
    objection: str
    updates: tuple[str, ...]
    places: frozenset[FileLoc]

    @property
    def lines(self) -> tuple[int, ...]:
        """First and last source line of the kernel."""
        numbers = sorted(place.line for place in self.places)
        return (numbers[0], numbers[-1]) if numbers else ()


@dataclass(frozen=True, slots=True)
class Mapping:
    """The kernels and launches of a function on one target, or the reason for none."""

    target: str
    kernels: tuple[MappedKernel, ...]
    refusal: str = ""
    launches: tuple[KernelLaunches, ...] = ()
    elements: tuple[ElementAccesses, ...] = ()
    """Loops of the host of a GPU that access its memory element by element."""
    mapped: Module | None = field(default=None, repr=False, compare=False)

    def source(self, name: str) -> str:
        """The generated Python of the function; empty if it is refused."""
        if self.mapped is None:
            return ""
        from gpucodegen.emit import emit_program
        from gpucodegen.library.routines import is_offered

        emission = find(self.target).emission()
        try:
            return emit_program(self.mapped, emission, {}, is_offered).source_of(name)
        except errors.Error:
            return ""


def mapping(
    module: Module,
    name: str,
    key: Key,
    options: Options,
    numbers: abc.Mapping[str, int] | None = None,
) -> Mapping:
    """The mapping of a function for a key and final options, as `compile` makes it.

    ``numbers``: values of arguments that are no arrays, by name.  Kernels are shown as
    they are proven: before exchanges between threads become shuffles.
    """
    target = key[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.CodegenWarning)
            stages: Stages = []
            map_module(module, name, key, options, stages)
    except errors.Error as refusal:
        return Mapping(target, (), refusal.message)
    mapped = next(made for done, made in stages[::-1] if done != LowerCollectives.name)
    around = Surroundings.of(mapped)
    launches = host_program(mapped, name, numbers)
    grids = defaultdict[str, set[tuple[int | None, ...]]](set)
    for launch in launches:
        grids[launch.kernel].add(launch.grid)
    runs_launches = find(target).runs_launches
    elements = element_accesses(mapped.functions[name]) if runs_launches else ()
    return Mapping(
        target,
        tuple(_kernel(op, around, grids[symbol_name(op)]) for op in _kernels(mapped)),
        launches=launches,
        elements=tuple(elements),
        mapped=stages[-1][1],
    )


def key_of(module: Module, name: str, target: str, types: Sequence[Type | None]) -> Key:
    """The key for whole arrays of these types, as devices allocate them."""
    parameters = parameters_of(Function(module.functions[name]))
    known = allocated(parameters, find(target).widest)
    return target, tuple(types), alignments(known)


def _kernels(module: Module) -> Iterator[Operation]:
    for op in module.walk():
        if op.name == "gpu.func" or "gcg.kernel" in op.attributes:
            yield op


def _kernel(
    op: Operation,
    surroundings: Surroundings,
    grids: abc.Set[tuple[int | None, ...]],
) -> MappedKernel:
    """A kernel's facts; ``grids``: those of its launches, as far as they are known."""
    lifted = lift_function(op, surroundings)
    built = model(lifted.scop)
    grid, block = (op.numbers(f"gcg.{part}") for part in ("grid", "block"))
    always = tuple(None if extent < 0 else extent for extent in grid)
    return MappedKernel(
        symbol_name(op),
        next(iter(grids)) if len(grids) == 1 else always,
        block,
        _workers(lifted),
        tuple(dict.fromkeys(_vectors(op))),
        tuple(_shares(built, lifted)),
        _tree(lifted),
        _objection(op, surroundings),
        tuple(map(str, update_notes_of([op]))),
        frozenset(_places(lifted)),
    )


def _objection(op: Operation, surroundings: Surroundings) -> str:
    try:
        check_kernel(op, surroundings)
    except errors.Error as objection:
        return objection.message
    return ""


def _tree(lifted: Lifted) -> Tree:
    body = lifted.scop.body
    verdicts = Verdicts({}, _runs_at_once, leaves=effects(body), mark=_mark)
    return schedule_tree(body, verdicts)


def _runs_at_once(loop: Loop) -> bool:
    return loop.parallel or loop.role is not Role.SEQUENTIAL


def _mark(loop: Loop) -> str:
    if loop.role is not Role.SEQUENTIAL:
        return f"{loop.role.value}s"
    return "CPU threads" if loop.parallel else ""


def _workers(lifted: Lifted) -> int | None:
    """Iterations of the first parallel loop, if known."""
    for loop in loops(lifted.scop.body):
        bounds = (*loop.lowers, *loop.uppers)
        if loop.parallel and len(bounds) == 2 and all(b.isdigit() for b in bounds):
            return -(-(int(bounds[1]) - int(bounds[0])) // loop.step)
    return None


def _vectors(op: Operation) -> Iterator[str]:
    for inner in op.walk():
        for value in inner.results:
            if isinstance(value.type, VectorType):
                yield str(value.type)


def _places(lifted: Lifted) -> Iterator[FileLoc]:
    for statement in statements(lifted.scop.body):
        place = file_location(location_of(statement))
        if place is not None:
            yield place


def _shares(built: Model, lifted: Lifted) -> Iterator[WorkShare]:
    """Per array in memory, the cells that its workers touch."""
    for array in lifted.scop.arrays:
        value = lifted.arrays[array.name]
        if array.register or not isinstance(value.type, MemRefType):
            continue
        around = _around(built, array.name, writes=True)
        writes = around is not None
        around = around or _around(built, array.name, writes=False) or ()
        places = _corner(around, _is_block, BLOCKS_SHOWN if writes else 1)
        boxes = [touched(built, array.name, p, writes=writes) for p in places]
        if boxes[0] is not None:
            yield WorkShare(
                array.name,
                _memory(array, value.type),
                writes,
                element_bytes(value),
                tuple(box for box in boxes if box is not None),
                tuple(_threads(built, array.name, around)) if writes else (),
            )


def _around(built: Model, array: str, *, writes: bool) -> tuple[Loop, ...] | None:
    """The loops around the first access of a kind."""
    return next(
        (
            r.instances.loops
            for r in built.references
            if r.access.array == array and r.access.writes is writes
        ),
        None,
    )


def _memory(array: Array, ty: MemRefType) -> str:
    """The memory of an array: global, or private or fast for a kernel's own buffer."""
    if ty.memory_space is not None:
        return "fast"
    return "private" if array.scope else "global"


def _threads(
    built: Model, array: str, around: Sequence[Loop]
) -> Iterator[tuple[Tuple, ...]]:
    """The cells that the first threads of the first block write."""
    (block,) = _corner(around, _is_block, 1)
    for thread in _corner(around, _is_thread, THREADS_SHOWN):
        cells = touched_cells(built, array, block | thread, MANY_CELLS)
        if thread and cells:
            yield cells


def _is_block(loop: Loop) -> bool:
    return loop.role is Role.BLOCK or loop.parallel


def _is_thread(loop: Loop) -> bool:
    return loop.role is Role.THREAD


def _corner(
    around: Sequence[Loop], wanted: Callable[[Loop], bool], limit: int
) -> list[dict[str, int]]:
    """At most ``limit`` workers: the first one, and its next neighbours.

    Values by loop; steps are taken along the first loops with several iterations.
    """
    chosen = [
        loop
        for loop in around
        if wanted(loop) and len(loop.lowers) == 1 and loop.lowers[0].isdigit()
    ]
    first = {loop.name: int(loop.lowers[0]) for loop in chosen}
    moving = [loop for loop in chosen if loop.uppers != ("1",)][: 2 if limit > 3 else 1]
    steps = range(2 if len(moving) == 2 else limit)
    return [
        first
        | {
            loop.name: first[loop.name] + loop.step * step
            for loop, step in zip(moving, reversed(taken), strict=True)
        }
        for taken in product(steps, repeat=len(moving))
    ]
