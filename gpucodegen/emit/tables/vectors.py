"""Emits vector operations, each as one call of an intrinsic.

Vectors are register tiles; accesses to memory are rows, columns or tiles: whole,
masked, or with streaming stores.
"""

from __future__ import annotations

from math import gcd

from gpucodegen.dialects import affine, gcg, vector
from gpucodegen.dialects.arith import permits
from gpucodegen.dialects.shared.combiners import GPU_KINDS, Combiner, kind_word, of_kind
from gpucodegen.emit.addressing import Descriptor
from gpucodegen.emit.context import (
    Emitter,
    Handler,
    shape_of,
    suffix,
    vector_dtype,
    vector_type,
)
from gpucodegen.emit.expressions import Text, call
from gpucodegen.emit.spelling import stored_bytes
from gpucodegen.emit.tables.memory import access, buffer_of
from gpucodegen.ir.affine import AffineExpr, Const, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayAttr,
    IntegerAttr,
)
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.records import dataclass

WIDTHS = 16, 8, 4, 2
"""Bytes of a single memory access."""
WIDEST = WIDTHS[0]
"""The widest access, which is also the alignment of shared memory."""


@dataclass(frozen=True, slots=True)
class _Access:
    """A vector in memory: its first element, and one stride per vector dimension.

    ``left``: number of rows and columns inside the buffer, if it may leave it.
    ``stated``: alignment that the program asserts, in bytes.
    """

    ty: VectorType
    kind: str
    buffer: Descriptor
    start: AffineExpr
    strides: tuple[AffineExpr, ...]
    left: tuple[AffineExpr, ...] = ()
    stated: int = 1

    @property
    def contiguous(self) -> bool:
        return self.strides[-1] == Const(1)

    def intrinsic(self, e: Emitter, action: str) -> str:
        """The ``load`` or ``store`` intrinsic for the strides."""
        masked = "_masked" if self.left else ""
        shape = suffix(self.ty.shape, self.kind)
        if len(self.ty.shape) == 2:
            strided = () if self.contiguous else (False,)
            name = f"{action}_tile{masked}"
            hint = f"{name}{'' if self.contiguous else '_strided'}_{shape}"
            return e.make(hint, name, *self.ty.shape, self.kind, *strided)
        if not self.contiguous:
            name = f"{action}_strided{masked}"
            return e.make(f"{name}_{shape}", name, *self.ty.shape, self.kind)
        name = f"v{action}{masked}"
        align = self._alignment(e)
        if masked or not align:
            return e.make(f"{name}_{shape}", name, *self.ty.shape, self.kind)
        hint = f"{name}_{shape}_align{align}"
        return e.make(hint, name, *self.ty.shape, self.kind, align)

    def _alignment(self, e: Emitter) -> int:
        """Known alignment in bytes, if it permits vector accesses.

        CPUs with vector registers need none.
        """
        if not e.spelling.in_blocks:
            return 0
        size = stored_bytes(self.kind)
        is_shared = e.facts.spaces.get(self.buffer.pointer) == "shared"
        base = WIDEST if is_shared else self.buffer.alignment
        proven = gcd(base, e.divisor(self.start) * size) if base else 0
        widths = (n for n in WIDTHS if n > size)
        return next((n for n in widths if max(proven, self.stated) % n == 0), 0)

    def arguments(self, e: Emitter) -> list[Text]:
        """Pointer, offset, and the strides that the intrinsic takes."""
        strides = self.strides[:-1] if self.contiguous else self.strides
        others = [e.narrow(e.affine(expr)) for expr in (*strides, *self.left)]
        return [Text(self.buffer.pointer), e.offset(self.start), *others]


def _plain_access(e: Emitter, op: Operation, ty: VectorType, first: int) -> _Access:
    """The access of vector.load / store: the last dimensions of the buffer."""
    buffer, indices = access(e, op, first)
    strides = buffer.strides[len(buffer.strides) - len(ty.shape) :]
    kind, start = vector_dtype(e, op, ty), buffer.at(indices)
    stated = op.integer("alignment", 1)
    return _Access(ty, kind, buffer, start, strides, stated=stated)


def load(e: Emitter, op: Operation) -> None:
    where = _plain_access(e, op, vector_type(e, op, op.result), 0)
    e.define(op.result, call(where.intrinsic(e, "load"), *where.arguments(e)))


def store(e: Emitter, op: Operation) -> None:
    """``vector.store`` and ``affine.vector_store``."""
    value = op.operands[0]
    where = _plain_access(e, op, vector_type(e, op, value), 1)
    if _is_streaming(op, where):
        name = "vstore_streaming" if len(where.ty.shape) == 1 else _TILES_STREAM
        hint = f"{name}_{suffix(where.ty.shape, where.kind)}"
        made = e.make(hint, name, *where.ty.shape, where.kind)
        e.writer.line(str(call(made, *where.arguments(e), e.text(value))))
    else:
        _store(e, where, value)


def _is_streaming(op: Operation, where: _Access) -> bool:
    """Whether a store of consecutive elements is marked nontemporal."""
    flag = op.attributes.get("nontemporal")
    is_set = isinstance(flag, IntegerAttr) and bool(flag.value)
    return is_set and where.contiguous


_TILES_STREAM = "store_tile_streaming"


def _store(e: Emitter, where: _Access, value: Value) -> None:
    function = where.intrinsic(e, "store")
    e.writer.line(str(call(function, *where.arguments(e), e.text(value))))


def transfer_read(e: Emitter, op: Operation) -> None:
    where = _transfer(e, op, vector_type(e, op, op.result), 0)
    arguments = where.arguments(e)
    if where.left:
        arguments.append(e.text(op.operands[1 + len(where.buffer.sizes)]))
    e.define(op.result, call(where.intrinsic(e, "load"), *arguments))


def transfer_write(e: Emitter, op: Operation) -> None:
    value = op.operands[0]
    _store(e, _transfer(e, op, vector_type(e, op, value), 1), value)


def _transfer(e: Emitter, op: Operation, ty: VectorType, first: int) -> _Access:
    target, *rest = op.operands[first:]
    buffer = buffer_of(e, op, target)
    rank = len(buffer.sizes)
    if len(rest) > rank + (1 - first):
        raise e.refusal(op, "Express the mask by in_bounds")
    indices = [e.index(value) for value in rest[:rank]]
    dims = _dimensions(e, op, rank, len(ty.shape))
    flags = _flags(op, len(dims))
    left: tuple[AffineExpr, ...] = ()
    if not all(flags):
        left = tuple(
            Const(extent) if inside else buffer.sizes[d] - indices[d]
            for d, inside, extent in zip(dims, flags, ty.shape, strict=True)
        )
    strides = tuple(buffer.strides[d] for d in dims)
    return _Access(
        ty, vector_dtype(e, op, ty), buffer, buffer.at(indices), strides, left
    )


def _dimensions(e: Emitter, op: Operation, rank: int, count: int) -> list[int]:
    """The buffer dimension of each vector dimension."""
    if not isinstance(op.attributes.get("permutation_map"), AffineMapAttr):
        return list(range(rank - count, rank))
    results = affine.map_of(op, "permutation_map").results
    dims = [r.position for r in results if isinstance(r, Dim)]
    if len(dims) != len(results):
        raise e.refusal(op, "Broadcast after reading, with vector.broadcast")
    return dims


def _flags(op: Operation, count: int) -> list[bool]:
    value = op.attributes.get("in_bounds")
    if not isinstance(value, ArrayAttr):
        return [False] * count
    return [bool(v.value) for v in value.values if isinstance(v, IntegerAttr)]


def masked_load(e: Emitter, op: Operation) -> None:
    where = _plain_access(e, op, vector_type(e, op, op.result), 0)
    mask, otherwise = op.operands[-2:]
    _require_row(e, op, where)
    function = _selected(e, where, "load")
    arguments = (*where.arguments(e), e.text(mask), e.text(otherwise))
    e.define(op.result, call(function, *arguments))


def masked_store(e: Emitter, op: Operation) -> None:
    mask, value = op.operands[-2:]
    where = _plain_access(e, op, vector_type(e, op, value), 0)
    _require_row(e, op, where)
    function = _selected(e, where, "store")
    e.writer.line(str(call(function, *where.arguments(e), e.text(mask), e.text(value))))


def _selected(e: Emitter, where: _Access, action: str) -> str:
    name = f"v{action}_selected"
    shape = suffix(where.ty.shape, where.kind)
    return e.make(f"{name}_{shape}", name, *where.ty.shape, where.kind)


def _require_row(e: Emitter, op: Operation, where: _Access) -> None:
    if len(where.ty.shape) != 1 or not where.contiguous:
        raise e.refusal(op, "Mask one row of consecutive elements")


ACCESS_HANDLERS: dict[str, Handler] = {
    "vector.load": load,
    "vector.store": store,
    "affine.vector_load": load,
    "affine.vector_store": store,
    "vector.transfer_read": transfer_read,
    "vector.transfer_write": transfer_write,
    "vector.maskedload": masked_load,
    "vector.maskedstore": masked_store,
}


def _made(e: Emitter, op: Operation, name: str, ty: VectorType) -> str:
    """An intrinsic whose factory takes the shape and the dtype."""
    kind = vector_dtype(e, op, ty)
    return e.make(f"{name}_{suffix(ty.shape, kind)}", name, ty.shape, kind)


def broadcast(e: Emitter, op: Operation) -> None:
    """``vector.broadcast`` of a scalar, a row to all rows, or a column."""
    ty = vector_type(e, op, op.result)
    (operand,) = op.operands
    source = shape_of(operand.type)
    if source == ty.shape:
        e.define(op.result, e.text(operand))
        return
    if not source:
        function = _made(e, op, "splat", ty)
    elif source in {ty.shape[1:], (ty.shape[0], 1)}:
        name = "broadcast_rows" if len(source) == 1 else "broadcast_columns"
        kind = vector_dtype(e, op, ty)
        hint = f"{name}_{suffix(ty.shape, kind)}"
        function = e.make(hint, name, *ty.shape, kind)
    else:
        raise e.refusal(op, "Broadcast a scalar, a row or a column")
    e.define(op.result, call(function, e.typed(operand)))


def shape_cast(e: Emitter, op: Operation) -> None:
    """``vector.shape_cast`` between shapes of at most two dimensions."""
    (operand,) = op.operands
    before, after = (vector_type(e, op, v) for v in (operand, op.result))
    kind, shapes = vector_dtype(e, op, before), (before.shape, after.shape)
    vector_dtype(e, op, after)
    hint = f"shape_cast_{suffix(before.shape, kind)}_to_{suffix(after.shape, kind)}"
    made = e.make(hint, "shape_cast", *shapes, kind)
    e.define(op.result, call(made, e.text(operand)))


def bitcast(e: Emitter, op: Operation) -> None:
    """``vector.bitcast`` of one dimension."""
    (operand,) = op.operands
    before, after = (vector_type(e, op, v) for v in (operand, op.result))
    old, new = vector_dtype(e, op, before), vector_dtype(e, op, after)
    if len(before.shape) != 1 or {old, new} & (NARROW | {"i1"}):
        raise e.refusal(op, "Cast one dimension of whole bytes, no narrow floats")
    hint = f"bitcast_{suffix(before.shape, old)}_to_{suffix(after.shape, new)}"
    made = e.make(hint, "bitcast", *before.shape, old, *after.shape, new)
    e.define(op.result, call(made, e.text(operand)))


def step(e: Emitter, op: Operation) -> None:
    ty = vector_type(e, op, op.result)
    kind = vector_dtype(e, op, ty)
    hint = f"lanes_{suffix(ty.shape, kind)}"
    numbers = tuple(range(ty.shape[0]))
    e.texts[op.result] = call(e.make(hint, "constant", ty.shape, kind, numbers))


def create_mask(e: Emitter, op: Operation) -> None:
    """``vector.create_mask`` of one dimension: the lanes below a number."""
    ty = vector_type(e, op, op.result)
    if len(ty.shape) != 1:
        raise e.refusal(op, "Mask one dimension")
    function = e.make(f"first_lanes_{ty.shape[0]}", "first_lanes", ty.shape[0])
    e.define(op.result, call(function, e.typed(op.operands[0])))


def from_elements(e: Emitter, op: Operation) -> None:
    function = _made(e, op, "from_elements", vector_type(e, op, op.result))
    e.define(op.result, call(function, *(e.typed(v) for v in op.operands)))


def fma(e: Emitter, op: Operation) -> None:
    kind = vector_dtype(e, op, vector_type(e, op, op.result))
    fma = e.make(f"fused_{kind}", "fused", kind) if kind in NARROW else e.use("fma")
    e.define(op.result, call(fma, *(e.text(v) for v in op.operands)))


def outerproduct(e: Emitter, op: Operation) -> None:
    """``vector.outerproduct`` with addition."""
    ty = vector_type(e, op, op.result)
    kind = vector_dtype(e, op, ty)
    if kind_word(op.attributes.get("kind")) != "add" or kind in NARROW:
        raise e.refusal(op, "Accumulate outer products by addition, in f32 or wider")
    lhs, rhs, *accumulator = (e.text(v) for v in op.operands)
    columns = ty.shape[1] if len(ty.shape) == 2 else 0
    shape = suffix(ty.shape, kind)
    parts = gcg.packed_word_parts(op)
    if parts:
        hint = f"outerproduct_{'_'.join(parts)}_{shape}"
        function = e.make(hint, "outerproduct_words", *ty.shape, *parts)
    else:
        hint = f"outerproduct_{shape}"
        function = e.make(hint, "outerproduct", ty.shape[0], columns, kind)
    if not accumulator:
        zero = 0.0 if kind[0] == "f" else 0
        accumulator = [call(e.make(f"zeros_{shape}", "constant", ty.shape, kind, zero))]
    e.define(op.result, call(function, lhs, rhs, *accumulator))


def _combiner(e: Emitter, op: Operation, source: Value) -> Combiner:
    """The combiner of a vector reduction."""
    found = of_kind(kind_word(op.attributes.get("kind")), element_type(source.type))
    if found is None or not found.atomic:
        raise e.refusal(op, f"Combine by one of {', '.join(GPU_KINDS)}")
    return found


def _positioned(e: Emitter, op: Operation, action: str, source: Value) -> str:
    ty = vector_type(e, op, source)
    position = vector.position(op)
    if len(position) > len(ty.shape) or any(
        not 0 <= p < n for p, n in zip(position, ty.shape, strict=False)
    ):
        raise e.refusal(op, "Use a constant position inside the vector")
    kind = vector_dtype(e, op, ty)
    at = "_".join(map(str, position))
    hint = f"{action}_{suffix(ty.shape, kind)}_{at}"
    return e.make(hint, action, ty.shape, kind, position)


def extract(e: Emitter, op: Operation) -> None:
    """``vector.extract`` at a constant position."""
    source = op.operands[0]
    if not vector.position(op):
        e.define(op.result, e.text(source))
        return
    e.define(op.result, call(_positioned(e, op, "extract", source), e.text(source)))


def insert(e: Emitter, op: Operation) -> None:
    """``vector.insert`` at a constant position."""
    value, target = op.operands[:2]
    function = _positioned(e, op, "insert", target)
    e.define(op.result, call(function, e.typed(value), e.text(target)))


def transpose(e: Emitter, op: Operation) -> None:
    """``vector.transpose`` of two dimensions."""
    (operand,) = op.operands
    ty = vector_type(e, op, operand)
    if len(ty.shape) == 1 or ty.shape[::-1] != shape_of(op.result.type):
        raise e.refusal(op, "Transpose two dimensions")
    kind = vector_dtype(e, op, ty)
    function = e.make(
        f"transpose_{suffix(ty.shape, kind)}", "transpose", *ty.shape, kind
    )
    e.define(op.result, call(function, e.text(operand)))


def shuffle(e: Emitter, op: Operation) -> None:
    """``vector.shuffle`` of two one-dimensional vectors."""
    first, second = op.operands
    ty, other = vector_type(e, op, first), vector_type(e, op, second)
    lanes = op.numbers("mask")
    if len(ty.shape) != 1 or min(lanes) < 0:
        raise e.refusal(op, "Shuffle one-dimensional vectors, and name every lane")
    kind = vector_dtype(e, op, ty)
    order = tuple(int(lane) for lane in lanes)
    hint = f"shuffle_{suffix(ty.shape, kind)}_to_{len(order)}"
    function = e.make(hint, "shuffle", *ty.shape, *other.shape, kind, order)
    e.define(op.result, call(function, e.text(first), e.text(second)))


def reduction(e: Emitter, op: Operation) -> None:
    """``vector.reduction`` of a one-dimensional vector."""
    source, *accumulator = op.operands
    ty = vector_type(e, op, source)
    kind, combiner = vector_dtype(e, op, ty), _combiner(e, op, source)
    factory = "reduce_freely" if _takes_any_order(op, combiner) else "reduce"
    hint = f"{factory}_{combiner.kind}_{suffix(ty.shape, kind)}"
    function = e.make(hint, factory, ty.shape[0], kind, combiner.operation)
    initial = [e.typed(v) for v in accumulator] or [_start(e, combiner, kind)]
    e.define(op.result, call(function, e.text(source), *initial))


def _takes_any_order(op: Operation, combiner: Combiner) -> bool:
    """Whether the order is irrelevant, or the program permits reassociation."""
    return not combiner.is_ordered or permits(op, "reassoc")


def multi_reduction(e: Emitter, op: Operation) -> None:
    """``vector.multi_reduction`` of the rows of a tile."""
    source, total = op.operands
    ty = vector_type(e, op, source)
    dimensions = op.attributes.get("reduction_dims")
    is_rows = isinstance(dimensions, DenseArrayAttr) and tuple(dimensions.values) == (
        1,
    )
    if len(ty.shape) != 2 or not is_rows:
        raise e.refusal(op, "Reduce dimension 1 of two")
    kind, combiner = vector_dtype(e, op, ty), _combiner(e, op, source)
    hint = f"reduce_rows_{combiner.kind}_{suffix(ty.shape, kind)}"
    function = e.make(hint, "reduce_rows", *ty.shape, kind, combiner.operation)
    e.define(op.result, call(function, e.text(source), e.text(total)))


def _start(e: Emitter, combiner: Combiner, kind: str) -> Text:
    """The neutral element."""
    bits = int(kind.lstrip("bfiu"))
    return e.constant(combiner.neutral_in(bits), kind)


HANDLERS: dict[str, Handler] = ACCESS_HANDLERS | {
    "vector.create_mask": create_mask,
    "vector.step": step,
    "vector.bitcast": bitcast,
    "vector.broadcast": broadcast,
    "vector.from_elements": from_elements,
    "vector.fma": fma,
    "vector.outerproduct": outerproduct,
    "vector.extract": extract,
    "vector.insert": insert,
    "vector.multi_reduction": multi_reduction,
    "vector.reduction": reduction,
    "vector.shape_cast": shape_cast,
    "vector.shuffle": shuffle,
    "vector.transpose": transpose,
}
