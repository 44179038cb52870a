"""Horizontal fusion: kernels of independent operations run in one launch.

    launch A (n blocks);  launch B (m blocks)
        =>  launch (2 x max(n, m) blocks): block (0, b), b < n, is block b of A,
            block (1, b), b < m, is block b of B

Blocks of one launch run in any order and at the same time, so no kernel may depend on
another one:

    { x -> y in dependences : x, y of different kernels } = {}.

That needs no proof of the whole kernel once each kernel is proven and all of its places
are apart from those of the others by a test of divisors (`are_apart`).

Neighbouring blocks are of different kernels: where these store parts of the same lines,
such as the phases of a transposed convolution, the lines are joined in the L2 cache.
All kernels have one shape of blocks, and arrays of one rank and element in shared
memory, which stand in front of the branches.  An array has the largest extent of all
kernels in each dimension: indices that are below a smaller extent are below it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from gpucodegen.dialects.gpu import dimension_of
from gpucodegen.dialects.memref import static_extents
from gpucodegen.ir.affine import linear_form
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType, element_bytes
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.outlining.gpu_launch import KernelBody, thread_index
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import GRID, STATIC_SHARED
from gpucodegen.tiling.machine.gpu.product_tiles import SharedTiles, WarpTiles

MOST = 16
"""Kernels of a launch, which are proven and compiled together."""


@dataclass(frozen=True, slots=True)
class Joinable:
    """The kernels of contractions in one launch, and the plan of all.

    ``targets``: the places of their stores.
    """

    bodies: tuple[KernelBody, ...]
    plan: SharedTiles | WarpTiles
    targets: tuple[Operand, ...]


def are_apart(one: Operand, other: Operand) -> bool:
    """Whether strided places never are one element.

    Indices r + g i and s + g j are different if g > 1 does not divide r - s.
    """
    if one.memref is not other.memref:
        return False
    for pair in zip(one.indices, other.indices, strict=True):
        (terms, first), (others, second) = (linear_form(index.expr) for index in pair)
        step = gcd(*terms.values(), *others.values())
        if step > 1 and (first - second) % step:
            return True
    return False


def in_one_launch(bodies: Sequence[KernelBody]) -> KernelBody | None:
    """The kernel of all bodies, one for each x; None where their blocks differ.

    The blocks that each body has along x lie along y.
    """
    first, *others = bodies
    if len(bodies) > MOST:
        return None
    counts = [body.grid[0].constant for body in bodies]
    known = [count for count in counts if count is not None]
    is_short = len(known) == len(bodies) and max(known) <= GRID[1]
    if not is_short or any(body.grid[1].constant != 1 for body in bodies):
        return None
    if not all(_is_alike(first, other) for other in others):
        return None
    b = Builder(first.operations[0].location)
    kernel = Index.of(thread_index(b, "block_id", "x", "kernel"))
    number = thread_index(b, "block_id", "y", "bx")
    found = [_largest(arrays) for arrays in zip(*map(_arrays, bodies), strict=True)]
    if sum(map(_bytes, found)) > max(STATIC_SHARED, *map(_shared, bodies)):
        return None
    shared = [
        replace(op, results=(op.result.renewed(ty),))
        for op, ty in zip(_arrays(first), found, strict=True)
    ]
    b.operations += shared
    for n, (body, count) in enumerate(zip(bodies, known, strict=True)):
        exists = [Index.of(count - 1) - number] if count < max(known) else []
        b.guard(
            [kernel - n, kernel * -1 + n, *exists],
            lambda i, body=body: i.operations.extend(_moved(body, number, shared)),
        )
    grid = Index.of(len(bodies)), Index.of(max(known)), first.grid[2]
    resident = [body.resident for body in bodies if body.resident is not None]
    return KernelBody(
        tuple(b.operations), grid, first.block, min(resident, default=None)
    )


def _is_alike(one: KernelBody, other: KernelBody) -> bool:
    """Whether blocks, grids along z, and arrays but for their extents are the same."""
    kinds = [
        [(len(ty.shape), replace(ty, shape=())) for ty in map(_type, _arrays(body))]
        for body in (one, other)
    ]
    return (
        one.block == other.block
        and one.grid[2] == other.grid[2]
        and kinds[0] == kinds[1]
    )


def _type(op: Operation) -> MemRefType:
    ty = op.result.type
    assert isinstance(ty, MemRefType)
    return ty


def _largest(arrays: Sequence[Operation]) -> MemRefType:
    """The type of an array that has room for each of some arrays of one rank."""
    extents = zip(*(static_extents(op.result) for op in arrays), strict=True)
    return replace(_type(arrays[0]), shape=tuple(map(max, extents)))


def _shared(body: KernelBody) -> int:
    return sum(_bytes(_type(op)) for op in _arrays(body))


def _bytes(ty: MemRefType) -> int:
    return prod(n or 0 for n in ty.shape) * (element_bytes(ty.element) or 1)


def _arrays(body: KernelBody) -> list[Operation]:
    return [op for op in body.operations if op.name == "memref.alloca"]


def _moved(
    body: KernelBody, number: Value, shared: Sequence[Operation]
) -> list[Operation]:
    """A body for the block of a number, with arrays that are allocated outside."""
    arrays = _arrays(body)
    pairs = zip(arrays, shared, strict=True)
    values = {old.result: new.result for old, new in pairs}
    made: list[Operation] = []
    for op in body.operations:
        if op.name == "gpu.block_id" and dimension_of(op) == "x":
            values[op.result] = number
        elif op not in arrays:
            made.append(clone(op, values))
    return made
