"""TOSA products, convolutions, poolings, resize, gather and scatter, by linalg."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.tosa import chosen_word
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, segment_sizes
from gpucodegen.ir.types import (
    I1,
    I64,
    INDEX,
    FloatType,
    IntegerType,
    TensorType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo import reductions
from gpucodegen.passes.prepare.stablehlo.expressions import Expression, converted
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    REDUCTION,
    Rule,
    dims,
    empty,
    extract,
    filled,
    generic,
    mapped,
    nest,
    position,
    refusal,
    scalar,
    shape,
    splat,
    tensor,
)
from gpucodegen.passes.prepare.stablehlo.movement import padded, reshaped
from gpucodegen.passes.prepare.stablehlo.reductions import multiply_add
from gpucodegen.passes.prepare.tosa.elementwise import computed, ignores_nan, spread


def _shifted(b: Builder, value: Value, zero: Value, ty: Type) -> Value:
    """The numbers less their zero point, in the accumulator type."""
    wanted = with_element(value.type, ty)
    wide = computed(b, "convert", [value], wanted)
    ones = (1,) * len(shape(value))
    point = reshaped(b, zero, ones) if shape(zero) != ones else zero
    point = computed(b, "convert", [point], with_element(point.type, ty))
    return computed(b, "subtract", [wide, spread(b, point, wanted)], wanted)


def factors_of(b: Builder, op: Operation, first: int) -> tuple[Value, Value]:
    """Both operands less their zero points, the operands from ``first`` on."""
    x, w, zeros = op.operands[0], op.operands[1], op.operands[first:]
    if not zeros:
        return x, w
    element = element_type(op.result.type)
    return _shifted(b, x, zeros[0], element), _shifted(b, w, zeros[1], element)


def begun_with(b: Builder, ty: Type, bias: Value | None) -> Value:
    """The initial sums: zeros, or a bias along the last dimension."""
    if bias is None:
        return filled(b, scalar(b, 0, element_type(ty)), ty)
    wanted = with_element(bias.type, element_type(ty))
    bias = bias if bias.type == wanted else computed(b, "convert", [bias], wanted)
    last = len(ty.shape) - 1 if isinstance(ty, TensorType) else 0
    only = -1 if shape(bias) == (1,) else last
    return mapped(b, [bias], [dims([only])], ty)


def _matmul(b: Builder, op: Operation) -> Sequence[Value]:
    factors = factors_of(b, op, 2)
    batch, row, column, k = map(Dim, range(4))
    maps = [[batch, row, k], [batch, k, column], [batch, row, column]]
    start = begun_with(b, op.result.type, None)
    kinds = [PARALLEL] * 3 + [REDUCTION]
    return generic(b, factors, [start], maps, kinds, multiply_add)


def _fully_connected(b: Builder, op: Operation) -> Sequence[Value]:
    """``x w' + bias``."""
    factors = factors_of(b, op, 3)
    row, column, k = map(Dim, range(3))
    maps = [[row, k], [column, k], [row, column]]
    start = begun_with(b, op.result.type, op.operands[2])
    kinds = [PARALLEL] * 2 + [REDUCTION]
    return generic(b, factors, [start], maps, kinds, multiply_add)


# -- windows ---------------------------------------------------------------------------


def _named(
    b: Builder, op: Operation, name: str, operands: Sequence[Value], ty: Type
) -> Value:
    """A named operation of linalg with TOSA's strides and dilations."""
    *inputs, output = operands
    attributes: dict[str, Attribute] = {}
    count = len(numbers(op, "stride"))
    for ours, theirs in (("strides", "stride"), ("dilations", "dilation")):
        values = numbers(op, theirs) or (1,) * count
        stored = values[:1] if len(set(values)) == 1 else values
        attributes[ours] = DenseElementsAttr(stored, TensorType((count,), I64), I64)
    attributes[OPERAND_SEGMENTS] = segment_sizes([inputs, [output]])
    return b.value(f"linalg.{name}", operands, ty, attributes)


def _with_room(b: Builder, op: Operation, x: Value, value: float) -> Value:
    """The image padded as ``pad`` says, without batch and channels."""
    room = (0, 0, *numbers(op, "pad"), 0, 0)
    number = scalar(b, value, element_type(x.type))
    return padded(b, x, number, room[::2], room[1::2])


def _convolution(name: str) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        image, kernel = factors_of(b, op, 3)
        image = _with_room(b, op, image, 0)
        start = begun_with(b, op.result.type, op.operands[2])
        return [_named(b, op, name, (image, kernel, start), op.result.type)]

    return rule


def _conv3d(b: Builder, op: Operation) -> Sequence[Value]:
    """``f d h w c`` becomes ``d h w c f``, as linalg has it."""
    image, kernel = factors_of(b, op, 3)
    f, *others = shape(kernel)
    places = [Dim(4), Dim(0), Dim(1), Dim(2), Dim(3)]
    turned = tensor([*others, f], element_type(kernel.type))
    kernel = mapped(b, [kernel], [places], turned)
    image = _with_room(b, op, image, 0)
    start = begun_with(b, op.result.type, op.operands[2])
    operands = (image, kernel, start)
    return [_named(b, op, "conv_3d_ndhwc_dhwcf", operands, op.result.type)]


def _depthwise(b: Builder, op: Operation) -> Sequence[Value]:
    """Channel c has features ``c * M`` to ``c * M + M``."""
    image, kernel = factors_of(b, op, 3)
    high, wide, channels, each = shape(kernel)
    image = _with_room(b, op, image, 0)
    start = begun_with(b, op.result.type, op.operands[2])
    n, y, x, c, m, p, q = map(Dim, range(7))
    down, across = numbers(op, "stride")
    far, wider = numbers(op, "dilation") or (1, 1)
    feature = c * each + m
    told = empty(b, tensor([channels, each], element_type(op.result.type)))
    maps = [
        [n, y * down + p * far, x * across + q * wider, c],
        [p, q, c, m],
        [c, m],
        [n, y, x, feature],
    ]
    kinds = [PARALLEL] * 5 + [REDUCTION] * 2
    if each == 1:
        kernel = reshaped(b, kernel, (high, wide, channels))
        operands = (image, kernel, start)
        return [_named(b, op, "depthwise_conv_2d_nhwc_hwc", operands, op.result.type)]
    return generic(b, (image, kernel, told), [start], maps, kinds, multiply_add)


def _least(ty: Type) -> float:
    return -(1 << (ty.width - 1)) if isinstance(ty, IntegerType) else -inf


def _pooled(b: Builder, op: Operation, x: Value, name: str, start: float) -> Value:
    element = element_type(op.result.type)
    window = empty(b, tensor(numbers(op, "kernel"), element))
    begun = filled(b, scalar(b, start, element), op.result.type)
    return _named(b, op, name, (x, window, begun), op.result.type)


def _max_pool(b: Builder, op: Operation) -> Sequence[Value]:
    if ignores_nan(op, op.operands[0].type):
        return _max_of_numbers(b, op)
    least = _least(element_type(op.operands[0].type))
    x = _with_room(b, op, op.operands[0], least)
    return [_pooled(b, op, x, "pooling_nhwc_max", least)]


def _max_of_numbers(b: Builder, op: Operation) -> Sequence[Value]:
    """The largest non-NaN number under each window; NaN where there is none."""
    x = _with_room(b, op, op.operands[0], nan)
    element = element_type(x.type)
    n, y, z, c, p, q = map(Dim, range(6))
    down, across = numbers(op, "stride")
    told = empty(b, tensor(numbers(op, "kernel"), element))
    maps = [[n, y * down + p, z * across + q, c], [p, q], [n, y, z, c]]
    start = filled(b, scalar(b, nan, element), op.result.type)

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        return inner.add("arith.maxnumf", (elements[-1], elements[0]), [element])

    kinds = [PARALLEL] * 4 + [REDUCTION] * 2
    return generic(b, (x, told), [start], maps, kinds, body)


def _average_pool(b: Builder, op: Operation) -> Sequence[Value]:
    """Sums divided by the number of image elements under each window."""
    x = op.operands[0]
    if not isinstance(element_type(x.type), FloatType):
        raise refusal(op, "Cast to f32 first", "integers")
    ones = _with_room(b, op, splat(b, 1, x.type), 0)
    total = _pooled(b, op, _with_room(b, op, x, 0), "pooling_nhwc_sum", 0)
    counts = _pooled(b, op, ones, "pooling_nhwc_sum", 0)
    return [computed(b, "divide", [total, counts], op.result.type)]


WINDOW_RULES: dict[str, Rule] = {
    "tosa.matmul": _matmul,
    "tosa.fully_connected": _fully_connected,
    "tosa.conv2d": _convolution("conv_2d_nhwc_fhwc"),
    "tosa.conv3d": _conv3d,
    "tosa.depthwise_conv2d": _depthwise,
    "tosa.max_pool2d": _max_pool,
    "tosa.avg_pool2d": _average_pool,
}


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
            whole = inner.value("arith.index_cast", (part.value,), I64)
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
        row = inner.value("arith.index_cast", (found,), INDEX)
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
    (total,) = reductions.convolution(b, made)
    return [computed(b, "add", [total, begun_with(b, ty, op.operands[2])], ty)]


IMAGE_RULES: dict[str, Rule] = {
    "tosa.resize": _resize,
    "tosa.scatter": _scatter,
    "tosa.transpose_conv2d": _transpose_conv2d,
}
