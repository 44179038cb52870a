"""Planner input of a GPU contraction: extents, types, contiguity and alignment.

`products_of` describes the contraction to the planner, once as a product of single
elements and, where tensor cores or TMA apply, of fragments; for dynamic extents it
gives one product per usual size.  `planned` chooses the plan of least estimated cost,
or completes the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    F32,
    IntegerType,
    MemRefType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.epilogue_fusion import kept_at
from gpucodegen.passes.contraction.gpu.axes import Groups, extent, side_by_side
from gpucodegen.passes.contraction.gpu.staging import can_be_direct, contiguity
from gpucodegen.passes.contraction.gpu.tensor_boxes import in_boxes
from gpucodegen.passes.contraction.gpu.tensor_cores import (
    PASSES,
    on_tensor_cores,
    type_of,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.outlining.vector_width import Definitions
from gpucodegen.tiling.machine.gpu.devices import has_warpgroups
from gpucodegen.tiling.machine.gpu.product_plan import (
    USUAL,
    device_for,
    least_depth,
    plan_contraction,
    with_copies,
)
from gpucodegen.tiling.machine.gpu.product_tiles import (
    SPLITS,
    Candidate,
    WarpgroupTiles,
    WarpTiles,
    even_depth,
)
from gpucodegen.tiling.machine.gpu.product_work import Product
from gpucodegen.tiling.machine.gpu.shared_copies import by_position, copied_width
from gpucodegen.tiling.machine.plan_space import Choose, least

WORD = 4
"""Largest element size in bytes of element-wise asynchronous copies.

Products of wider elements take long enough for loads to arrive.
"""


def planned(
    contraction: Contraction,
    groups: Groups,
    plan: Candidate | None,
    definitions: Definitions,
    choose: Choose = least,
    *,
    arch: str = "",
    warpgroups: bool = False,
    bands: bool = False,
    views: bool = False,
) -> Candidate:
    """The plan of a contraction's kernel; ``plan``: the caller's choice.

    Warp tiles need operands for tensor cores, warpgroup tiles need TMA.  ``arch``: the
    architecture whose specific features kernels use, "" if none.  ``warpgroups``:
    warpgroup plans are always on offer.  ``bands``: every order of tiles is on offer,
    not only the one that the estimate prefers.  ``views``: TMA may store to views.
    """
    products = products_of(contraction, groups, definitions, views=views)
    narrow = products[0].fragments
    if isinstance(plan, WarpTiles) and narrow is None:
        plan = None
    if isinstance(plan, WarpgroupTiles) and not (narrow and narrow.boxes):
        plan = None
    if plan is None:
        splits = tuple(_splits(contraction))
        chosen = plan_contraction(
            *products,
            splits=splits,
            device=device_for(arch),
            choose=choose,
            warpgroups=warpgroups or has_warpgroups(arch),
            bands=bands,
        )
    else:
        chosen = with_copies(plan, products[0])
    terms = [extent((axis,)).constant for axis in groups.reduction]
    grain = least_depth(chosen, products[0])
    return replace(chosen, depth=even_depth(terms, chosen.depth, grain))


def products_of(
    contraction: Contraction,
    groups: Groups,
    definitions: Definitions,
    *,
    views: bool = False,
) -> list[Product]:
    """The product, or the possible ones where extents are dynamic.

    TMA stores no result that is a view, unless ``views``: the proof does not know which
    cells of the buffer such a copy writes.
    """
    roles = groups.rows, groups.columns, groups.reduction, groups.batch
    sizes = [extent(axes).constant for axes in roles]
    narrow = on_tensor_cores(contraction)
    facts = _facts(contraction, groups, definitions)
    fewer = narrow and _facts(narrow, groups, definitions, of_fragments=True)
    if fewer:
        tiled = in_boxes(contraction, groups, definitions)
        terms = tiled.groups.reduction if tiled else ()
        rows, terms = map(_known, (groups.rows, terms))
        fewer = replace(
            fewer,
            boxes=tiled is not None,
            stores=tiled is not None
            and tiled.result is not None
            and (views or is_whole(tiled.result.operand.memref, definitions)),
            row_axes=rows,
            term_axes=terms,
        )
    found: list[Product] = []
    for unknown in USUAL if None in sizes else USUAL[:1]:
        known = [unknown if size is None else max(1, size) for size in sizes]
        fragments = fewer and _of_extents(fewer, known)
        found.append(replace(_of_extents(facts, known), fragments=fragments))
    return found


def is_whole(memref: Value, definitions: Definitions) -> bool:
    """Whether a memref is a buffer, not a view of one."""
    while (made := definitions.get(memref)) and made.name == "memref.cast":
        memref = made.operands[0]
    return made is None or made.name in ALLOCATIONS


def _known(axes: Sequence[Axis]) -> tuple[int, ...]:
    """The extents of axes; empty if one is dynamic."""
    is_open = any(axis.count is not None for axis in axes)
    return () if is_open else tuple(max(1, axis.extent) for axis in axes)


def _of_extents(facts: Product, extents: Sequence[int]) -> Product:
    rows, columns, terms, batch = extents
    return replace(facts, rows=rows, columns=columns, terms=terms, batch=batch)


def _facts(
    contraction: Contraction,
    groups: Groups,
    definitions: Definitions,
    *,
    of_fragments: bool = False,
) -> Product:
    """The planner's description of a product, for a kernel of fragments or threads."""
    held = type_of(contraction.left) if of_fragments else contraction.element
    is_single = of_fragments and held == F32
    sides = (contraction.left, groups.rows), (contraction.right, groups.columns)
    moved: list[tuple[bool, int]] = []
    lines: list[int] = []
    direct: list[bool] = []
    size = element_bytes(held) or 4
    sums = contraction.element
    for operand, axes in sides:
        b = Builder(contraction.location)
        viewed, reduction = side_by_side(b, operand, groups.reduction)
        made = {value: op for op in b.operations for value in op.results}
        along_depth, width = contiguity(
            viewed, axes, reduction, {**definitions, **made}
        )
        moved.append((along_depth, width))
        line = extent(reduction[-1:]).constant if len(reduction) > 1 else None
        lines.append(line or 0)
        turned = along_depth != (of_fragments and by_position(along_depth, size))
        moves = copied_width(width, turned=turned, is_direct=True)
        is_word = size == WORD and not of_fragments and len(reduction) == 1
        is_quick = not turned or is_word
        direct.append(is_quick and can_be_direct(viewed, held, moves))
    (left, left_width), (right, right_width) = moved
    kept = kept_at(contraction) or contraction.result
    return Product(
        *(1, 1, 1),
        element=size,
        turned=(left, right),
        widths=(left_width, right_width),
        direct=(direct[0], direct[1]),
        plain=_is_plain(groups),
        integer=isinstance(sums, IntegerType),
        passes=PASSES[contraction.precision] if is_single else 1,
        result=element_bytes(element_type(kept.memref.type)) or 4,
        accumulates=_reads_results(contraction, groups),
        read=_read(contraction),
        lines=(lines[0], lines[1]),
        term_axes=_known(groups.reduction),
    )


def _reads_results(contraction: Contraction, groups: Groups) -> bool:
    """Whether an element of memory is read for each result, as old sums are."""
    ends = [end for end in (contraction.start, contraction.epilogue) if end is not None]
    axes, sums = (*groups.batch, *groups.rows, *groups.columns), contraction.result
    loaded = [place for end in ends for op, place in end.steps if op.results and place]
    return contraction.start is None or any(
        place.memref is not sums.memref and all(map(place.mentions, axes))
        for place in loaded
    )


def _read(contraction: Contraction) -> int | None:
    """Distinct elements in the arrays of both operands; views may repeat elements."""
    total = 0
    for factor in (contraction.left, contraction.right):
        ty = factor.memref.type
        form = strided_form(ty) if isinstance(ty, MemRefType) else None
        if not isinstance(ty, MemRefType) or form is None or not factor.is_of_one:
            return None
        if None in ty.shape or None in form.strides:
            return None
        shape, strides = ([n or 0 for n in some] for some in (ty.shape, form.strides))
        span = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        total += min(prod(shape), 1 + span)
    return total


def _is_plain(groups: Groups) -> bool:
    """Whether it is one matrix product of known extents.

    Windows reuse elements, which counts of rows and columns do not show.
    """
    alone = groups.rows, groups.columns, groups.reduction
    is_one = not groups.batch and _is_of_matrices(groups)
    return is_one and all(extent(g).constant for g in alone)


def _is_of_matrices(groups: Groups) -> bool:
    """Whether rows, columns and terms are one axis each, with any batch axes.

    Elements of other contractions need separate address computations.
    """
    return all(len(g) == 1 for g in (groups.rows, groups.columns, groups.reduction))


def _splits(contraction: Contraction) -> Iterator[int]:
    """Split-K factors of a sum whose order is free."""
    yield 1
    is_simple = contraction.reassociable and contraction.words is None
    if is_simple and len(contraction.reduction) == 1:
        terms = extent(contraction.reduction).constant
        if terms:
            yield from (n for n in SPLITS if n > 1 and terms % n == 0)
