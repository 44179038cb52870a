"""Access relations: the elements that each memory operation reads and writes.

`accesses_of` looks the operation up in a table with one rule per operation.

Subgroup matrices (``gpu.subgroup_mma_*``) get one access per lane.  The kernels of this
project distribute their elements as ``mma.sync`` does.  With g = lane // 4,
t = lane % 4 and e elements in 32 bits, a lane holds

- of A the rows ``8 i + g`` and columns ``4 e j + e t + n``; of B the transpose of that
- of C the rows ``8 i + g`` and columns ``8 j + 2 t + n``, n = 0, 1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpucodegen.dialects.gpu.mma import matrix
from gpucodegen.dialects.shared.combiners import atomic_kind
from gpucodegen.dialects.shared.effects import CALLS, is_external
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    DenseArrayAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value
from gpucodegen.ir.types import (
    MemRefType,
    Type,
    UnrankedMemRefType,
    VectorType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.analysis.lifting.environment import Environment, Text, map_texts
from gpucodegen.passes.analysis.lifting.index_values import extents
from gpucodegen.tiling.model.scop import Access, AccessKind

Whole = Callable[..., list[Access]]
Cell = Callable[..., Access]


def matrix_accesses(
    op: Operation, env: Environment, kind: AccessKind, cell: Cell, whole: Whole
) -> list[Access]:
    """The access of one lane to a subgroup matrix in memory.

    Without a known lane, or where the row stride differs from the buffer's, it covers
    all cells.
    """
    stores = kind is AccessKind.WRITE
    form = (op.operands[0] if stores else op.results[0]).type
    memref, *indices = op.operands[stores:]
    rows_apart = _row_stride(memref.type)
    leading, texts = op.integer("leadDimension"), env.all_texts(indices)
    if env.lane is None or rows_apart != leading or None in texts[-2:]:
        return whole(env, op, memref, (kind,), must=False)
    (row, column), span = _element(env, form, memref.type)
    if "transpose" in op.attributes:
        row, column = column, row
    *outer, first, second = texts
    cells = (*outer, f"{first} + {row}", f"{second} + {column}")
    found = cell(env, op, memref, cells, kind)
    return [replace(found, span=(*found.span, *span))]


Span = tuple[tuple[str, str], ...]


def _element(env: Environment, ty: Type, memory: Type) -> tuple[tuple[str, str], Span]:
    """Row and column of an element that the lane holds, over the names of a span."""
    rows, columns, _, role = matrix(ty)
    per = max(1, 4 // (element_bytes(element_type(memory)) or 4))
    if role == "BOp":
        rows, columns = columns, rows
    width, each = (8, 2) if role == "COp" else (4 * per, per)
    i, j, n = (env.names.fresh(name) for name in ("row", "column", "part"))
    group, turn = f"floor(({env.lane})/4)", f"(({env.lane}) mod 4)"
    one, other = f"8*{i} + {group}", f"{width}*{j} + {each}*{turn} + {n}"
    span = (i, str(rows // 8)), (j, str(columns // width)), (n, str(each))
    return (other, one) if role == "BOp" else (one, other), span


def _row_stride(ty: Type) -> int | None:
    """Elements between two rows of a buffer without a layout, if that is a number."""
    if isinstance(ty, MemRefType) and ty.layout is None and ty.rank >= 2:
        return ty.shape[-1]
    return None


Accesses = list[Access]
READ, WRITE = AccessKind.READ, AccessKind.WRITE
ROW_OF_TILE = 16
"""Bytes of a row that ``nvgpu.ldmatrix`` loads."""


def is_memref(value: Value) -> bool:
    return isinstance(value.type, MemRefType | UnrankedMemRefType)


def accesses_of(op: Operation, env: Environment) -> Accesses | None:
    """Accesses of a memory operation in order; None if the operation has none.

    An operation without an entry in the table may touch all cells of its buffers; one
    that runs outside the program, or a call, may have any other effect as well.
    """
    entry = _TABLE.get(op.name)
    if entry is not None:
        return entry(op, env)
    if op.name in TRANSPARENT:
        return None
    outside = [env.outside_access(op.location)] if is_opaque(op) else []
    if not any(map(is_memref, op.operands)):
        return outside or None
    touched = [
        replace(access, assumed=is_opaque(op))
        for value in op.operands
        if is_memref(value)
        for access in whole(env, op, value, must=False)
    ]
    return [*touched, *outside]


def is_opaque(op: Operation) -> bool:
    """Whether the operation's name does not determine its effects."""
    return op.name in CALLS or is_external(op)


TRANSPARENT = frozenset(
    {
        "memref.dim",
        "memref.rank",
        "memref.dealloc",
        "memref.assume_alignment",
        "nvgpu.warpgroup.generate.descriptor",
        "affine.yield",
        "scf.condition",
        "scf.yield",
        "func.return",
        "cf.br",
        "cf.cond_br",
        "cf.switch",
    }
)


def cell(
    env: Environment,
    op: Operation,
    memref: Value,
    indices: Sequence[Text],
    kind: AccessKind,
) -> Access:
    """Access of one cell through any views."""
    texts, span = env.ranged(memref, indices)
    array, resolved = env.resolve(memref, texts)
    return Access(
        array.name,
        kind,
        resolved,
        span=span,
        where=env.kept_apart(memref, texts),
        must=not span,
        trusted=bool(span),
        loc=op.location,
    )


def whole(
    env: Environment,
    op: Operation,
    memref: Value,
    kinds: Sequence[AccessKind] = (READ, WRITE),
    *,
    must: bool = True,
) -> Accesses:
    """Access of every cell of a buffer."""
    root = env.root(memref)
    array = env.array(root)
    return [
        Access(array.name, k, (None,) * len(array.shape), must=must, loc=op.location)
        for k in kinds
    ]


def _mapped_indices(op: Operation, env: Environment, first: int) -> tuple[Text, ...]:
    """Index texts of an affine access whose index operands begin at ``first``."""
    texts = env.all_texts(op.operands[first:])
    attribute = op.attributes.get("map")
    return (
        map_texts(attribute.map, texts)
        if isinstance(attribute, AffineMapAttr)
        else texts
    )


def _load(op: Operation, env: Environment) -> Accesses:
    indices = _mapped_indices(op, env, 1)
    return [_trailing(env, op, op.operands[0], indices, READ, op.results[0])]


def _store(op: Operation, env: Environment) -> Accesses:
    indices = _mapped_indices(op, env, 2)
    return [_trailing(env, op, op.operands[1], indices, WRITE, op.operands[0])]


def _atomic(op: Operation, env: Environment) -> Accesses:
    """``memref.atomic_rmw``: an atomic read and write with one combining operation."""
    kind = atomic_kind(op)
    indices = env.all_texts(op.operands[2:])
    found = (cell(env, op, op.operands[1], indices, k) for k in (READ, WRITE))
    return [replace(access, atomic=kind) for access in found]


def _generic_atomic(op: Operation, env: Environment) -> Accesses:
    """``memref.generic_atomic_rmw``: atomic with respect to all others of its kind."""
    buffer, *indices = op.operands
    texts = env.all_texts(indices)
    found = (cell(env, op, buffer, texts, kind) for kind in (READ, WRITE))
    return [replace(access, atomic=op.name) for access in found]


def all_cells(
    env: Environment, op: Operation, memref: Value, kind: AccessKind
) -> Access:
    """Access of every cell that a view of known extents shows."""
    shape = memref.type.shape if isinstance(memref.type, MemRefType) else ()
    extents = {d: extent for d, extent in enumerate(shape) if extent is not None}
    if len(extents) < len(shape) or not shape:
        (found,) = whole(env, op, memref, (kind,), must=False)
        return found
    return _widened(env, op, memref, ["0"] * len(shape), kind, extents)


def _trailing(
    env: Environment,
    op: Operation,
    memref: Value,
    indices: Sequence[Text],
    kind: AccessKind,
    value: Value,
) -> Access:
    """Access of an element, or of the lanes of a vector along the last dimensions."""
    is_element = getattr(memref.type, "element", None) == value.type
    if is_element or not isinstance(value.type, VectorType):
        return cell(env, op, memref, indices, kind)
    shape = value.type.shape
    first = len(indices) - len(shape)
    lanes = dict(zip(range(first, len(indices)), shape, strict=True))
    return _widened(env, op, memref, indices, kind, lanes)


def _widened(
    env: Environment,
    op: Operation,
    memref: Value,
    indices: Sequence[Text],
    kind: AccessKind,
    extents: Mapping[int, int],
) -> Access:
    """Access of several consecutive cells along some dimensions, through any views."""
    fits = min(extents, default=0) >= 0
    texts: list[Text] = [index if fits else None for index in indices]
    span: list[tuple[str, str]] = []
    for dimension, extent in extents.items():
        if texts[dimension] is not None:
            lane = env.names.fresh("lane")
            span.append((lane, str(extent)))
            texts[dimension] = f"{texts[dimension]} + {lane}"
    found = cell(env, op, memref, texts, kind)
    return replace(found, span=(*found.span, *span))


def _transfer(
    kind: AccessKind, memref: int
) -> Callable[[Operation, Environment], Accesses]:
    """Entry of ``vector.transfer_read`` / ``transfer_write``."""

    def entry(op: Operation, env: Environment) -> Accesses:
        vector = op.results[0] if kind is READ else op.operands[0]
        buffer = op.operands[memref]
        rank = getattr(buffer.type, "rank", 0)
        indices = env.all_texts(op.operands[memref + 1 : memref + 1 + rank])
        permutation = op.attributes.get("permutation_map")
        shape = getattr(vector.type, "shape", ())
        if not isinstance(permutation, AffineMapAttr):
            return whole(env, op, buffer, (kind,), must=False)
        dimensions = [getattr(r, "position", 0) for r in permutation.map.results]
        lanes = dict(zip(dimensions, shape, strict=True))
        access = _widened(env, op, buffer, indices, kind, lanes)
        padded = padded_dimensions(op, dimensions)
        ends = _ends(env, buffer, padded)
        spanned = [d for d in lanes if indices[d] is not None]
        names = dict(zip(reversed(spanned), reversed(access.span), strict=False))
        inside = tuple(
            f"{indices[d]} + {names[d][0]} < {end}"
            for d, end in ends.items()
            if d in names
        )
        is_exact = len(ends) == len(padded) and not _is_masked(op)
        where = (*access.where, *inside)
        return [replace(access, where=where, must=access.must and is_exact)]

    return entry


def padded_dimensions(op: Operation, dimensions: Sequence[int]) -> tuple[int, ...]:
    """Dimensions along which a transfer may leave its buffer (no ``in_bounds``).

    ``dimensions``: the buffer dimension of each vector dimension.
    """
    given = op.entries("in_bounds")
    inside = [isinstance(f, IntegerAttr) and bool(f.value) for f in given]
    pairs = zip(dimensions, inside or [False] * len(dimensions), strict=True)
    return tuple(dimension for dimension, fits in pairs if not fits)


def _ends(env: Environment, memref: Value, dimensions: Sequence[int]) -> dict[int, str]:
    """The extents along some dimensions, where they are known."""
    shape = memref.type.shape if isinstance(memref.type, MemRefType) else ()
    is_root = memref not in env.views
    return {
        d: env.extent(memref, d) if shape[d] is None else str(shape[d])
        for d in dimensions
        if shape[d] is not None or is_root
    }


def _masked(
    kind: AccessKind, vector: Callable[[Operation], Value]
) -> Callable[[Operation, Environment], Accesses]:
    """Entry of ``vector.maskedload`` / ``maskedstore``: the lanes of the mask."""

    def entry(op: Operation, env: Environment) -> Accesses:
        memref, *indices, mask, _ = op.operands
        texts = env.all_texts(indices)
        spanned = _trailing(env, op, memref, texts, kind, vector(op))
        ends = env.masks.get(mask, ()) if len(spanned.span) == 1 else ()
        where = tuple(f"{lane} < {end}" for lane, _ in spanned.span for end in ends)
        where = (*spanned.where, *where)
        return [replace(spanned, where=where, must=bool(ends))]

    return entry


def _is_masked(op: Operation) -> bool:
    """Whether a mask, the last operand, says which elements are transferred."""
    sizes = op.attributes.get(OPERAND_SEGMENTS)
    return isinstance(sizes, DenseArrayAttr) and bool(sizes.values[-1])


def _copy(op: Operation, env: Environment) -> Accesses:
    source, target = op.operands
    return [*_box(env, op, source, READ), *_box(env, op, target, WRITE)]


def _box(env: Environment, op: Operation, memref: Value, kind: AccessKind) -> Accesses:
    """Access of every cell of a buffer, or of a view of known extents."""
    extents = _extents(env, memref)
    if extents is None:
        return whole(env, op, memref, (kind,))
    span = [(env.names.fresh("lane"), extent) for extent in extents]
    found = cell(env, op, memref, [name for name, _ in span], kind)
    return [replace(found, span=(*found.span, *span))]


def _extents(env: Environment, memref: Value) -> list[str] | None:
    """The extents of a memref, where all are known."""
    found = extents(memref, env, env.definitions)
    known = [text for text in found if text is not None]
    is_ranked = isinstance(memref.type, MemRefType)
    return known if is_ranked and len(known) == len(found) else None


def _rows_of_tiles(op: Operation, env: Environment) -> Accesses:
    """``nvgpu.ldmatrix``: a lane reads the 16 bytes at the address that it passes.

    All lanes of the warp take part, and each gets parts of the rows of others.
    """
    memref, *indices = op.operands
    size = element_bytes(element_type(memref.type)) or 1
    along = {len(indices) - 1: ROW_OF_TILE // size}
    return [_widened(env, op, memref, env.all_texts(indices), READ, along)]


TAKES_SHAPE = "memref.reshape"
"""The view whose extents are elements of a buffer, its second operand."""


def shape_read(op: Operation, env: Environment) -> Accesses:
    """The access of a view operation to the extents of its source."""
    return whole(env, op, op.operands[1], (READ,)) if op.name == TAKES_SHAPE else []


def _of_subgroup(kind: AccessKind) -> Callable[[Operation, Environment], Accesses]:
    """Entry of ``gpu.subgroup_mma_load_matrix`` and ``store_matrix``."""

    def entry(op: Operation, env: Environment) -> Accesses:
        return matrix_accesses(op, env, kind, cell, whole)

    return entry


def _prefetch(_: Operation, __: Environment) -> Accesses:
    return []


_TABLE: dict[str, Callable[[Operation, Environment], Accesses]] = {
    "affine.load": _load,
    "affine.store": _store,
    "affine.vector_load": _load,
    "affine.vector_store": _store,
    "memref.load": _load,
    "memref.store": _store,
    "memref.atomic_rmw": _atomic,
    "memref.generic_atomic_rmw": _generic_atomic,
    "vector.load": _load,
    "vector.store": _store,
    "vector.transfer_read": _transfer(READ, 0),
    "vector.transfer_write": _transfer(WRITE, 1),
    "vector.maskedload": _masked(READ, lambda op: op.results[0]),
    "vector.maskedstore": _masked(WRITE, lambda op: op.operands[-1]),
    "memref.copy": _copy,
    "gpu.subgroup_mma_load_matrix": _of_subgroup(READ),
    "gpu.subgroup_mma_store_matrix": _of_subgroup(WRITE),
    "nvgpu.ldmatrix": _rows_of_tiles,
    "affine.prefetch": _prefetch,
    "memref.prefetch": _prefetch,
}
