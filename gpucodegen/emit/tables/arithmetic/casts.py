"""arith: conversions between number types, and those that scale on the way."""

from __future__ import annotations

from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import CONSTRUCTORS
from gpucodegen.emit.tables.arithmetic.scalars import kind_of, require_nearest, rounded
from gpucodegen.emit.tables.vectors.types import shape_of
from gpucodegen.emit.text.fragments import Precedence, Text, binary, call
from gpucodegen.ir.data.float_formats import NARROW
from gpucodegen.ir.operation import Operation

CASTS_BY_NAME = frozenset(
    "arith.index_cast arith.extsi arith.trunci arith.sitofp arith.extf "
    "arith.truncf".split()
)
"""Casts that the constructor of the result's type performs."""
OTHER_CASTS = frozenset(
    "arith.extui arith.uitofp arith.fptosi arith.fptoui arith.bitcast "
    "arith.index_castui arith.convertf".split()
)
SCALE = "f8E8M0FNU"
"""The type of scales, powers of two; others are rounded to it."""


def cast(e: Emitter, op: Operation) -> None:
    """A conversion by the result type's constructor, or by an intrinsic."""
    require_nearest(e, op)
    (operand,) = op.operands
    before, after = kind_of(e, op, operand), kind_of(e, op, op.result)
    if before in NARROW and after == "f32" and op.name == "arith.extf":
        e.define(op.result, e.text(operand))
        return
    if op.name == "arith.bitcast" and {before, after} & NARROW:
        e.define(op.result, _reinterpreted(e, e.typed(operand), before, after))
        return
    plain = op.name in CASTS_BY_NAME and not (
        shape_of(operand.type) or "i1" in {before, after} or after in NARROW
    )
    if plain:
        name = CONSTRUCTORS[e.spelling.index_dtype if after == "index" else after]
        e.define(op.result, call(e.use(name), e.text(operand)))
        return
    e.define(op.result, _made(e, op.name.partition(".")[2], e.typed(operand), after))


def _made(e: Emitter, method: str, text: Text, after: str) -> Text:
    """A call of the intrinsic that converts."""
    kind = e.spelling.index_dtype if after == "index" else after
    return call(e.make(f"{method}_{kind}", "cast", method, kind), text)


def _reinterpreted(e: Emitter, text: Text, before: str, after: str) -> Text:
    """``arith.bitcast`` from or to a narrow float, whose values are no bits."""
    if before in NARROW:
        text = call(e.make(f"bits_of_{before}", "bits_of", before), text)
    if after in NARROW:
        text = call(e.make(f"from_bits_{after}", "from_bits", after), text)
    return text


def scale(e: Emitter, op: Operation) -> None:
    """``arith.scaling_extf``: times the scale in the result's type.

    ``arith.scaling_truncf``: divided by it in the operand's type, then rounded.
    """
    require_nearest(e, op)
    operand, factor = op.operands
    before, after = kind_of(e, op, operand), kind_of(e, op, op.result)
    if shape_of(op.result.type):
        raise e.refusal(op, "Scale element by element")
    power = e.text(factor)
    if kind_of(e, op, factor) != SCALE:
        power = _made(e, "truncf", e.typed(factor), SCALE)
    extends = op.name == "arith.scaling_extf"
    kind, symbol = (after, "*") if extends else (before, "/")
    make = e.use(CONSTRUCTORS[kind])
    number, power = (rounded(e, call(make, x), kind) for x in (e.text(operand), power))
    text = rounded(e, binary(number, symbol, power, Precedence.PRODUCT), kind)
    e.define(op.result, text if extends else _made(e, "truncf", text, after))


HANDLERS: dict[str, Handler] = dict.fromkeys(CASTS_BY_NAME | OTHER_CASTS, cast) | {
    "arith.scaling_extf": scale,
    "arith.scaling_truncf": scale,
}
