"""affine.apply, min, max, and indices split into and joined from digits."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.text.fragments import call
from gpucodegen.ir.affine.expressions import AffineExpr, Const
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import operand_segments


def apply(e: Emitter, op: Operation) -> None:
    """``affine.apply``: printed at its use if that is the only one."""
    (expr,) = e.applied(affine.map_of(op), op.operands)
    if e.is_inlined(op):
        e.indices[op.result] = expr
    else:
        e.define_index(op.result, expr)


def extreme_of(function: str) -> Handler:
    """``affine.min`` or ``affine.max``."""

    def handler(e: Emitter, op: Operation) -> None:
        bounds = e.applied(affine.map_of(op), op.operands)
        texts = [e.affine(bound) for bound in bounds]
        text = texts[0] if len(texts) == 1 else call(function, *texts)
        e.define(op.result, e.narrow(text))

    return handler


def _basis(e: Emitter, op: Operation, dynamic: Sequence[Value]) -> list[AffineExpr]:
    """Extents of the digits, the most significant first."""
    entries = op.numbers("static_basis")
    values = iter(dynamic)
    return [
        e.index(next(values)) if entry == DYNAMIC_MARK else Const(int(entry))
        for entry in entries
    ]


def delinearize(e: Emitter, op: Operation) -> None:
    """``affine.delinearize_index``; the first digit needs no bound."""
    linear, *dynamic = op.operands
    basis = _basis(e, op, dynamic)
    inner = basis[len(basis) - len(op.results) + 1 :]
    rest = e.index(linear)
    for position, result in enumerate(op.results):
        digit = rest // prod(inner[position:], start=Const(1))
        if position:
            digit = digit % inner[position - 1]
        e.define_index(result, digit)


def linearize(e: Emitter, op: Operation) -> None:
    """``affine.linearize_index``."""
    digits, dynamic = operand_segments(op, 2)
    basis = _basis(e, op, dynamic)
    inner = basis[len(basis) - len(digits) + 1 :]
    total: AffineExpr = Const(0)
    for position, digit in enumerate(digits):
        total = total + e.index(digit) * prod(inner[position:], start=Const(1))
    e.define_index(op.result, total)


HANDLERS: dict[str, Handler] = {
    "affine.apply": apply,
    "affine.min": extreme_of("min"),
    "affine.max": extreme_of("max"),
    "affine.delinearize_index": delinearize,
    "affine.linearize_index": linearize,
}
