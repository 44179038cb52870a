"""Images in other sizes, and elements put at places."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.tosa import chosen_word
from gpucodegen.ir.attributes import DenseArrayAttr, IntegerAttr, OpaqueAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, I64, INDEX, FloatType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo import contractions
from gpucodegen.passes.prepare.stablehlo.elements.conversions import converted
from gpucodegen.passes.prepare.stablehlo.elements.expressions import Expression
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    extract,
    mapped,
    position,
    shape,
)
from gpucodegen.passes.prepare.stablehlo.places.scatters import nest
from gpucodegen.passes.prepare.tosa.elementwise import computed
from gpucodegen.passes.prepare.tosa.windows import begun_with, factors_of


def _resize(b: Builder, op: Operation) -> Sequence[Value]:
    """Element o lies at ``(o * d + offset) / n`` of the image, in each direction.

    BILINEAR weighs the four elements around by their distances: of floats as parts of
    1, of integers as parts of ``n``, so that results are larger by the product of both.
    """
    x, ty = op.operands[0], op.result.type
    scale, offset = numbers(op, "scale"), numbers(op, "offset")
    extents = shape(x)[1:3]
    nearest = chosen_word(op, "mode").startswith("NEAREST")
    element = element_type(ty)
    is_float = isinstance(element, FloatType)

    def along(inner: Builder, d: int) -> tuple[list[Expression], Expression]:
        """Both places around, and how far it is from the first to the second."""
        n, step = scale[2 * d : 2 * d + 2]
        place = Expression(inner, position(inner, d + 1)) * step + offset[d]
        low = place.by("arith.floordivsi", n)
        part = place - low * n
        ends = [
            end.by("arith.maxsi", 0).by("arith.minsi", extents[d] - 1)
            for end in (low, low + 1)
        ]
        return ends, part

    def body(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        (ys, down), (xs, across) = along(inner, 0), along(inner, 1)
        batch, channel = position(inner, 0), position(inner, 3)

        def at(y: Expression, x_: Expression) -> Expression:
            found = extract(inner, x, [batch, y.value, x_.value, channel])
            return Expression(inner, converted(inner, found, element))

        if nearest:
            y, x_ = (
                ends[1].where(part * 2 > n - 1, ends[0])
                for ends, part, n in ((ys, down, scale[0]), (xs, across, scale[2]))
            )
            return [at(y, x_).value]
        weights = list[tuple[Expression, Expression]]()
        for part, n in ((down, scale[0]), (across, scale[2])):
            (whole,) = inner.add("arith.index_cast", (part.value,), [I64])
            far = Expression(inner, converted(inner, whole, element))
            far = far / n if is_float else far
            weights.append(((1 if is_float else n) - far, far))
        total = None
        for y, wy in zip(ys, weights[0], strict=True):
            for x_, wx in zip(xs, weights[1], strict=True):
                term = at(y, x_) * wy * wx
                total = term if total is None else total + term
        assert total is not None
        return [total.value]

    return [mapped(b, [], [], ty, body)]


def _scatter(b: Builder, op: Operation) -> Sequence[Value]:
    """``result[n, indices[n, w], c] = input[n, w, c]``, elsewhere as it was."""
    values, indices, given = op.operands

    def put(
        inner: Builder, at: Sequence[Value], held: Sequence[Value]
    ) -> Sequence[Value]:
        batch, which, channel = at
        found = extract(inner, indices, [batch, which])
        (row,) = inner.add("arith.index_cast", (found,), [INDEX])
        new = extract(inner, given, at)
        place = (batch, row, channel)
        return inner.add("tensor.insert", (new, held[0], *place), [held[0].type])

    return nest(b, shape(given), [values], put)


def _transpose_conv2d(b: Builder, op: Operation) -> Sequence[Value]:
    """Every element of the image spreads the kernel over the result."""
    image, kernel = factors_of(b, op, 3)
    ty = op.result.type
    taps = shape(kernel)[1:3]
    top, bottom, left, right = numbers(op, "out_pad")
    sides = (taps[0] - 1 + top, taps[0] - 1 + bottom, taps[1] - 1 + left)
    lists = {
        "window_strides": (1, 1),
        "lhs_dilation": numbers(op, "stride"),
        "padding": (*sides, taps[1] - 1 + right),
    }
    layout = OpaqueAttr("#stablehlo.conv<[b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f]>")
    one = IntegerAttr(1, I64)
    made = Operation(
        "stablehlo.convolution",
        (image, kernel),
        (Value(ty),),
        {
            **{name: DenseArrayAttr(I64, values) for name, values in lists.items()},
            "window_reversal": DenseArrayAttr(I1, (1, 1)),
            "dimension_numbers": layout,
            "feature_group_count": one,
            "batch_group_count": one,
        },
        (),
        location=b.location,
    )
    (total,) = contractions.convolution(b, made)
    return [computed(b, "add", [total, begun_with(b, ty, op.operands[2])], ty)]


RULES: dict[str, Rule] = {
    "tosa.resize": _resize,
    "tosa.scatter": _scatter,
    "tosa.transpose_conv2d": _transpose_conv2d,
}
