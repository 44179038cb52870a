"""StableHLO reductions, window reductions, dot products and convolutions.

The bodies of reductions become scalar code; dot products and convolutions become
``linalg.generic``, whose nests are recognised as contractions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.shared.window_phases import Phase, phases
from gpucodegen.dialects.stablehlo.syntax import layouts, listed
from gpucodegen.ir.affine import AffineExpr, Const, Dim
from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    number,
)
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import F32, I64, TensorType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.linalg_to_affine import REASSOCIABLE
from gpucodegen.passes.prepare.stablehlo.expressions import (
    FLOAT,
    TABLE,
    converted,
    kind_of,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    REDUCTION,
    Rule,
    Scalars,
    dims,
    empty,
    extract,
    filled,
    generic,
    refusal,
    scalar,
    shape,
    tensor,
)
from gpucodegen.passes.prepare.stablehlo.movement import (
    extracted,
    inserted,
    padded,
    part_of,
)


def multiply_add(b: Builder, elements: Sequence[Value]) -> Sequence[Value]:
    """``total + x * y`` in the type of the total."""
    x, y, total = elements[0], elements[1], elements[-1]
    kind = kind_of(total.type)
    x, y = (converted(b, value, total.type) for value in (x, y))
    product = b.value(TABLE["multiply"][kind], (x, y), total.type)
    return b.add(TABLE["add"][kind], (total, product), [total.type])


def _summed(
    b: Builder,
    op: Operation,
    inputs: Sequence[Value],
    maps: Sequence[Sequence[AffineExpr]],
    kinds: Sequence[str],
) -> Sequence[Value]:
    """The sums of products in the type of the result.

    Narrow floats are added in f32 and rounded once, as XLA does on CPUs and GPUs.
    """
    ty = op.result.type
    element = element_type(ty)
    sum_type = F32 if str(element) in NARROW else element
    wide = with_element(ty, sum_type) if isinstance(ty, TensorType) else ty
    start = filled(b, scalar(b, 0, sum_type), wide)
    (total,) = generic(b, inputs, [start], maps, kinds, multiply_add)
    return [converted(b, total, ty)]


def dot(b: Builder, op: Operation) -> Sequence[Value]:
    """A product of vectors and matrices."""
    last = len(shape(op.operands[0])) - 1
    return _product(b, op, ((), ()), ((last,), (0,)))


def dot_general(b: Builder, op: Operation) -> Sequence[Value]:
    """Batches, then the free dimensions of the left operand, then of the right one."""
    _check_algorithm(op)
    given = op.attributes["dot_dimension_numbers"]
    batches, sums = (
        tuple(listed(given, f"{side}_{word}_dimensions") for side in ("lhs", "rhs"))
        for word in ("batching", "contracting")
    )
    return _product(b, op, batches, sums)


def _check_algorithm(op: Operation) -> None:
    """Refuse an algorithm other than one product, and sums as `_summed` adds them.

    Operands keep their bits: a precision below theirs may be exceeded.
    """
    text = str(op.attributes.get("algorithm", ""))
    given = dict(re.findall(r"(\w+) = (\w+)", text))
    element = str(element_type(op.result.type))
    kinds = [str(element_type(v.type)) for v in op.operands]
    sums = "f32" if element in NARROW else element
    expected = {
        **dict.fromkeys(("lhs_component_count", "rhs_component_count"), "1"),
        "num_primitive_operations": "1",
        "accumulation_type": sums,
        "lhs_precision_type": kinds[0],
        "rhs_precision_type": kinds[1],
    }
    for name, wanted in expected.items():
        if given.get(name, wanted) != wanted:
            part = f"algorithm = <{name} = {given[name]}>"
            raise refusal(op, f"Here, {name} is {wanted}, or without algorithm", part)


def _product(
    b: Builder,
    op: Operation,
    batches: Sequence[Sequence[int]],
    sums: Sequence[Sequence[int]],
) -> Sequence[Value]:
    ranks = [len(shape(v)) for v in op.operands]
    rank = len(shape(op.result))
    loops: list[dict[int, int]] = []
    free = len(batches[0])
    for side in (0, 1):
        own = {d: n for n, d in enumerate(batches[side])}
        own |= {d: rank + n for n, d in enumerate(sums[side])}
        for d in range(ranks[side]):
            if d not in own:
                own[d] = free
                free += 1
        loops.append(own)
    maps = [
        [Dim(own[d]) for d in range(n)] for own, n in zip(loops, ranks, strict=True)
    ]
    kinds = [PARALLEL] * rank + [REDUCTION] * len(sums[0])
    result = [Dim(d) for d in range(rank)]
    return _summed(b, op, op.operands, [*maps, result], kinds)


# -- convolutions ----------------------------------------------------------------------


def convolution(b: Builder, op: Operation) -> Sequence[Value]:
    """``result[b, x.., f] += image[b, x*s + z*d.., c] * kernel[z.., c, f]``.

    In groups, group g has the features from ``g * F`` on of kernel and result, and
    either the channels from ``g * C`` on of the image, or the images from ``g * N`` on.
    """
    image, kernel = op.operands
    batches = op.integer("batch_group_count", 1)
    groups = batches * op.integer("feature_group_count", 1)
    if groups not in (batches, op.integer("feature_group_count", 1)):
        raise refusal(op, "Group channels or images, not both", "batch_group_count")
    layout, taps, places = layouts(op.attributes["dimension_numbers"])
    windows = len(layout) - 2
    if max(numbers(op, "lhs_dilation") or (1,)) > 1:
        return [_of_dilated(b, op, layout, taps, places)]
    image = _padded_image(b, op, image, layout)
    extents = dict(zip(taps, shape(kernel), strict=True))
    result_extents = dict(zip(places, shape(op.result), strict=True))
    channels, features = extents["i"], extents["o"] // groups
    # Loops: batch, points, group, feature; then taps and channel.
    points, group, feature = range(1, 1 + windows), 1 + windows, 2 + windows
    first_tap, channel = 3 + windows, 3 + 2 * windows
    strides, dilations = (
        numbers(op, name) or (1,) * windows
        for name in ("window_strides", "rhs_dilation")
    )
    turned = numbers(op, "window_reversal") or (0,) * windows
    in_image: dict[str, AffineExpr] = {"b": Dim(0)}
    in_kernel: dict[str, AffineExpr] = {"i": Dim(channel)}
    in_result: dict[str, AffineExpr] = {"b": Dim(0)}
    one = groups == 1
    in_image["f"] = Dim(channel)
    if batches > 1:
        in_image["b"] = Dim(group) * result_extents["b"] + Dim(0)
    elif not one:
        in_image["f"] = Dim(group) * channels + Dim(channel)
    in_kernel["o"] = Dim(feature) if one else Dim(group) * features + Dim(feature)
    in_result["f"] = in_kernel["o"]
    for n, (stride, dilation) in enumerate(zip(strides, dilations, strict=True)):
        tap, name = Dim(first_tap + n), str(n)
        in_image[name] = Dim(points[n]) * stride + tap * dilation
        last = Const(extents[name] - 1)
        in_kernel[name] = last + tap * -1 if turned[n] else tap
        in_result[name] = Dim(points[n])
    maps = [
        [table[name] for name in names]
        for table, names in zip(
            (in_image, in_kernel, in_result), (layout, taps, places), strict=True
        )
    ]
    element = element_type(op.result.type)
    kinds = [PARALLEL] * (3 + windows) + [REDUCTION] * (windows + 1)
    # Unread operand: it gives linalg the extents of loops that no other indexes alone.
    told = tensor(
        [groups, features, *(extents[str(n)] for n in range(windows))], element
    )
    alone = [Dim(group), Dim(feature), *(Dim(first_tap + n) for n in range(windows))]
    inputs = (image, kernel, empty(b, told))
    return _summed(b, op, inputs, [*maps[:2], alone, maps[2]], kinds)


def _padded_image(b: Builder, op: Operation, image: Value, layout: list[str]) -> Value:
    windows = len(layout) - 2
    sides = numbers(op, "padding") or (0,) * (2 * windows)
    low, high = ([0] * len(layout) for _ in range(2))
    for n in range(windows):
        at = layout.index(str(n))
        low[at], high[at] = sides[2 * n], sides[2 * n + 1]
    zero = scalar(b, 0, element_type(image.type))
    return padded(b, image, zero, low, high)


def _of_dilated(
    b: Builder, op: Operation, layout: list[str], taps: list[str], places: list[str]
) -> Value:
    """A convolution of a dilated image, as ordinary ones by `window_phases`."""
    image, kernel = op.operands
    windows = len(layout) - 2
    strides, dilations, spacings = (
        numbers(op, name) or (1,) * windows
        for name in ("window_strides", "rhs_dilation", "lhs_dilation")
    )
    before = numbers(op, "padding")[::2] or (0,) * windows
    images, kernels, outputs = (
        [shape(value)[names.index(str(n))] for n in range(windows)]
        for value, names in ((image, layout), (kernel, taps), (op.result, places))
    )
    sides = [
        [*phases(*extents, stride=s, dilation=d, spacing=g, low=low)]
        for *extents, s, d, g, low in zip(
            images, kernels, outputs, strides, dilations, spacings, before, strict=True
        )
    ]
    met = [[phase for phase in side if phase.taps] for side in sides]
    ty = op.result.type
    if met == sides:
        made = empty(b, ty)
    else:
        made = filled(b, scalar(b, 0, element_type(ty)), ty)
    low, high = (
        _each(layout, [max([0, *(getattr(p, end) for p in side)]) for side in met], 0)
        for end in ("low", "high")
    )
    none = scalar(b, 0, element_type(image.type))
    room = padded(b, image, none, low, high)
    turned = numbers(op, "window_reversal") or (0,) * windows
    for chosen in product(*met):
        ends = zip(_each(layout, [p.low for p in chosen], 0), low, strict=True)
        sizes = [n + p.low + p.high for n, p in zip(images, chosen, strict=True)]
        starts = [most - own for own, most in ends]
        sizes = _over(layout, shape(image), sizes)
        seen = extracted(b, room, starts, sizes, (1,) * len(layout))
        firsts = [
            n - 1 - p.tap - (p.taps - 1) * p.tap_step if t else p.tap
            for n, t, p in zip(kernels, turned, chosen, strict=True)
        ]
        counts = _over(taps, shape(kernel), [p.taps for p in chosen])
        steps = _each(taps, [p.tap_step for p in chosen], 1)
        some = tensor(counts, element_type(kernel.type))
        part = part_of(b, kernel, _each(taps, firsts, 0), steps, some)
        made = _with_phase(b, op, (seen, part), chosen, places, made)
    return made


def _with_phase(
    b: Builder,
    op: Operation,
    operands: tuple[Value, Value],
    chosen: Sequence[Phase],
    places: list[str],
    made: Value,
) -> Value:
    """The result with the outputs of a phase, a convolution of these operands."""
    ty = op.result.type
    extents = _over(places, shape(op.result), [p.count for p in chosen])
    lists = {
        "window_strides": [p.stride for p in chosen],
        "rhs_dilation": [p.dilation for p in chosen],
        "lhs_dilation": [1] * len(chosen),
        "padding": [0] * (2 * len(chosen)),
    }
    own = {n: DenseArrayAttr(I64, tuple(v)) for n, v in lists.items()}
    results = (Value(tensor(extents, element_type(ty))),)
    attributes = {**op.attributes, **own}
    part = op.with_(operands=operands, results=results, attributes=attributes)
    (sums,) = convolution(b, part)
    starts = _each(places, [p.first for p in chosen], 0)
    periods = _each(places, [p.period for p in chosen], 1)
    into = extracted(b, made, starts, extents, periods)
    loops, kinds = [dims(range(len(places)))] * 2, [PARALLEL] * len(places)
    (put,) = generic(b, [sums], [into], loops, kinds, lambda _, e: e[:1])
    return inserted(b, put, made, starts, periods)


def _each(names: Sequence[str], values: Sequence[int], other: int) -> list[int]:
    """The values of the sides 0, 1, ... in the order of ``names``; else ``other``."""
    return _over(names, [other] * len(names), values)


def _over(
    names: Sequence[str], extents: Sequence[int], values: Sequence[int]
) -> list[int]:
    """Extents with those of the sides 0, 1, ... replaced."""
    found = [*extents]
    for n, value in enumerate(values):
        found[names.index(str(n))] = value
    return found


CONTRACTION_RULES: dict[str, Rule] = {
    "stablehlo.dot": dot,
    "stablehlo.dot_general": dot_general,
    "stablehlo.convolution": convolution,
}


_SCALAR = frozenset(["arith", "math", "complex", "builtin"])
_ADVICE = "Combine numbers by arithmetic only"


def inlined(
    b: Builder, owner: Operation, block: Block, arguments: Sequence[Value]
) -> Sequence[Value]:
    """Append the body of a reduction on scalars to ``b``; returns its values.

    Its tensors have rank 0: operations on them are operations on their only elements.
    """
    values: dict[Value, Value] = {}
    return _on_elements(b, owner, block, arguments, values)


def _on_elements(
    b: Builder,
    owner: Operation,
    block: Block,
    arguments: Sequence[Value],
    values: dict[Value, Value],
) -> Sequence[Value]:
    values.update(zip(block.arguments, arguments, strict=True))
    for op in block.operations[:-1]:
        if any(shape(v) for v in (*op.operands, *op.results)):
            raise refusal(owner, _ADVICE, f"{op.name} of several numbers")
        match op.name:
            case "tensor.empty":
                pass
            case "linalg.fill" | "tensor.extract":
                values.update((v, _number(op.operands[0], values)) for v in op.results)
            case "linalg.generic":
                given = [_number(v, values) for v in op.operands]
                made = _on_elements(b, owner, op.body, given, values)
                values.update(zip(op.results, made, strict=True))
            case _ if op.dialect in _SCALAR and not op.regions:
                b.operations.append(_on_numbers(op, values))
            case _:
                raise refusal(owner, _ADVICE, op.name)
    return [_number(v, values) for v in block.operations[-1].operands]


def _number(value: Value, values: Mapping[Value, Value]) -> Value:
    return values.get(value, value)


def _on_numbers(op: Operation, values: dict[Value, Value]) -> Operation:
    results = tuple(v.renewed(_number_type(v)) for v in op.results)
    values.update(zip(op.results, results, strict=True))
    operands = tuple(values.get(v, v) for v in op.operands)
    made = op.with_(operands=operands, results=results)
    value = op.attributes.get("value")
    if isinstance(value, DenseElementsAttr):
        made = made.with_attribute("value", _first(value))
    return made


def _first(value: DenseElementsAttr) -> Attribute:
    (stored,) = value.values
    if isinstance(stored, Attribute):
        return stored
    assert isinstance(stored, int | float)
    return number(stored, value.element)


def _number_type(value: Value) -> Type:
    return (
        element_type(value.type) if isinstance(value.type, TensorType) else value.type
    )


def _combining(op: Operation, count: int) -> Scalars:
    """The body on ``count`` totals and as many elements."""

    def body(b: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        totals = elements[len(elements) - count :]
        return inlined(b, op, op.body, [*totals, *elements[:count]])

    return body


def reduce(b: Builder, op: Operation) -> Sequence[Value]:
    """Reduction along some dimensions, from an initial value."""
    count = len(op.operands) // 2
    inputs, starts = op.operands[:count], op.operands[count:]
    summed = numbers(op, "dimensions")
    rank = len(shape(inputs[0]))
    kept = [Dim(d) for d in range(rank) if d not in summed]
    outputs = [
        filled(b, start, result.type)
        for start, result in zip(starts, op.results, strict=True)
    ]
    whole = [Dim(d) for d in range(rank)]
    kinds = [REDUCTION if d in summed else PARALLEL for d in range(rank)]
    maps = [whole] * count + [kept] * count
    return generic(b, inputs, outputs, maps, kinds, _combining(op, count))


def reduce_window(b: Builder, op: Operation) -> Sequence[Value]:
    """Reduction over a sliding window, from an initial value."""
    count = len(op.operands) // 2
    starts = op.operands[count:]
    extents = numbers(op, "window_dimensions")
    rank = len(extents)
    ones, zeros = (1,) * rank, (0,) * (2 * rank)
    strides, dilations, gaps = (
        numbers(op, name) or ones
        for name in ("window_strides", "window_dilations", "base_dilations")
    )
    sides = numbers(op, "padding") or zeros
    is_plain = {*strides, *dilations, *gaps} == {1}
    scan = _scan_of(shape(op.operands[0]), extents, sides) if is_plain else None
    if scan is not None:
        return _scan(b, op, *scan)
    room = sides[::2], sides[1::2], [gap - 1 for gap in gaps]
    inputs = [
        padded(b, x, start, *room)
        for x, start in zip(op.operands[:count], starts, strict=True)
    ]
    taps = [d for d, n in enumerate(extents) if n != 1]
    under: list[AffineExpr] = [Dim(d) * stride for d, stride in enumerate(strides)]
    for n, d in enumerate(taps):
        under[d] = under[d] + Dim(rank + n) * dilations[d]
    outputs = [
        filled(b, start, result.type)
        for start, result in zip(starts, op.results, strict=True)
    ]
    own, window = (
        [Dim(d) for d in range(rank)],
        [Dim(rank + n) for n in range(len(taps))],
    )
    # Unread operand: linalg infers the window's extents from it.
    told = empty(b, tensor([extents[d] for d in taps], element_type(inputs[0].type)))
    maps = [under] * count + [window] + [own] * count
    kinds = [PARALLEL] * rank + [REDUCTION] * len(taps)
    return generic(b, [*inputs, told], outputs, maps, kinds, _combining(op, count))


def _scan_of(
    extents: Sequence[int], windows: Sequence[int], sides: Sequence[int]
) -> tuple[int, bool] | None:
    """The dimension of a scan, and whether it begins at the end; None for others.

    The window of each element holds all elements up to it, or all from it on, and
    padding: for n elements, windows of n, and n - 1 of padding on one side.

    >>> _scan_of((3, 8), (1, 8), (0, 0, 7, 0)), _scan_of((3, 8), (1, 8), (0, 0, 0, 7))
    ((1, False), (1, True))
    """
    (d, *others) = [d for d, n in enumerate(windows) if n != 1] or (None,)
    if d is None or others or windows[d] != extents[d]:
        return None
    low, high = sides[2 * d : 2 * d + 2]
    if {low, high} != {0, windows[d] - 1} or sum(sides) != windows[d] - 1:
        return None
    return d, high > 0


def _scan(
    b: Builder, op: Operation, dimension: int, is_reversed: bool
) -> Sequence[Value]:
    """Prefix or suffix combinations: one term for each element, not one for each pair.

    The specification of ``reduce`` leaves the tree of combinations and the number of
    initial values among them to the implementation, but not the order of elements.
    """
    count = len(op.operands) // 2
    inputs, starts = op.operands[:count], op.operands[count:]
    extents = shape(inputs[0])
    first = [extract(b, start) for start in starts]
    around = [d for d in range(len(extents)) if d != dimension]
    last = extents[dimension] - 1

    def nest(
        b: Builder, at: Mapping[int, Value], held: Sequence[Value]
    ) -> Sequence[Value]:
        if len(at) < len(around):
            d = around[len(at)]
            return b.carried_loop(
                0, extents[d], held, lambda i, iv, held: nest(i, {**at, d: iv}, held)
            )

        def step(i: Builder, j: Value, carried: Sequence[Value]) -> Sequence[Value]:
            place = i.index(Index.of(j) * -1 + last) if is_reversed else j
            where = [at.get(d, place) for d in range(len(extents))]
            totals, held = carried[:count], carried[count:]
            terms = [extract(i, x, where) for x in inputs]
            pairs = [*terms, *totals] if is_reversed else [*totals, *terms]
            combined = Builder(b.location)
            made = inlined(combined, op, op.body, pairs)
            i.operations += _reassociable(combined.operations)
            new = [
                i.value("tensor.insert", (value, array, *where), array.type)
                for value, array in zip(made, held, strict=True)
            ]
            return [*made, *new]

        return b.carried_loop(0, last + 1, [*first, *held], step)[count:]

    return nest(b, {}, [empty(b, result.type) for result in op.results])


def _reassociable(operations: Sequence[Operation]) -> list[Operation]:
    """The only operation of a reducer may be combined in any tree."""
    if len(operations) != 1 or kind_of(operations[0].result.type) != FLOAT:
        return [*operations]
    return [op.with_attribute("fastmath", REASSOCIABLE) for op in operations]


REDUCTION_RULES: dict[str, Rule] = {
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_window,
}
