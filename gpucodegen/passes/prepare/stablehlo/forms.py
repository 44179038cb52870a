"""What the rules build with: structured operations, tensors and constants.

A rule gets a `Builder` and an operation, and returns the values that stand for its
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen import errors
from gpucodegen.dialects import linalg
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim
from gpucodegen.ir.attributes import Attribute, DenseElementsAttr, IntegerAttr, number
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, segment_sizes
from gpucodegen.ir.types import I64, INDEX, FloatType, TensorType, Type, element_type
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
    """The extents of a tensor, all of which are known."""
    return shape_of(value.type)


def shape_of(ty: Type) -> tuple[int, ...]:
    """The extents of a tensor type, all of which are known."""
    extents = ty.shape if isinstance(ty, TensorType) else ()
    return tuple(-1 if n is None else n for n in extents)


def tensor(extents: Sequence[int], element: Type) -> TensorType:
    """A tensor type."""
    return TensorType(tuple(extents), element)


def empty(b: Builder, ty: Type) -> Value:
    """Memory of a static tensor type."""
    return b.add("tensor.empty", (), [ty])[0]


def extract(b: Builder, value: Value, at: Sequence[Value] = ()) -> Value:
    """One element of a tensor."""
    return b.add("tensor.extract", (value, *at), [element_type(value.type)])[0]


def scalar(b: Builder, value: float, ty: Type) -> Value:
    """A number."""
    attribute = number(float(value) if isinstance(ty, FloatType) else int(value), ty)
    return b.add("arith.constant", (), [ty], {"value": attribute}, hint="c")[0]


def splat(b: Builder, value: float, ty: Type) -> Value:
    """A number, or a tensor filled with it."""
    if not isinstance(ty, TensorType):
        return scalar(b, value, ty)
    kept = float(value) if isinstance(ty.element, FloatType) else int(value)
    attribute = DenseElementsAttr((kept,), ty, ty.element)
    return b.add("arith.constant", (), [ty], {"value": attribute}, hint="c")[0]


def filled(b: Builder, value: Value, ty: Type) -> Value:
    """A tensor that holds one number, given as such or as a tensor of rank 0."""
    if isinstance(value.type, TensorType):
        value = extract(b, value)
    memory = empty(b, ty)
    segments = segment_sizes([[value], [memory]])
    attributes: dict[str, Attribute] = {OPERAND_SEGMENTS: segments}
    return b.add("linalg.fill", (value, memory), [ty], attributes)[0]


def position(b: Builder, loop: int) -> Value:
    """``linalg.index``."""
    return b.add("linalg.index", (), [INDEX], {"dim": IntegerAttr(loop, I64)})[0]


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


def chosen(b: Builder, condition: Value, x: Value, y: Value) -> Value:
    """``arith.select``; a condition of rank 0 counts for all elements."""
    if shape(condition) != shape(x):
        condition = extract(b, condition)
    return b.add("arith.select", (condition, x, y), [x.type])[0]
