"""Attribute checks and builders shared by the rules of imported dialects.

A rule gets a `Builder` and an operation, and returns the values of its results.  Before
any rule runs, an attribute that is not listed for its operation, or whose value its
rule does not know, is refused by name.  Attributes of other dialects, such as
``mhlo.sharding``, are discardable in MLIR and are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from gpucodegen import errors
from gpucodegen.dialects import linalg
from gpucodegen.dialects.stablehlo.operations import BINARY, CHLO, UNARY
from gpucodegen.dialects.stablehlo.syntax import word
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    IntegerAttr,
    StringAttr,
    number,
)
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Value,
    segment_sizes,
    single_block,
)
from gpucodegen.ir.types import (
    I1,
    I64,
    INDEX,
    FloatType,
    TensorType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder

Rule = Callable[[Builder, Operation], Sequence[Value]]
Scalars = Callable[[Builder, Sequence[Value]], Sequence[Value]]
PARALLEL, REDUCTION = "parallel", "reduction"


def refusal(op: Operation, advice: str, part: str = "") -> errors.Error:
    """The error for an operation, or a part of it, that has no rule."""
    name = f"{op.name} with {part}" if part else op.name
    return errors.UnsupportedOperation(
        op.location, operation=name, target="linalg on tensors", advice=advice
    )


def shape(value: Value) -> tuple[int, ...]:
    """The static extents of a tensor."""
    return shape_of(value.type)


def shape_of(ty: Type) -> tuple[int, ...]:
    """The static extents of a tensor type."""
    extents = ty.shape if isinstance(ty, TensorType) else ()
    return tuple(-1 if n is None else n for n in extents)


def tensor(extents: Sequence[int], element: Type) -> TensorType:
    return TensorType(tuple(extents), element)


def empty(b: Builder, ty: Type) -> Value:
    return b.value("tensor.empty", (), ty)


def extract(b: Builder, value: Value, at: Sequence[Value] = ()) -> Value:
    return b.value("tensor.extract", (value, *at), element_type(value.type))


def scalar(b: Builder, value: float, ty: Type) -> Value:
    attribute = number(float(value) if isinstance(ty, FloatType) else int(value), ty)
    return b.value("arith.constant", (), ty, {"value": attribute}, hint="c")


def splat(b: Builder, value: float, ty: Type) -> Value:
    """A number, or a tensor filled with it."""
    if not isinstance(ty, TensorType):
        return scalar(b, value, ty)
    kept = float(value) if isinstance(ty.element, FloatType) else int(value)
    attribute = DenseElementsAttr((kept,), ty, ty.element)
    return b.value("arith.constant", (), ty, {"value": attribute}, hint="c")


def filled(b: Builder, value: Value, ty: Type) -> Value:
    """A tensor that holds one number, given as such or as a tensor of rank 0."""
    if isinstance(value.type, TensorType):
        value = extract(b, value)
    memory = empty(b, ty)
    segments = segment_sizes([[value], [memory]])
    attributes: dict[str, Attribute] = {OPERAND_SEGMENTS: segments}
    return b.value("linalg.fill", (value, memory), ty, attributes)


def position(b: Builder, loop: int) -> Value:
    return b.value("linalg.index", (), INDEX, {"dim": IntegerAttr(loop, I64)})


def dims(indices: Sequence[int]) -> list[AffineExpr]:
    """Loops by number; -1 stands for the only element of a dimension."""
    return [Dim(i) if i >= 0 else Const(0) for i in indices]


def generic(
    b: Builder,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    maps: Sequence[Sequence[AffineExpr]],
    kinds: Sequence[str],
    body: Scalars,
) -> tuple[Value, ...]:
    """``linalg.generic``; ``maps`` of inputs and outputs, ``body`` of all elements."""
    operands = (*inputs, *outputs)
    arguments = [Value(element_type(v.type), "e", b.location) for v in operands]
    inner = Builder(b.location)
    yielded = body(inner, arguments)
    made = linalg.generic(
        inputs,
        outputs,
        [AffineMap(len(kinds), 0, tuple(results)) for results in maps],
        kinds,
        arguments,
        [*inner.operations, linalg.yield_(yielded, location=b.location)],
        result_types=[v.type for v in outputs],
        location=b.location,
    )
    b.operations.append(made)
    return made.results


def mapped(
    b: Builder,
    inputs: Sequence[Value],
    maps: Sequence[Sequence[AffineExpr]],
    ty: Type,
    body: Scalars = lambda _, elements: elements[:1],
) -> Value:
    """A tensor, each element of which follows from some of the inputs."""
    rank = len(ty.shape) if isinstance(ty, TensorType) else 0
    own = [Dim(d) for d in range(rank)]
    memory = empty(b, ty)
    (result,) = generic(b, inputs, [memory], [*maps, own], [PARALLEL] * rank, body)
    return result


Step = Callable[[Builder, Sequence[Value], Sequence[Value]], Sequence[Value]]
"""Indices and tensors to the tensors after one iteration."""


def nest(
    b: Builder,
    extents: Sequence[int],
    held: Sequence[Value],
    body: Step,
    indices: Sequence[Value] = (),
) -> Sequence[Value]:
    """A loop for each extent, all of which carry the tensors."""
    if len(indices) == len(extents):
        return body(b, indices, held)

    def inside(inner: Builder, index: Value, held: Sequence[Value]) -> Sequence[Value]:
        return nest(inner, extents, held, body, [*indices, index])

    return b.carried_loop(0, extents[len(indices)], held, inside)


def with_elements(
    b: Builder, values: Sequence[Value], tensors: Sequence[Value], at: Sequence[Value]
) -> list[Value]:
    return [
        b.value("tensor.insert", (v, t, *at), t.type)
        for v, t in zip(values, tensors, strict=True)
    ]


def where(
    b: Builder,
    conditions: Sequence[Value],
    held: Sequence[Value],
    body: Callable[[Builder, Sequence[Value]], Sequence[Value]],
) -> Sequence[Value]:
    """The tensors after ``body`` where all conditions hold, else unchanged."""
    if not conditions:
        return body(b, held)
    condition = _all_of(b, conditions)
    then, other = Builder(b.location), Builder(b.location)
    then.add("scf.yield", body(then, held))
    other.add("scf.yield", held)
    regions = [single_block(branch.operations) for branch in (then, other)]
    return b.add("scf.if", (condition,), [v.type for v in held], {}, regions)


def selected(
    b: Builder, conditions: Sequence[Value], xs: Sequence[Value], ys: Sequence[Value]
) -> list[Value]:
    """The first scalars where all conditions hold, else the second ones."""
    condition = _all_of(b, conditions)
    return [
        b.value("arith.select", (condition, x, y), x.type)
        for x, y in zip(xs, ys, strict=True)
    ]


def _all_of(b: Builder, conditions: Sequence[Value]) -> Value:
    condition, *others = conditions
    for other in others:
        condition = b.value("arith.andi", (condition, other), I1)
    return condition


def chosen(b: Builder, condition: Value, x: Value, y: Value) -> Value:
    """``arith.select``; a condition of rank 0 counts for all elements."""
    if shape(condition) != shape(x):
        condition = extract(b, condition)
    return b.value("arith.select", (condition, x, y), x.type)


Accepts = Callable[[Attribute], bool]
Reads = Mapping[str, Mapping[str, Accepts]]
"""By operation and attribute: the values that the rule accepts."""


def check(op: Operation, reads: Reads) -> None:
    """Raise UnsupportedOperation for an attribute that the rule would ignore."""
    known = reads.get(op.name, {})
    for name, value in op.attributes.items():
        if "." in name:
            continue
        if name not in known:
            advice = f"Write it without {name}, by other operations if need be"
            raise refusal(op, advice, f"attribute {name}")
        if not known[name](value):
            advice = f"Use another value of {name}, or leave it out"
            raise refusal(op, advice, f"{name} = {value}")


def anything(_: Attribute) -> bool:
    """Accepts any value: the rule reads it, or it does not change the result."""
    return True


def listed(names: str) -> dict[str, Accepts]:
    """Attributes that may have any value."""
    return dict.fromkeys(names.split(), anything)


def words(*names: str) -> Accepts:
    """Words of an enumeration, or strings."""

    def accepts(value: Attribute) -> bool:
        found = value.value if isinstance(value, StringAttr) else word(value)
        return found in names

    return accepts


def fields(names: str) -> Accepts:
    """A text of ``name = value`` entries that have these names."""

    def accepts(value: Attribute) -> bool:
        return {*re.findall(r"(\w+)\s*=", str(value))} <= {*names.split()}

    return accepts


def is_zero(value: Attribute) -> bool:
    """Whether it is the number 0, or all numbers in its text are."""
    if isinstance(value, IntegerAttr):
        return value.value == 0
    return not any(int(n) for n in re.findall(r"=\s*(-?\d+)", str(value)))


def _accuracy(value: Attribute) -> bool:
    """Accepts any accuracy, as functions have only one implementation."""
    return not re.search("TOLERANCE", str(value))


_FUNCTIONS = (
    "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt"
    " sine sqrt tan tanh"
).split()
_PRECISION = {"precision_config": anything}
"""Sums of products of f32 have all bits of f32 at every precision."""
_WINDOW = "window_dimensions window_strides padding"
_STABLEHLO: dict[str, dict[str, Accepts]] = {
    **{name: {} for name in (*UNARY, *BINARY)},
    **{name: {"result_accuracy": _accuracy} for name in _FUNCTIONS},
    "compare": {
        "comparison_direction": words("EQ", "NE", "GE", "GT", "LE", "LT"),
        "compare_type": words("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    },
    "reduce_precision": listed("exponent_bits mantissa_bits"),
    "constant": listed("value"),
    "iota": listed("iota_dimension"),
    "broadcast_in_dim": listed("broadcast_dimensions"),
    "transpose": listed("permutation"),
    "reverse": listed("dimensions"),
    "slice": listed("start_indices limit_indices strides"),
    "concatenate": listed("dimension"),
    "pad": listed("edge_padding_low edge_padding_high interior_padding"),
    "dynamic_slice": listed("slice_sizes"),
    "dot": _PRECISION,
    "dot_general": {
        "dot_dimension_numbers": fields(
            "lhs_batching_dimensions rhs_batching_dimensions"
            " lhs_contracting_dimensions rhs_contracting_dimensions"
        ),
        "algorithm": anything,
        **_PRECISION,
    },
    "convolution": {
        **listed("window_strides padding lhs_dilation rhs_dilation window_reversal"),
        **listed("dimension_numbers feature_group_count batch_group_count"),
        **_PRECISION,
    },
    "reduce": listed("dimensions"),
    "reduce_window": listed(f"{_WINDOW} base_dilations window_dilations"),
    "select_and_scatter": listed(_WINDOW),
    "sort": listed("dimension is_stable"),
    "fft": listed("fft_type fft_length"),
    "cholesky": listed("lower"),
    "triangular_solve": listed("left_side lower unit_diagonal transpose_a"),
    "composite": listed("name composite_attributes decomposition version"),
    # Layouts say how XLA stores arrays, aliases and effects what it may reorder.
    "custom_call": listed(
        "call_target_name backend_config api_version has_side_effect operand_layouts"
        " result_layouts output_operand_aliases"
    ),
    # Whether indices are sorted or unique says what a rule may assume; none does.
    "gather": {
        "dimension_numbers": fields(
            "offset_dims collapsed_slice_dims operand_batching_dims"
            " start_indices_batching_dims start_index_map index_vector_dim"
        ),
        **listed("slice_sizes indices_are_sorted"),
    },
    "scatter": {
        "scatter_dimension_numbers": fields(
            "update_window_dims inserted_window_dims input_batching_dims"
            " scatter_indices_batching_dims scatter_dims_to_operand_dims"
            " index_vector_dim"
        ),
        **listed("indices_are_sorted unique_indices"),
    },
}
STABLEHLO: Reads = {
    **{f"stablehlo.{name}": known for name, known in _STABLEHLO.items()},
    **{f"chlo.{name}": {} for name in CHLO},
    "chlo.top_k": listed("k"),
}
