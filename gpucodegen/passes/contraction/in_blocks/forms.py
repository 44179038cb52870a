"""Which nests of a block's program multiply tiles in shared memory.

Comes in: the program of a block, whose buffers lie in shared memory.  Goes out: its
products, how warps or threads may share each, and why tensor cores have no part in it.

    for i, j, k { C[x + i, y + j] += a[s, i, k] * b[s, k, j] }    a, b in shared memory

`recognize` finds them, as it finds all contractions; what tensor cores take is what
`on_tensor_cores` says.  The order of a float sum must be free for these, as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    MemRefType,
    Type,
    element_bytes,
)
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.fragments.factors import on_tensor_cores, type_of
from gpucodegen.passes.contraction.gpu.axes import Groups, groups_of
from gpucodegen.passes.contraction.gpu.forms import paying_contraction
from gpucodegen.passes.contraction.in_blocks.held import OwnTile
from gpucodegen.passes.contraction.in_blocks.keeping import kept_over
from gpucodegen.passes.contraction.in_blocks.reasons import refused, uneven
from gpucodegen.passes.contraction.recognition.alone import alone
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.tiling.machine.gpu.product_tiles import SharedTiles, WarpTiles
from gpucodegen.tiling.machine.gpu.user_tiles import (
    ROOM,
    slice_bytes,
    thread_tiles,
    warp_tiles,
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a program allows of its products, as the options of `MapGpu` say it.

    ``room``: bytes of shared memory of a block.
    """

    contractions: bool = True
    relaxed: bool = False
    precision: str = "ieee"
    room: int = ROOM


@dataclass(frozen=True, slots=True)
class TileProduct:
    """A nest that multiplies tiles; ``found``: with factors as fragments hold them.

    ``outside``: values of its indices that stand for terms of loops around it.
    ``around``: the loops directly around it, outermost first.  ``plans``: how a block
    may share it, the best first.  ``reason``: why tensor cores have no part in it.
    """

    nest: Operation
    found: Contraction
    groups: Groups
    outside: dict[Value, Index]
    around: tuple[Operation, ...]
    plans: tuple[SharedTiles | WarpTiles, ...] = ()
    reason: str = ""

    @property
    def tiles(self) -> tuple[OwnTile, OwnTile]:
        """Both factors in shared memory."""
        (terms,) = self.groups.reduction
        sides = (
            (self.found.left, self.groups.rows),
            (self.found.right, self.groups.columns),
        )
        left, right = (
            OwnTile(operand, axis, terms, self.outside) for operand, (axis,) in sides
        )
        return left, right

    def loops(self, analysis: NestAnalysis) -> tuple[Operation, ...]:
        """Those over which sums may stay in registers."""
        result = self.found.result
        return kept_over(self.nest, self.around, result, self.outside, analysis)

    @property
    def slice(self) -> int:
        """Bytes of shared memory that its sums take."""
        size = element_bytes(type_of(self.found.left)) or 1
        plans = [plan for plan in self.plans if isinstance(plan, WarpTiles)]
        return max((slice_bytes(plan, size) for plan in plans), default=0)

    @property
    def names(self) -> str:
        """The arrays, as the program calls them."""
        left, right, result = (
            f"%{operand.memref.name or '?'}"
            for operand in (self.found.left, self.found.right, self.found.result)
        )
        return f"{left} by {right} to {result}"


def tile_products(
    operations: Sequence[Operation],
    allowed: Allowed,
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
) -> list[TileProduct]:
    """The products of tiles in a program, in the order of its text."""
    found: list[TileProduct] = []
    for seen in _nests(operations, ()):
        product = _product(seen, allowed)
        nests = analyse([seen.nest], context, surroundings)
        if product is not None and only_accumulates(nests.dependences):
            found.append(product)
            allowed = replace(allowed, room=allowed.room - product.slice)
    return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """A nest that is a contraction of tiles in shared memory."""

    nest: Operation
    around: tuple[Operation, ...]
    contraction: Contraction
    outside: dict[Value, Index]


def _nests(
    operations: Sequence[Operation], around: tuple[Operation, ...]
) -> Iterator[_Seen]:
    """The outermost nests that are such, with the loops directly around them."""
    for op in operations:
        is_loop = op.name == "affine.for"
        if is_loop and (found := _contraction(op)):
            yield _Seen(op, around, *found)
            continue
        outer = (*around, op) if is_loop else ()
        for block in (block for region in op.regions for block in region.blocks):
            yield from _nests(block.operations, outer)


def _contraction(nest: Operation) -> tuple[Contraction, dict[Value, Index]] | None:
    """What a nest of three loops computes of tiles in shared memory."""
    if _depth(nest) != AXES:
        return None
    written = alone(nest)
    found = paying_contraction(written.nest)
    if found is None or not all(map(_is_shared, (found.left, found.right))):
        return None
    return found, written.terms


def _product(seen: _Seen, allowed: Allowed) -> TileProduct | None:
    """The product with its plans, or the reason why it has none."""
    contraction = seen.contraction
    groups = groups_of(contraction)
    if groups is None or groups.batch:
        return None
    roles = groups.rows, groups.columns, groups.reduction
    if any(len(axes) != 1 or not axes[0].extent for axes in roles):
        return None
    is_free = contraction.reassociable or allowed.relaxed
    plain = replace(contraction, reassociable=is_free)
    asked = replace(plain, reassociable=True, precision=allowed.precision)
    rows, columns, terms = (axes[0].extent for axes in roles)
    narrow, tile = on_tensor_cores(asked), (rows, columns, terms)
    reason = refused(plain, narrow, contractions=allowed.contractions) or uneven(
        narrow, tile, allowed.room
    )
    found = narrow if narrow and not reason else plain
    product = TileProduct(*(seen.nest, found, groups, seen.outside, seen.around))
    if not allowed.contractions:
        return replace(product, reason=reason)
    size = element_bytes(type_of(found.left)) or 1
    plans = thread_tiles(tile) if reason else warp_tiles(tile, size, allowed.room)
    return replace(product, plans=tuple(plans), reason=reason)


AXES = 3
"""Loops of a product of matrices."""


def _depth(nest: Operation) -> int:
    """Loops of a perfect nest."""
    depth = 1
    while len(inner := inner_operations(nest)) == 1 and inner[0].name == "affine.for":
        nest, depth = inner[0], depth + 1
    return depth


def _is_shared(operand: Operand) -> bool:
    """Whether all elements that a factor is made of lie in the block's own memory."""
    return all(_in_shared(place.memref.type) for place in operand.accesses)


def _in_shared(ty: Type) -> bool:
    return isinstance(ty, MemRefType) and ty.memory_space == SHARED
