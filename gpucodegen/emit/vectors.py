"""vector: register tiles as values; every operation is one call of an intrinsic."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects import affine, vector
from gpucodegen.dialects.affine.reductions import identity
from gpucodegen.emit.addressing import Buffer
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.kinds import stored_bytes
from gpucodegen.emit.memory import access, buffer_of
from gpucodegen.emit.text import Text, call
from gpucodegen.emit.vector_types import shape_of, suffix, vector_dtype
from gpucodegen.ir.affine import AffineExpr, Const, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayAttr,
    IntegerAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, VectorType

WIDEST = 16
"""Bytes of the widest single memory access, and of the alignment of shared memory."""


@dataclass(frozen=True, slots=True)
class _Access:
    """A vector in memory: where it starts, one stride per vector dimension.

    ``left`` tells how many rows and columns exist, where it may leave the buffer.
    """

    ty: VectorType
    kind: str
    buffer: Buffer
    start: AffineExpr
    strides: tuple[AffineExpr, ...]
    left: tuple[AffineExpr, ...] = ()

    @property
    def contiguous(self) -> bool:
        return self.strides[-1] == Const(1)

    def intrinsic(self, e: Emitter, action: str) -> str:
        """``load`` or ``store`` in the form that fits the strides."""
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
        """Bytes that surely divide the address, for buffers that a kernel made."""
        if self.buffer.pointer not in e.facts.shared:
            return 0
        size = stored_bytes(self.kind)
        divisor = e.divisor(self.start) * size
        return next((n for n in (WIDEST, 8) if n > size and divisor % n == 0), 0)

    def arguments(self, e: Emitter) -> list[Text]:
        """Pointer, offset, and the strides that the intrinsic asks for."""
        strides = self.strides[:-1] if self.contiguous else self.strides
        expressions = (self.start, *strides, *self.left)
        first, *rest = (e.narrow(e.affine(expr)) for expr in expressions)
        return [Text(self.buffer.pointer), first, *rest]


def _plain_access(e: Emitter, op: Operation, ty: VectorType, first: int) -> _Access:
    """The access of vector.load / store: the last dimensions of the buffer."""
    buffer, indices = access(e, op, first)
    strides = buffer.strides[len(buffer.strides) - len(ty.shape) :]
    return _Access(ty, vector_dtype(e, op, ty), buffer, buffer.at(indices), strides)


def _vector_type(e: Emitter, op: Operation, value: Value) -> VectorType:
    if not isinstance(value.type, VectorType):
        raise e.broken(op, "a vector was expected")
    return value.type


def load(e: Emitter, op: Operation) -> None:
    """``vector.load`` and ``affine.vector_load``."""
    where = _plain_access(e, op, _vector_type(e, op, op.result), 0)
    e.define(op.result, call(where.intrinsic(e, "load"), *where.arguments(e)))


def store(e: Emitter, op: Operation) -> None:
    """``vector.store`` and ``affine.vector_store``."""
    value = op.operands[0]
    where = _plain_access(e, op, _vector_type(e, op, value), 1)
    if _is_streaming(op, where):
        shape = suffix(where.ty.shape, where.kind)
        made = e.make(
            f"vstore_streaming_{shape}",
            "vstore_streaming",
            *where.ty.shape,
            where.kind,
        )
        e.writer.line(str(call(made, *where.arguments(e), e.text(value))))
    else:
        _store(e, where, value)


def _is_streaming(op: Operation, where: _Access) -> bool:
    """Whether a store of one row is marked to go past the caches."""
    flag = op.attributes.get("nontemporal")
    is_set = isinstance(flag, IntegerAttr) and bool(flag.value)
    return is_set and len(where.ty.shape) == 1 and where.contiguous


def _store(e: Emitter, where: _Access, value: Value) -> None:
    function = where.intrinsic(e, "store")
    e.writer.line(str(call(function, *where.arguments(e), e.text(value))))


def transfer_read(e: Emitter, op: Operation) -> None:
    """``vector.transfer_read`` along any dimensions of the buffer."""
    where = _transfer(e, op, _vector_type(e, op, op.result), 0)
    arguments = where.arguments(e)
    if where.left:
        arguments.append(e.text(op.operands[1 + len(where.buffer.sizes)]))
    e.define(op.result, call(where.intrinsic(e, "load"), *arguments))


def transfer_write(e: Emitter, op: Operation) -> None:
    """``vector.transfer_write``."""
    value = op.operands[0]
    _store(e, _transfer(e, op, _vector_type(e, op, value), 1), value)


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
    """The buffer's dimension of each vector dimension."""
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
    """``vector.maskedload``."""
    where = _plain_access(e, op, _vector_type(e, op, op.result), 0)
    mask, otherwise = op.operands[-2:]
    _require_row(e, op, where)
    function = _selected(e, where, "load")
    arguments = (*where.arguments(e), e.text(mask), e.text(otherwise))
    e.define(op.result, call(function, *arguments))


def masked_store(e: Emitter, op: Operation) -> None:
    """``vector.maskedstore``."""
    mask, value = op.operands[-2:]
    where = _plain_access(e, op, _vector_type(e, op, value), 0)
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


# -- values ----------------------------------------------------------------------------


def _made(e: Emitter, op: Operation, name: str, ty: VectorType) -> str:
    """An intrinsic whose factory takes the shape and the dtype."""
    kind = vector_dtype(e, op, ty)
    return e.make(f"{name}_{suffix(ty.shape, kind)}", name, ty.shape, kind)


def broadcast(e: Emitter, op: Operation) -> None:
    """``vector.broadcast`` of a scalar, or of one row to all rows."""
    ty = _vector_type(e, op, op.result)
    (operand,) = op.operands
    source = shape_of(operand.type)
    if source == ty.shape:
        e.define(op.result, e.text(operand))
        return
    if not source:
        function = _made(e, op, "splat", ty)
    elif len(source) == 1 and source[0] == ty.shape[-1]:
        kind = vector_dtype(e, op, ty)
        hint = f"broadcast_rows_{suffix(ty.shape, kind)}"
        function = e.make(hint, "broadcast_rows", *ty.shape, kind)
    else:
        raise e.refusal(op, "Broadcast a scalar or a row")
    e.define(op.result, call(function, e.typed(operand)))


def step(e: Emitter, op: Operation) -> None:
    """``vector.step``: the number of each lane."""
    ty = _vector_type(e, op, op.result)
    kind = vector_dtype(e, op, ty)
    hint = f"lanes_{suffix(ty.shape, kind)}"
    numbers = tuple(range(ty.shape[0]))
    e.texts[op.result] = call(e.make(hint, "constant", ty.shape, kind, numbers))


def create_mask(e: Emitter, op: Operation) -> None:
    """``vector.create_mask`` of one dimension: the lanes before a number."""
    ty = _vector_type(e, op, op.result)
    if len(ty.shape) != 1:
        raise e.refusal(op, "Mask one dimension")
    function = e.make(f"first_lanes_{ty.shape[0]}", "first_lanes", ty.shape[0])
    e.define(op.result, call(function, e.typed(op.operands[0])))


def from_elements(e: Emitter, op: Operation) -> None:
    """``vector.from_elements``."""
    function = _made(e, op, "from_elements", _vector_type(e, op, op.result))
    e.define(op.result, call(function, *(e.typed(v) for v in op.operands)))


def fma(e: Emitter, op: Operation) -> None:
    """``vector.fma``."""
    e.define(op.result, call(e.use("fma"), *(e.text(v) for v in op.operands)))


def outerproduct(e: Emitter, op: Operation) -> None:
    """``vector.outerproduct`` with addition."""
    kind_name = _kind(op)
    ty = _vector_type(e, op, op.result)
    kind = vector_dtype(e, op, ty)
    if kind_name != "add":
        raise e.refusal(op, "Accumulate outer products by addition")
    lhs, rhs, *accumulator = (e.text(v) for v in op.operands)
    columns = ty.shape[1] if len(ty.shape) == 2 else 0
    shape = suffix(ty.shape, kind)
    function = e.make(
        f"outerproduct_{shape}", "outerproduct", ty.shape[0], columns, kind
    )
    if not accumulator:
        zero = 0.0 if kind[0] == "f" else 0
        accumulator = [call(e.make(f"zeros_{shape}", "constant", ty.shape, kind, zero))]
    e.define(op.result, call(function, lhs, rhs, *accumulator))


def _kind(op: Operation) -> str:
    value = op.attributes.get("kind")
    text = value.text if isinstance(value, OpaqueAttr) else "add"
    return text.partition("<")[2].removesuffix(">") or "add"


def _positioned(e: Emitter, op: Operation, action: str, source: Value) -> str:
    ty = _vector_type(e, op, source)
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


def shuffle(e: Emitter, op: Operation) -> None:
    """``vector.shuffle`` of two one-dimensional vectors."""
    first, second = op.operands
    ty, other = _vector_type(e, op, first), _vector_type(e, op, second)
    mask = op.attributes["mask"]
    lanes = mask.values if isinstance(mask, DenseArrayAttr) else ()
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
    ty = _vector_type(e, op, source)
    kind, name = vector_dtype(e, op, ty), _kind(op)
    factory = "reduce_freely" if _takes_any_order(op, name) else "reduce"
    hint = f"{factory}_{name}_{suffix(ty.shape, kind)}"
    function = e.make(hint, factory, ty.shape[0], kind, name)
    initial = [e.typed(v) for v in accumulator] or [_start(e, name, kind)]
    e.define(op.result, call(function, e.text(source), *initial))


def _takes_any_order(op: Operation, kind: str) -> bool:
    """Whether the order has no meaning, or the program says so."""
    is_float = isinstance(op.results[0].type, FloatType)
    flags = str(op.attributes.get("fastmath", ""))
    is_ordered = is_float and kind in {"add", "mul"}
    return not is_ordered or "reassoc" in flags or "fast>" in flags


def multi_reduction(e: Emitter, op: Operation) -> None:
    """``vector.multi_reduction`` of the rows of a tile."""
    source, total = op.operands
    ty = _vector_type(e, op, source)
    dimensions = op.attributes.get("reduction_dims")
    is_rows = isinstance(dimensions, DenseArrayAttr) and tuple(dimensions.values) == (
        1,
    )
    if len(ty.shape) != 2 or not is_rows:
        raise e.refusal(op, "Reduce dimension 1 of two")
    kind, name = vector_dtype(e, op, ty), _kind(op)
    hint = f"reduce_rows_{name}_{suffix(ty.shape, kind)}"
    function = e.make(hint, "reduce_rows", *ty.shape, kind, name)
    e.define(op.result, call(function, e.text(source), e.text(total)))


_STARTS = {"mul": "mulf", "minsi": "mins", "maxsi": "maxs", "minui": "minu"}


def _start(e: Emitter, name: str, kind: str) -> Text:
    names = {"and": "andi", "maxui": "maxu"} | _STARTS
    return e.constant(identity(names.get(name, name), kind), kind)


HANDLERS: dict[str, Handler] = {
    "vector.load": load,
    "vector.store": store,
    "affine.vector_load": load,
    "affine.vector_store": store,
    "vector.transfer_read": transfer_read,
    "vector.transfer_write": transfer_write,
    "vector.maskedload": masked_load,
    "vector.maskedstore": masked_store,
    "vector.create_mask": create_mask,
    "vector.step": step,
    "vector.broadcast": broadcast,
    "vector.from_elements": from_elements,
    "vector.fma": fma,
    "vector.outerproduct": outerproduct,
    "vector.extract": extract,
    "vector.insert": insert,
    "vector.multi_reduction": multi_reduction,
    "vector.reduction": reduction,
    "vector.shuffle": shuffle,
}
