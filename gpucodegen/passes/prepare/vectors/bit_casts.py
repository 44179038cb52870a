"""Lowering of ``vector.bitcast``: the bits of a row in elements of another width.

    result[.., j] = (source[.., j // r] >> (j mod r) w) mod 2^w     narrower elements
    result[.., j] = sum over k < r of source[.., j r + k] << k w    wider elements

w: bits of the narrower elements, r: how many of them are one of the wider ones.  The
first element has the lowest bits, as on all targets.
"""

from __future__ import annotations

from gpucodegen.dialects.arith import bit_width
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IntegerType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.vectors.boxes import (
    Boxes,
    Handler,
    Place,
    refusal,
    shape_of,
)
from gpucodegen.passes.prepare.vectors.movement import elementwise


def bitcast(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.bitcast``."""
    (source,) = op.operands
    if shape_of(source) == shape_of(op.result):
        elementwise(v, b, op.with_(name="arith.bitcast"))
        return
    types = element_type(source.type), element_type(op.result.type)
    given, made = (IntegerType(bit_width(ty)) for ty in types)
    narrow, wide = sorted((given.width, made.width))
    if narrow == 0 or wide % narrow or wide > 64:
        raise refusal(op, "Cast to elements of which a whole number make one")
    ratio = wide // narrow

    def part(inner: Builder, at: Place) -> Value:
        *rows, column = at
        whole = v.read(inner, source, (*rows, Index.of(column) // ratio))
        number = inner.index(Index.of(column) % ratio * narrow)
        bits = inner.cast("bitcast", whole, given)
        places = inner.value("arith.index_cast", (number,), given)
        low = inner.value("arith.shrui", (bits, places), given)
        kept = inner.value("arith.trunci", (low,), made)
        return inner.cast("bitcast", kept, types[1])

    def whole(inner: Builder, at: Place) -> Value:
        *rows, column = at
        total = inner.constant(0, made)
        for k in range(ratio):
            read = v.read(inner, source, (*rows, Index.of(column) * ratio + k))
            bits = inner.cast("bitcast", read, given)
            wider = inner.value("arith.extui", (bits,), made)
            places = inner.constant(k * narrow, made)
            moved = inner.value("arith.shli", (wider, places), made)
            total = inner.value("arith.ori", (total, moved), made)
        return inner.cast("bitcast", total, types[1])

    v.filled(b, op.result, part if given.width == wide else whole)


BIT_CAST_HANDLERS: dict[str, Handler] = {"vector.bitcast": bitcast}
