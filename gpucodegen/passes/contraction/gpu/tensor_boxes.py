"""TMA boxes of a contraction: which operands and results tensor maps can copy, and how.

`in_boxes` gives the `Tiled` form of a contraction, or None where TMA cannot copy an
operand.  Rows that several axes count are split into rectangles:

    n, y, x   =   (n0, y0, x0) * (a, b, c) + (n1, y1, x1)

A block stands at n0, y0, x0, which become batch axes; n1, y1, x1 are the ``a b c`` rows
of its only tile, in the order of a box of operand A.  Guards exclude rows that do not
exist.

A box of an operand has lines of 128 bytes, the span of the swizzle.  A line runs along
the reduction if that is contiguous in memory, else along rows or columns, which only
products of 16-bit elements can read; other axes, such as the taps of a window, give the
origin of the box.  TMA reads
elements outside the array as zero, so ragged extents need no guards: zero terms add
nothing, and out-of-range rows and columns are never stored.

A box of the result has `ROWS` rows, those of one warp, and as many columns as a line of
shared memory has bytes for.  TMA does not store outside the array, so rows and columns
that do not exist must lie outside it.  In shared memory a box lies row by row in lines
of `SPAN` bytes whose 16-byte pieces are permuted (swizzled).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    F32,
    INDEX,
    DialectType,
    MemRefType,
    Type,
    UnrankedMemRefType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.epilogue_fusion import kept_at
from gpucodegen.passes.contraction.gpu.axes import Groups, Positions, unflatten
from gpucodegen.passes.contraction.gpu.staging import contiguity
from gpucodegen.passes.contraction.gpu.tensor_cores import (
    PASSES,
    on_tensor_cores,
    type_of,
)
from gpucodegen.passes.contraction.operands import (
    Operand,
    Range,
    buffer_of,
    nested,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.contraction.windows import unrolled
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.outlining.vector_width import Definitions
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WIDEST
from gpucodegen.tiling.machine.gpu.fragments import ROWS
from gpucodegen.tiling.machine.gpu.product_tiles import HALF, SPAN, rectangle

MOST_RANK = 5
"""Most dimensions of a tensor map."""


def is_mappable(ty: Type) -> bool:
    """Whether row strides are multiples of 16 bytes and rows are contiguous."""
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    if form is None or not 1 < len(form.strides) <= MOST_RANK:
        return False
    size = element_bytes(element_type(ty)) or 1
    *others, last = form.strides
    return last == 1 and all(s and s > 0 and s * size % WIDEST == 0 for s in others)


def map_type(box: Sequence[int], element: Type) -> DialectType:
    shape = "x".join(map(str, box))
    return DialectType(
        "nvgpu.tensormap.descriptor<tensor ="
        f" memref<{shape}x{element}, 3>, swizzle = swizzle_{SPAN}b,"
        " l2promo = none, oob = zero, interleave = none>"
    )


def make_map(b: Builder, memref: Value, box: Sequence[int], ty: DialectType) -> Value:
    """``nvgpu.tma.create.descriptor``, on the host; ``box``: extents."""
    unranked = UnrankedMemRefType(element_type(memref.type))
    (array,) = b.add("memref.cast", (memref,), [unranked])
    extents = [b.constant(extent, INDEX) for extent in box]
    name = "nvgpu.tma.create.descriptor"
    (made,) = b.add(name, (array, *extents), [ty], hint="map")
    return made


LINE = SPAN // HALF
"""Elements of a line along rows or columns, and lines of its box."""
ELEMENTS = (1, 2, 4)
"""Bytes of the elements that ``wgmma`` multiplies."""


def line_of(element: Type) -> int:
    """Elements of a line of a box.

    >>> from gpucodegen.ir.types import F16, F32, I8
    >>> [line_of(each) for each in (I8, F16, F32)]
    [128, 64, 32]
    """
    return SPAN // (element_bytes(element) or 1)


@dataclass(frozen=True, slots=True)
class Boxes:
    """An operand over axes of positions and of terms, a dimension for each.

    ``axes``: the axes of a tile's ``size`` positions: all of several axes, in the order
    of their dimensions, or some of one.  ``term``: the axis of the terms of a K tile.
    ``by_position``: lines run along positions.
    """

    operand: Operand
    axes: tuple[Axis, ...]
    term: Axis
    size: int
    by_position: bool

    @staticmethod
    def of(
        operand: Operand,
        axes: tuple[Axis, ...],
        reduction: Sequence[Axis],
        definitions: Definitions,
        size: int = LINE,
    ) -> Boxes | None:
        """The boxes of an operand; None where TMA cannot copy it.

        K tiles are of the last axis of the ``reduction``.
        """
        is_element = operand.is_of_one and not operand.steps
        each = element_bytes(element_type(operand.memref.type))
        is_known = is_element and each in ELEMENTS
        if each is None or not (is_known and is_mappable(operand.memref.type)):
            return None
        by_position, width = contiguity(operand, axes, reduction, definitions)
        term, is_line = reduction[-1], len(axes) == 1 and each == HALF
        if width * each < WIDEST or not (by_position or is_line):
            return None
        dimensions = _alone(operand, (*axes, term))
        if dimensions is None or not _ends(operand, dimensions[-1], term):
            return None
        return Boxes(operand, axes, term, size, by_position)

    @property
    def element(self) -> Type:
        return element_type(self.operand.memref.type)

    @property
    def line(self) -> int:
        return line_of(self.element)

    @property
    def lines(self) -> int:
        return self.size if self.by_position else LINE

    @property
    def map_type(self) -> DialectType:
        """The tensor map type: the box and its shared-memory layout."""
        return map_type((self.lines, self.line), self.element)

    def make_map(self, b: Builder) -> Value:
        extents = [1] * len(self.operand.indices)
        for axis, extent in {**self._positions, self.term: self.line}.items():
            (dimension,) = self.operand.dimensions_of(axis)
            extents[dimension] = extent
        return make_map(b, self.operand.memref, extents, self.map_type)

    @property
    def _positions(self) -> dict[Axis, int]:
        """Positions of a box along each axis."""
        if len(self.axes) == 1:
            return {self.axes[0]: self._each}
        return {axis: axis.extent for axis in self.axes}

    @property
    def _each(self) -> int:
        """Positions of a box."""
        return self.size if self.by_position else LINE

    def starts(self, first: Index, at: Positions) -> Iterator[list[Index]]:
        """Coordinates of the boxes of a tile, last dimension first.

        ``first``: position of the tile; ``at``: positions of the batch and the terms.
        """
        for inner in range(0, self.size, self._each):
            place = at | unflatten(first + inner, self.axes)
            yield self.operand.at(place)[::-1]


def in_few_dimensions(
    b: Builder, operand: Operand, axes: Sequence[Axis], others: Sequence[Axis]
) -> Operand:
    """The operand through a view that has a dimension for each of the ``axes``.

    The ``others`` move along these where they can: tensor maps have few dimensions.
    """
    ty = operand.memref.type
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    if form is None or form.offset != 0 or None in form.strides or operand.steps:
        return operand
    fits = len(operand.indices) <= MOST_RANK and _alone(operand, axes) is not None
    if fits or any(axis.count is not None for axis in (*axes, *others)):
        return operand
    moved = {axis.iv for axis in (*axes, *others)}
    if any(not moved.issuperset(index.values) for index in operand.indices):
        return operand  # a map has no offset that loops around it move
    return unrolled(b, operand, (*axes, *others), others)


def _alone(operand: Operand, axes: Sequence[Axis]) -> list[int] | None:
    """The dimensions of axes, if each moves one of its own with unit stride."""
    found = [operand.dimensions_of(axis) for axis in axes]
    dimensions = [each[0] for each in found if len(each) == 1]
    if len(set(dimensions)) < len(axes):
        return None
    pairs = zip(dimensions, axes, strict=True)
    steps = {operand.coefficient(dimension, axis) for dimension, axis in pairs}
    return dimensions if steps == {1} else None


def _ends(operand: Operand, dimension: int, term: Axis) -> bool:
    """Whether terms end where lines do, or where the array does.

    Only then are padding terms zeros.
    """
    ty, index = operand.memref.type, operand.indices[dimension]
    assert isinstance(ty, MemRefType)
    whole = index.values == (term.iv,) and (index - term.iv).constant == 0
    size = term.size.constant
    if size is not None and size % line_of(ty.element) == 0:
        return True
    return whole and size is not None and ty.shape[dimension] == size


SIZES = (2, 4)
"""Element sizes in bytes whose pairs a lane stores at once."""


@dataclass(frozen=True, slots=True)
class ResultBoxes:
    """The place of the result, and the axes that count rows and columns of a tile."""

    operand: Operand
    rows: tuple[Axis, ...]
    column: Axis

    @property
    def size(self) -> int:
        return element_bytes(element_type(self.operand.memref.type)) or 1

    @property
    def line(self) -> int:
        return SPAN // self.size

    @property
    def box(self) -> tuple[int, ...]:
        """Extents of a box, along each dimension of the array."""
        found = [1] * len(self.operand.indices)
        left = ROWS
        for axis in reversed(self.rows):
            (dimension,) = self.operand.dimensions_of(axis)
            is_last = axis is self.rows[0]
            found[dimension] = left if is_last else min(axis.extent, left)
            left //= found[dimension]
        return (*found[:-1], self.line)

    @property
    def map_type(self) -> DialectType:
        return map_type(self.box, element_type(self.operand.memref.type))

    def make_map(self, b: Builder) -> Value:
        return make_map(b, self.operand.memref, self.box, self.map_type)

    def start(self, row: Index, column: Index, batch: Positions) -> list[Index]:
        """Coordinates of the box at a row and a column, the last dimension first."""
        at = batch | unflatten(row, self.rows) | {self.column.iv: column}
        return self.operand.at(at)[::-1]


def in_result_boxes(contraction: Contraction, groups: Groups) -> ResultBoxes | None:
    """The boxes of tiles of the groups, if `can_store` allows them."""
    kept = kept_at(contraction)
    if kept is None or not can_store(kept, groups.rows, groups.columns):
        return None
    return ResultBoxes(kept, groups.rows, groups.columns[0])


def can_store(kept: Operand, rows: Sequence[Axis], columns: Sequence[Axis]) -> bool:
    """Whether each axis moves a dimension of its own, columns the last one.

    The dimensions are in the order of the axes, like the rows of a box.
    """
    ty = kept.memref.type
    size = element_bytes(element_type(ty))
    if size not in SIZES or len(columns) != 1 or not is_mappable(ty):
        return False
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    if form is None or form.offset is None or form.offset * size % WIDEST:
        return False
    axes = (*rows, *columns)
    found = [kept.dimensions_of(axis) for axis in axes]
    if any(len(dimensions) != 1 for dimensions in found):
        return False
    order = [dimension for (dimension,) in found]
    steps = {kept.coefficient(d, axis) for d, axis in zip(order, axes, strict=True)}
    in_order = order == sorted(set(order)) and order[-1] == len(kept.indices) - 1
    return in_order and steps == {1}


def ends_outside(kept: Operand, axes: Sequence[Axis]) -> bool:
    """Whether positions that do not exist lie outside of the array."""
    ty = kept.memref.type
    shape = ty.shape if isinstance(ty, MemRefType) else ()

    def ends(axis: Axis) -> bool:
        dimensions = kept.dimensions_of(axis)
        extent = axis.size.constant
        return extent is not None and any(
            shape[d] == extent and (kept.indices[d] - axis.iv).constant == 0
            for d in dimensions
        )

    return all(map(ends, axes))


def in_rectangles(
    contraction: Contraction, groups: Groups, rows: int
) -> tuple[Contraction, Groups] | None:
    """The contraction in tiles of ``rows`` rows; None where extents are dynamic."""
    axes = groups.rows
    if len(axes) == 1:
        return contraction, groups
    if any(axis.count is not None for axis in axes):
        return None
    sizes = rectangle(tuple(axis.extent for axis in axes), rows)
    outer = tuple(
        _axis(axis, -(-axis.extent // size))
        for axis, size in zip(axes, sizes, strict=True)
    )
    inner = tuple(_axis(axis, size) for axis, size in zip(axes, sizes, strict=True))
    at: Positions = {
        axis.iv: Index.of(tile.iv) * size + within.iv
        for axis, size, tile, within in zip(axes, sizes, outer, inner, strict=True)
    }
    guards = tuple(
        Index.of(axis.extent - 1) - at[axis.iv]
        for axis, size in zip(axes, sizes, strict=True)
        if axis.extent % size
    )
    moved = replace(_moved(contraction, at), guards=guards)
    ordered = tuple(sorted(inner, key=moved.left.dimensions_of))
    return moved, replace(groups, rows=ordered, batch=(*groups.batch, *outer))


def _axis(of: Axis, extent: int) -> Axis:
    return Axis(Value(INDEX, of.name, of.iv.location), extent, 0, 1, of.operation)


def _moved(contraction: Contraction, at: Positions) -> Contraction:
    """The contraction with other expressions for the axes of its rows."""

    def seen(operand: Operand) -> Operand:
        return replace(operand, indices=tuple(operand.at(at)))

    start, epilogue = contraction.start, contraction.epilogue
    return replace(
        contraction,
        result=seen(contraction.result),
        left=seen(contraction.left),
        start=start and start.moved(seen),
        epilogue=epilogue and epilogue.moved(seen),
    )


@dataclass(frozen=True, slots=True)
class Copied:
    """A contraction with factors in new ``buffers``, whose lines run along terms."""

    contraction: Contraction
    buffers: tuple[Value, ...]

    @property
    def bytes(self) -> int:
        return sum(_bytes(buffer.type) for buffer in self.buffers)


def along_terms(b: Builder, contraction: Contraction) -> Copied | None:
    """The contraction after copies of the factors whose lines do not run along terms.

    ``wgmma`` multiplies elements of 8 and 32 bits only where terms are contiguous.  A
    copy has a dimension for each axis of its factor, and as many elements as the factor
    at most.  None where every factor is as it should be, or where one cannot be copied.
    """
    *_, term = contraction.reduction
    factors = [contraction.left, contraction.right]
    buffers: list[Value] = []
    for n, factor in enumerate(factors):
        if factor.coefficient(len(factor.indices) - 1, term) == 1:
            continue
        ty, size = factor.memref.type, _bytes(factor.memref.type)
        axes = (*(a for a in contraction.axes if a is not term), term)
        axes = tuple(axis for axis in axes if factor.mentions(axis))
        is_open = any(axis.count is not None for axis in axes)
        if not factor.is_of_one or not factor.mentions(term) or is_open or not size:
            return None
        cells = prod(axis.extent for axis in axes)
        if cells * (element_bytes(element_type(ty)) or 0) > size:
            return None
        copy = buffer_of(b, axes, element_type(ty), "along")
        _copy(b, factor.element, copy, axes)
        factors[n] = factor.seen(copy)
        buffers.append(copy.memref)
    if not buffers:
        return None
    left, right = factors
    return Copied(replace(contraction, left=left, right=right), tuple(buffers))


def _copy(b: Builder, source: Operand, target: Operand, axes: Sequence[Axis]) -> None:
    """Store every element of one operand as that of another."""

    def one(i: Builder, at: Positions) -> None:
        i.store(source.value(i, at, "x"), target.memref, target.at(at))

    nested(b, [Range.whole(axis) for axis in axes], {}, one)


def _bytes(ty: Type) -> int:
    """The bytes of an array's elements; 0 where they are not known."""
    if not isinstance(ty, MemRefType) or None in ty.shape:
        return 0
    return prod(n or 0 for n in ty.shape) * (element_bytes(ty.element) or 0)


@dataclass(frozen=True, slots=True)
class Tiled:
    """A contraction in tiles of rows, with the boxes of both operands."""

    contraction: Contraction
    groups: Groups
    boxes: tuple[Boxes, Boxes]
    result: ResultBoxes | None
    """None where TMA cannot store the result."""


def in_boxes(
    contraction: Contraction,
    groups: Groups,
    definitions: Definitions,
    tile: tuple[int, int] = (LINE, LINE),
    b: Builder | None = None,
) -> Tiled | None:
    """The contraction with operands in boxes; None where TMA cannot copy them.

    ``tile``: rows and columns of the result that a block computes.  ``b`` gets the
    views of the boxes.  K tiles are of the last axis of the reduction.
    """
    narrow = on_tensor_cores(contraction)
    if narrow is None or len(groups.columns) > 1:
        return None
    if type_of(narrow.left) == F32 and PASSES[narrow.precision] > 1:
        return None  # tf32 parts of a number are not in memory
    for term in reversed(groups.reduction):
        others = (axis for axis in groups.reduction if axis is not term)
        over = replace(groups, reduction=(*others, term))
        inner = Builder(contraction.location)
        found = _in_boxes(inner, narrow, over, definitions, tile)
        if found is not None:
            (b or inner).operations += inner.operations
            return found
    return None


def _in_boxes(
    b: Builder,
    narrow: Contraction,
    groups: Groups,
    definitions: Definitions,
    tile: tuple[int, int],
) -> Tiled | None:
    """As `in_boxes`, for one order of the reduction axes."""
    whole, (*outer, term) = groups, groups.reduction
    lines, others = (*groups.rows, term), (*groups.batch, *outer)
    left = in_few_dimensions(b, narrow.left, lines, others)
    tiles = in_rectangles(replace(narrow, left=left), groups, tile[0])
    if tiles is None:
        return None
    found, groups = tiles
    made = {value: op for op in b.operations for value in op.results}
    terms = groups.reduction, {**definitions, **made}
    left = Boxes.of(found.left, groups.rows, *terms, tile[0])
    right = Boxes.of(found.right, groups.columns, *terms, tile[1])
    if left is None or right is None:
        return None
    axes, kept = (*whole.rows, *whole.columns), kept_at(narrow)
    is_clipped = kept is not None and ends_outside(kept, axes)
    result = in_result_boxes(found, groups) if is_clipped else None
    return Tiled(found, groups, (left, right), result)
