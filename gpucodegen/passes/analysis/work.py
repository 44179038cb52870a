"""Cost estimates: expected iterations of nests and launch counts of kernels.

Estimates serve decisions that affect speed only, never correctness.  `host_program`
counts how often a mapped host function launches each kernel without running it: bounds
that depend on enclosing loops are enumerated while this takes few steps, and are then
evaluated at the middle of those loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gpu import LaunchFunc, known_block, most_blocks
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import (
    IntegerAttr,
)
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.records import dataclass

Middles = Mapping[Value, int]
"""The middle of each loop variable's range; unknown ones are missing."""
Weigh = Callable[[Operation], int]
"""The weight of one execution of an operation without regions."""


def inside(op: Operation, middles: Middles, part: int = 0, parts: int = 1) -> Middles:
    """The middles known in the body of an ``affine.for``, in one of its equal parts."""
    found = _range(affine.For(op), middles)
    if found is None:
        return middles
    lower, upper = found
    middle = lower + (2 * part + 1) * (upper - lower) // (2 * parts)
    return {**middles, affine.For(op).iv: middle}


def iterations(op: Operation, middles: Middles) -> range | None:
    """The range of the variable of an ``affine.for``; None where unknown."""
    found = _range(affine.For(op), middles)
    return None if found is None else range(*found, affine.For(op).step)


def expected_work(
    op: Operation, middles: Middles, weigh: Weigh = lambda _: 1
) -> int | None:
    """Operations that ``op`` executes; None where an extent is not known.

    A loop whose bounds depend on loops around it counts as in the middle of these:
    exact for a triangle, up to rounding.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @clear(%A: memref<9x9xf32>, %zero: f32) {
    ...   affine.for %i = 0 to 9 {
    ...     affine.for %j = 0 to affine_map<(i) -> (i + 1)>(%i) {
    ...       affine.store %zero, %A[%i, %j] : memref<9x9xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> nest = next(op for op in module.walk() if op.name == "affine.for")
    >>> expected_work(nest, {})
    45
    """
    if op.name in _UNCOUNTED:
        return None
    if op.name != "affine.for":
        return total_work(op.nested, middles, weigh) if op.nested else weigh(op)
    run = iterations(op, middles)
    once = total_work(op.body.operations[:-1], inside(op, middles), weigh)
    return None if run is None or once is None else len(run) * once


def _after(op: Operation, middles: Middles) -> Middles:
    """The known values behind an operation."""
    if op.name != "affine.apply":
        return middles
    made = _values(affine.map_of(op), op.operands, middles)
    return {**middles, **dict(zip(op.results, made, strict=False))}


_UNCOUNTED = frozenset({"scf.execute_region", "scf.for", "scf.while"})


def total_work(
    operations: Sequence[Operation], middles: Middles, weigh: Weigh = lambda _: 1
) -> int | None:
    """Operations that a list executes together; None where an extent is unknown."""
    amounts: list[int] = []
    for op in operations:
        middles = _after(op, middles)
        amount = expected_work(op, middles, weigh)
        if amount is None:
            return None
        amounts.append(amount)
    return sum(amounts)


def executions(
    operations: Sequence[Operation], middles: Middles
) -> dict[int, int] | None:
    """Executions of each operation without regions, by its identity.

    None where an extent is unknown.
    """
    counts: dict[int, int] = {}
    for op in operations:
        middles = _after(op, middles)
        found = _executions_in(op, middles)
        if found is None:
            return None
        for key, count in found.items():
            counts[key] = counts.get(key, 0) + count
    return counts


def _executions_in(op: Operation, middles: Middles) -> dict[int, int] | None:
    if op.name in _UNCOUNTED:
        return None
    if op.name != "affine.for":
        return executions(op.nested, middles) if op.nested else {id(op): 1}
    run = iterations(op, middles)
    once = executions(op.body.operations[:-1], inside(op, middles))
    if run is None or once is None:
        return None
    return {key: len(run) * count for key, count in once.items()}


def iteration_work(loop: Operation) -> int | None:
    """Operations of one iteration of a loop; None where an extent is unknown."""
    around: Middles = {}
    if loop.name == "affine.for":
        around = inside(loop, around)
    bodies = (b.operations[:-1] for b in loop.blocks)
    amounts = [total_work(body, around) for body in bodies]
    return None if None in amounts else sum(a for a in amounts if a is not None)


def _range(loop: affine.For, middles: Middles) -> tuple[int, int] | None:
    lower = _values(loop.lower_map, loop.lower_operands, middles)
    upper = _values(loop.upper_map, loop.upper_operands, middles)
    return (max(lower), min(upper)) if lower and upper else None


def _values(
    map_: AffineMap, operands: Sequence[Value], middles: Middles
) -> tuple[int, ...]:
    """The results of a bound's map at the middles, none if an operand has none."""
    known = [middles[value] for value in operands if value in middles]
    if len(known) < len(operands):
        return ()
    return map_.evaluate(known[: map_.num_dims], known[map_.num_dims :])


STEPS = 1 << 14
"""Most iterations of host loops that are enumerated."""


HostLoop = tuple[str, Location]
"""The variable of a loop, and where the loop stands."""


@dataclass(frozen=True, slots=True)
class KernelLaunches:
    """A launch operation: its kernel, its host loops and its work.

    ``launches``: number of executions.  ``grid``: blocks along x, y, z.  ``threads``
    and ``operations``: threads of one launch, and approximate operations of its first
    thread, in the middle of the enclosing loops.  None: depends on unknown numbers.
    ``inside``: the outermost loops of the kernel.
    """

    kernel: str
    loops: tuple[HostLoop, ...]
    launches: int | None
    grid: tuple[int | None, ...]
    threads: int | None
    operations: int | None
    inside: tuple[HostLoop, ...]

    @property
    def is_alone(self) -> bool:
        """Whether a single thread does all the work."""
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
    return tuple(_launches(function.nested, (), known, kernels))


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
        known = _after(op, known)
        if op.name == "gpu.launch_func":
            yield _launch(op, around, known, kernels)
        within = (*around, op) if op.name in _LOOPS else around
        for block in op.blocks:
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
    body = kernel.nested
    grid = tuple(
        middles.get(value) if extent is None else extent
        for extent, value in zip(most_blocks(kernel), launch.grid, strict=True)
    )
    extents = (*grid, *known_block(kernel))
    sizes = [extent for extent in extents if extent is not None]
    return KernelLaunches(
        launch.kernel[-1],
        tuple(map(host_loop, around)),
        count,
        grid,
        prod(sizes) if len(sizes) == len(extents) else None,
        total_work(body, inner),
        tuple(map(host_loop, _outermost(body))),
    )


def _outermost(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The loops that no other loop is around."""
    for op in operations:
        if op.name in _LOOPS:
            yield op
            continue
        yield from _outermost(op.nested)


_FIRST = frozenset({"gpu.block_id", "gpu.thread_id"})
_LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for", "scf.while"})


def host_loop(loop: Operation) -> HostLoop:
    """A loop's variable, or its operation, and its place."""
    name = affine.For(loop).iv.name if loop.name == "affine.for" else loop.name
    return name, loop.location


def _times(op: Operation, launch: Operation, known: Middles) -> int | None:
    """Executions of a launch in the loops of the host, or None."""
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


LOOP_OPERATION = 16
"""32-bit multiply-adds that take as long as an operation of another loop."""
