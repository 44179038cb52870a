"""How often a host program launches each kernel, counted without running it.

Comes in: a mapped function whose launches stand in its body, in loops and branches of
the host.  Goes out: a `KernelLaunches` for each launch that is written in it.  Bounds
that depend on loops around them are followed exactly as long as that takes few steps,
then as in the middle of these loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gpu import LaunchFunc, known_block, known_grid
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.work import Middles, inside, iterations, total_work

STEPS = 1 << 14
"""Most iterations of host loops that are followed one by one."""


HostLoop = tuple[str, Location]
"""The variable of a loop, and where the loop stands."""


@dataclass(frozen=True, slots=True)
class KernelLaunches:
    """One written launch: its kernel, the host's loops around it, and what it runs.

    ``launches``: how often it happens.  ``threads`` and ``operations``: threads of one
    launch, and operations of its first thread, about, in the middle of the loops around
    it.  None stands for what depends on numbers that are not known.  ``inside``: the
    outermost loops of the kernel.
    """

    kernel: str
    loops: tuple[HostLoop, ...]
    launches: int | None
    threads: int | None
    operations: int | None
    inside: tuple[HostLoop, ...]

    @property
    def is_alone(self) -> bool:
        """Whether a single thread does all of it."""
        return self.threads == 1


def host_program(
    module: Module, name: str, sizes: Mapping[str, int] | None = None
) -> tuple[KernelLaunches, ...]:
    """The launches of a mapped function, in textual order.

    ``sizes``: values of its arguments that are numbers, by name.
    """
    function = module.functions[name]
    known = {
        value: sizes[value.name]
        for value in Function(function).arguments
        if sizes and value.name in sizes
    }
    known |= _constants(function)
    kernels = {symbol_name(op): op for op in module.walk() if op.name == "gpu.func"}
    body = [op for r in function.regions for b in r.blocks for op in b.operations]
    return tuple(_launches(body, (), known, kernels))


def _constants(function: Operation) -> dict[Value, int]:
    return {
        op.result: value.value
        for op in function.walk()
        if op.name == "arith.constant"
        for value in [op.attributes.get("value")]
        if isinstance(value, IntegerAttr)
    }


def _launches(
    operations: Sequence[Operation],
    around: tuple[Operation, ...],
    known: Middles,
    kernels: Mapping[str, Operation],
) -> Iterator[KernelLaunches]:
    for op in operations:
        if op.name == "gpu.launch_func":
            yield _launch(op, around, known, kernels)
        within = (*around, op) if op.name in _LOOPS else around
        for region in op.regions:
            for block in region.blocks:
                yield from _launches(block.operations, within, known, kernels)


def _launch(
    op: Operation,
    around: tuple[Operation, ...],
    known: Middles,
    kernels: Mapping[str, Operation],
) -> KernelLaunches:
    launch = LaunchFunc(op)
    kernel = kernels[launch.kernel[-1]]
    count = _times(around[0], op, known) if around else 1
    middles = known
    for loop in around:
        middles = inside(loop, middles) if loop.name == "affine.for" else middles
    given = zip(Function(kernel).arguments, launch.arguments, strict=False)
    inner = _constants(kernel) | {p: middles[v] for p, v in given if v in middles}
    inner |= {o.result: 0 for o in kernel.walk() if o.name in _FIRST}
    body = [o for r in kernel.regions for b in r.blocks for o in b.operations]
    extents = (*known_grid(kernel), *known_block(kernel))
    sizes = [extent for extent in extents if extent is not None]
    return KernelLaunches(
        launch.kernel[-1],
        tuple(map(_named, around)),
        count,
        prod(sizes) if len(sizes) == len(extents) else None,
        total_work(body, inner),
        tuple(map(_named, _outermost(body))),
    )


def _outermost(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The loops that no other loop is around."""
    for op in operations:
        if op.name in _LOOPS:
            yield op
            continue
        for region in op.regions:
            for block in region.blocks:
                yield from _outermost(block.operations)


_FIRST = frozenset({"gpu.block_id", "gpu.thread_id"})
_LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for", "scf.while"})


def _named(loop: Operation) -> HostLoop:
    name = affine.For(loop).iv.name if loop.name == "affine.for" else loop.name
    return name, loop.location


def _times(op: Operation, launch: Operation, known: Middles) -> int | None:
    """How often a launch happens in a loop of the host."""
    weigh = partial(_is, launch)
    run = iterations(op, known) if op.name == "affine.for" else None
    inner = [o for o in op.walk() if o is not op and o.name == "affine.for"]
    if run is None or len(run) > STEPS or not inner:
        return total_work([op], known, weigh)
    iv, body = affine.For(op).iv, op.body.operations[:-1]
    amounts = [total_work(body, {**known, iv: at}, weigh) for at in run]
    return None if None in amounts else sum(a for a in amounts if a is not None)


def _is(launch: Operation, op: Operation) -> int:
    return int(op is launch)
