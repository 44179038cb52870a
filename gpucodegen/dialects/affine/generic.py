"""Generic forms of affine operations as they were written in earlier years."""

from __future__ import annotations

from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    index_attr,
)
from gpucodegen.ir.segments import OPERAND_SEGMENTS, segment_sizes
from gpucodegen.ir.types import I32, I64, TensorType

_RENAMED = {"lower_bound": "lowerBoundMap", "upper_bound": "upperBoundMap"}


def modern_for(state: State) -> None:
    """``lower_bound``, a step of another type, operands without segment sizes."""
    attributes = state.attributes
    for old, name in _RENAMED.items():
        if old in attributes:
            attributes[name] = attributes.pop(old)
    step = attributes.get("step")
    if isinstance(step, IntegerAttr):
        attributes["step"] = index_attr(step.value)
    bounds = [attributes.get(name) for name in _RENAMED.values()]
    if OPERAND_SEGMENTS not in attributes:
        counts = [b.map.num_inputs for b in bounds if isinstance(b, AffineMapAttr)]
        first, second = (*counts, 0, 0)[:2]
        values = state.operands
        groups = [values[:first], values[first : first + second]]
        groups.append(values[first + second :])
        attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


def modern_parallel(state: State) -> None:
    """Bounds without groups have one result per loop; there may be no reductions."""
    attributes = state.attributes
    attributes.setdefault("reductions", ArrayAttr(()))
    for side in ("lowerBounds", "upperBounds"):
        map_ = attributes.get(f"{side}Map")
        if f"{side}Groups" not in attributes and isinstance(map_, AffineMapAttr):
            ty = TensorType((len(map_.map.results),), I32)
            attributes[f"{side}Groups"] = DenseElementsAttr((1,), ty, I32)


def modern_delinearize(state: State) -> None:
    """Until 2024 every entry of the basis was a value."""
    if "static_basis" not in state.attributes:
        marks = (DYNAMIC_MARK,) * (len(state.operands) - 1)
        state.attributes["static_basis"] = DenseArrayAttr(I64, marks)
