"""nvgpu: fragments of matrices in the lanes of a warp."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.nvgpu.shapes import SHAPES, Shape
from gpucodegen.dialects.vector.types import integers
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.tables.vectors.types import (
    shape_of,
    suffix,
    vector_dtype,
    vector_type,
)
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value

CODES = {"f8E4M3FN": "i8", "f8E5M2": "i8"}
"""Floats whose fragments hold codes, by what holds them.

Other vectors hold narrow floats as f32, which no instruction makes of these for free.
"""


def load(e: Emitter, op: Operation) -> None:
    """``nvgpu.ldmatrix``."""
    source, *indices = op.operands
    buffer, ty = buffer_of(e, op, source), vector_type(e, op, op.result)
    tiles, kind = ty.shape[0], vector_dtype(e, op, ty)
    held = CODES.get(kind, kind)
    flag = op.attributes.get("transpose")
    is_turned = isinstance(flag, IntegerAttr) and bool(flag.value)
    hint = f"ldmatrix_x{tiles}{'_trans' if is_turned else ''}_{held}"
    made = e.make(hint, "ldmatrix", tiles, held, is_turned)
    place = e.offset(buffer.at([e.index(v) for v in indices]))
    _define(e, op, call(made, Text(buffer.pointer), place), kind)


def _define(e: Emitter, op: Operation, text: Text, kind: str) -> None:
    """A fragment; one of codes is no vector of numbers, and only products take it."""
    if kind not in CODES:
        e.define(op.result, text)
        return
    name = e.names.fresh("codes")
    e.writer.line(f"{name} = {text}")
    e.facts.codes[op.result] = Text(name)


def _factor(e: Emitter, op: Operation, value: Value, kind: str) -> Text:
    if kind not in CODES:
        return e.typed(value)
    if value not in e.facts.codes:
        raise e.refusal(op, "Load fragments of 8-bit floats by nvgpu.ldmatrix")
    return e.facts.codes[value]


def multiply(e: Emitter, op: Operation) -> None:
    """``nvgpu.mma.sync``, in a shape that devices have."""
    types = [vector_type(e, op, value) for value in op.operands]
    kind, _, sums = (vector_dtype(e, op, ty) for ty in types)
    m, n, k = integers(op, "mmaShape")
    known = SHAPES.get((kind, sums), ())
    if (m, n, k) not in known:
        raise e.refusal(op, _advice(kind, known))
    if kind == "f32" and "tf32Enabled" not in op.attributes:
        raise e.refusal(op, "Say tf32Enabled: 13 bits of each factor are not read")
    rows = tuple(shape_of(ty)[0] for ty in types)
    hint = f"mma_sync_m{m}n{n}k{k}_{kind}_{sums}"
    made = e.make(hint, "mma_sync", (m, n, k), kind, sums, rows)
    *factors, total = op.operands
    given = [_factor(e, op, value, kind) for value in factors]
    e.define(op.result, call(made, *given, e.typed(total)))


def _advice(kind: str, known: Sequence[Shape]) -> str:
    """What a device has of this kind, or near it."""
    if known:
        return f"Use mmaShape = {' or '.join(str(list(shape)) for shape in known)}"
    sums = [total for factor, total in SHAPES if factor == kind]
    kinds = sorted({factor for factor, _ in SHAPES})
    return f"Keep sums in {' or '.join(sums)}" if sums else f"Use {', '.join(kinds)}"


def some_rows(e: Emitter, op: Operation) -> None:
    """``vector.extract_strided_slice`` of a fragment: some of its registers."""
    source, ty = (vector_type(e, op, v) for v in (op.operands[0], op.result))
    first, sizes = integers(op, "offsets"), integers(op, "sizes")
    if len(first) != 1 or integers(op, "strides") != (1,) or len(ty.shape) != 2:
        raise e.refusal(op, "Take rows that follow one another")
    kind = vector_dtype(e, op, ty)
    held = CODES.get(kind, kind)
    hint = f"rows_{first[0]}_{suffix(ty.shape, held)}"
    made = e.make(hint, "some_rows", source.shape, held, first[0], sizes[0])
    _define(e, op, call(made, _factor(e, op, op.operands[0], kind)), kind)


HANDLERS: dict[str, Handler] = {
    "nvgpu.ldmatrix": load,
    "nvgpu.mma.sync": multiply,
    "vector.extract_strided_slice": some_rows,
}
