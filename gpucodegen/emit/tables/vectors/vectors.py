"""vector: register tiles as values; every operation is one call of an intrinsic."""

from __future__ import annotations

from gpucodegen.dialects import vector
from gpucodegen.dialects.gcg import words
from gpucodegen.dialects.shared.combiners import GPU_KINDS, Combiner, kind_word, of_kind
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.tables.vectors import accesses as vector_accesses
from gpucodegen.emit.tables.vectors.types import (
    shape_of,
    suffix,
    vector_dtype,
    vector_type,
)
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.data.float_formats import NARROW
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType, element_type


def _made(e: Emitter, op: Operation, name: str, ty: VectorType) -> str:
    """An intrinsic whose factory takes the shape and the dtype."""
    kind = vector_dtype(e, op, ty)
    return e.make(f"{name}_{suffix(ty.shape, kind)}", name, ty.shape, kind)


def broadcast(e: Emitter, op: Operation) -> None:
    """``vector.broadcast`` of a scalar, of one row to all rows, or of one column."""
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
    """``vector.step``: the number of each lane."""
    ty = vector_type(e, op, op.result)
    kind = vector_dtype(e, op, ty)
    hint = f"lanes_{suffix(ty.shape, kind)}"
    numbers = tuple(range(ty.shape[0]))
    e.texts[op.result] = call(e.make(hint, "constant", ty.shape, kind, numbers))


def create_mask(e: Emitter, op: Operation) -> None:
    """``vector.create_mask`` of one dimension: the lanes before a number."""
    ty = vector_type(e, op, op.result)
    if len(ty.shape) != 1:
        raise e.refusal(op, "Mask one dimension")
    function = e.make(f"first_lanes_{ty.shape[0]}", "first_lanes", ty.shape[0])
    e.define(op.result, call(function, e.typed(op.operands[0])))


def from_elements(e: Emitter, op: Operation) -> None:
    """``vector.from_elements``."""
    function = _made(e, op, "from_elements", vector_type(e, op, op.result))
    e.define(op.result, call(function, *(e.typed(v) for v in op.operands)))


def fma(e: Emitter, op: Operation) -> None:
    """``vector.fma``."""
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
    parts = words.parts_of(op)
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
    """How a reduction combines the elements of a vector."""
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
    """Whether the order has no meaning, or the program says so."""
    flags = str(op.attributes.get("fastmath", ""))
    return not combiner.is_ordered or "reassoc" in flags or "fast>" in flags


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


HANDLERS: dict[str, Handler] = vector_accesses.HANDLERS | {
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
