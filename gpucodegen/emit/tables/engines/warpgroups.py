"""nvgpu: products by four warps of factors in shared memory.

Each is waited for where it stands, whatever ``waitGroup`` says: until then no register
of its sum may be moved, and a compiler would move them.
"""

from __future__ import annotations

from gpucodegen.dialects.nvgpu.types import Held, fields, held, swizzle_span
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import stored_bytes
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.text.fragments import call
from gpucodegen.ir.affine.expressions import Const
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType

PREFIX = "nvgpu.warpgroup."
ROWS, COLUMNS, WIDEST, STEP = 64, 8, 256, 32
"""What rows, columns and bytes along K of a product are multiples of; most columns."""
_SUMS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "f32": ("f32",),
    "f8E4M3FN": ("f16", "f32"),
    "f8E5M2": ("f16", "f32"),
    "i8": ("i32",),
    "si8": ("i32",),
    "ui8": ("i32",),
}
"""Element types of sums by those of factors."""


def _factor(value: Value) -> Held:
    return held(fields(value.type).get("tensor", ""))


def _sum(e: Emitter, op: Operation, value: Value) -> Held:
    total = held(fields(value.type).get("fragmented", ""))
    known = {name for names in _SUMS.values() for name in names}
    fits = len(total.shape) == 2 and not (
        total.shape[0] % ROWS or total.shape[1] % COLUMNS or total.shape[1] > WIDEST
    )
    if not fits or total.element not in known:
        raise e.refusal(
            op,
            f"Accumulate in f32, f16 or i32: rows in multiples of {ROWS}, columns of"
            f" {COLUMNS}, at most {WIDEST}",
        )
    return total


def generate(e: Emitter, op: Operation) -> None:
    """``nvgpu.warpgroup.generate.descriptor``."""
    tensor, tensor_map = op.operands
    buffer = buffer_of(e, op, tensor)
    shape, element = _factor(op.result)
    span = swizzle_span(tensor_map.type)
    if not span or len(shape) != 2:
        raise e.refusal(op, "Copy the factor by a map of 2 dimensions with a swizzle")
    if shape[1] * stored_bytes(element.lstrip("su")) % span:
        raise e.refusal(op, f"Make its rows multiples of the swizzle's {span} bytes")
    e.facts.spans[op.result] = span
    rank = tensor.type.rank if isinstance(tensor.type, MemRefType) else 0
    made = e.make(
        f"matrix_descriptor_{shape[0]}_{span}", "matrix_descriptor", span, shape[0]
    )
    offset = e.offset(buffer.at([Const(0)] * rank))
    e.define(op.result, call(made, buffer.pointer, offset))


def multiply(e: Emitter, op: Operation) -> None:
    """``nvgpu.warpgroup.mma``: A of rows by K, B of K by columns or turned around.

    With ``transposeA`` A lies as K by rows; without ``transposeB`` B as columns by K.
    """
    a, b, total = op.operands
    form = _sum(e, op, total)
    left, right = _factor(a), _factor(b)
    size = stored_bytes(left.element.lstrip("su"))
    flips = "transposeA" in op.attributes, "transposeB" in op.attributes
    of_a = left.shape[::-1] if flips[0] else left.shape
    of_b = right.shape if flips[1] else right.shape[::-1]
    if of_a != (form.shape[0], of_b[0]) or of_b[1] != form.shape[1]:
        raise e.refusal(
            op,
            f"{of_a[0]} x {of_a[1]} times {of_b[0]} x {of_b[1]} is not"
            f" {form.shape[0]} x {form.shape[1]}: make the extents agree; without"
            " transposeB, B has a row for each column",
        )
    if form.element not in _SUMS.get(left.element, ()) or left.element != right.element:
        raise e.refusal(op, "Multiply f16, bf16, f8 or f32 into f32, or i8 into i32")
    if any(flips) and size != 2:
        raise e.refusal(op, "Only elements of 16 bits may lie with K in columns")
    if a not in e.facts.spans or b not in e.facts.spans:
        raise e.refusal(op, "Make both descriptors in the block of the product")
    depth = of_a[1] * size
    if depth % STEP:
        raise e.refusal(op, f"Make K a multiple of {STEP // size}")
    shape = "x".join(map(str, (*form.shape, of_a[1])))
    made = e.make(
        f"warpgroup_multiply_{shape}_{left.element.lower()}",
        "warpgroup_multiply",
        (*form.shape, form.element),
        (left.element, right.element),
        depth,
        (left.shape[0], e.facts.spans[a], flips[0]),
        (right.shape[0], e.facts.spans[b], flips[1]),
    )
    e.define(op.result, call(made, e.text(a), e.text(b), e.text(total)))


def store(e: Emitter, op: Operation) -> None:
    """``nvgpu.warpgroup.mma.store``."""
    total, target = op.operands
    form = _sum(e, op, total)
    buffer = buffer_of(e, op, target)
    step = buffer.strides[0] if len(buffer.strides) == 2 else None
    if not isinstance(step, Const) or buffer.strides[1] != Const(1):
        raise e.refusal(op, "Store to a matrix whose strides are constants, the last 1")
    made = e.make(
        f"store_sum_{step.value}", "store_sum", (*form.shape, form.element), step.value
    )
    offset = e.offset(buffer.at([Const(0), Const(0)]))
    e.writer.line(str(call(made, e.text(total), buffer.pointer, offset)))


def zeros(e: Emitter, op: Operation) -> None:
    """``nvgpu.warpgroup.mma.init.accumulator``."""
    form = _sum(e, op, op.result)
    made = e.make("zero_sum", "zero_sum", (*form.shape, form.element))
    e.define(op.result, call(made))


def fragment(e: Emitter, op: Operation) -> None:
    """``gcg.fragment``."""
    (total,) = op.operands
    form = _sum(e, op, total)
    if form.element == "f16":
        raise e.refusal(op, "Accumulate in f32")
    where = op.integer("row"), op.integer("column")
    hint = f"fragment_{form.shape[1]}_{where[0]}_{where[1]}"
    made = e.make(hint, "sum_fragment", (*form.shape, form.element), *where)
    e.define(op.result, call(made, e.text(total)))


HANDLERS: dict[str, Handler] = {
    f"{PREFIX}generate.descriptor": generate,
    f"{PREFIX}mma": multiply,
    f"{PREFIX}mma.store": store,
    f"{PREFIX}mma.init.accumulator": zeros,
    "gcg.fragment": fragment,
}
