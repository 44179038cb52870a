"""Arithmetic on elements: StableHLO's rules, after operands are broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.stablehlo.syntax import enumeration
from gpucodegen.dialects.tosa import COMPARED, ELEMENTWISE, chosen_word
from gpucodegen.ir.attributes import Attribute, FloatAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, IntegerType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements import elementwise as stablehlo
from gpucodegen.passes.prepare.stablehlo.elements.table import compared
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    chosen,
    dims,
    mapped,
    shape,
    shape_of,
    splat,
)


def spread(b: Builder, value: Value, ty: Type) -> Value:
    """An operand in the shape of the result: dimensions of 1 are repeated."""
    wanted = with_element(ty, element_type(value.type))
    if wanted == value.type:
        return value
    pairs = enumerate(zip(shape(value), shape_of(ty), strict=True))
    kept = [-1 if n == 1 and m != 1 else d for d, (n, m) in pairs]
    return mapped(b, [value], [dims(kept)], wanted)


def computed(
    b: Builder,
    name: str,
    operands: Sequence[Value],
    ty: Type,
    attributes: dict[str, Attribute] | None = None,
) -> Value:
    """What an operation of StableHLO gives for operands of the result's shape."""
    full = f"stablehlo.{name}"
    op = Operation(
        full, tuple(operands), (Value(ty),), attributes or {}, (), location=b.location
    )
    (value,) = stablehlo.RULES[full](b, op)
    return value


def _same(name: str) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        ty = op.result.type
        return [computed(b, name, [spread(b, v, ty) for v in op.operands], ty)]

    return rule


def ignores_nan(op: Operation, ty: Type) -> bool:
    """Whether numbers win over NaN: ``nan_mode``, which only floats have."""
    is_float = isinstance(element_type(ty), FloatType)
    return is_float and chosen_word(op, "nan_mode") == "IGNORE"


def _extreme(name: str) -> Rule:
    """``maximum`` or ``minimum``."""

    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        ty = op.result.type
        if not ignores_nan(op, ty):
            return _same(name)(b, op)
        operands = [spread(b, v, ty) for v in op.operands]
        return b.add(f"arith.{name[:3]}numf", operands, [ty])

    return rule


def _compared(direction: str) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        operands = [spread(b, v, op.result.type) for v in op.operands]
        chosen = {
            "comparison_direction": enumeration("comparison_direction", direction)
        }
        return [computed(b, "compare", operands, op.result.type, dict(chosen))]

    return rule


def _cast(b: Builder, op: Operation) -> Sequence[Value]:
    """Floats become the nearest integer, ties to even."""
    (x,) = op.operands
    target = element_type(op.result.type)
    is_float = isinstance(element_type(x.type), FloatType)
    if is_float and isinstance(target, IntegerType) and target.width > 1:
        x = computed(b, "round_nearest_even", [x], x.type)
    return [computed(b, "convert", [x], op.result.type)]


def _reciprocal(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    return [computed(b, "divide", [splat(b, 1, x.type), x], x.type)]


def _erf(b: Builder, op: Operation) -> Sequence[Value]:
    return b.add("math.erf", op.operands, [op.result.type])


_BOUNDS = {
    FloatType: (("min_val", "max_val"), ("min_fp", "max_fp")),
    IntegerType: (("min_val", "max_val"), ("min_int", "max_int")),
}


def _clamp(b: Builder, op: Operation) -> Sequence[Value]:
    """Between two numbers; ``IGNORE`` takes the lower one for NaN."""
    (x,) = op.operands
    element = type(element_type(x.type))
    pairs = _BOUNDS[FloatType if element is FloatType else IntegerType]
    low, high = next(p for p in pairs if p[0] in op.attributes)
    bounds = [splat(b, _number(op.attributes[name]), x.type) for name in (low, high)]
    made = computed(b, "clamp", [bounds[0], x, bounds[1]], x.type)
    if not ignores_nan(op, x.type):
        return [made]
    return [chosen(b, compared(b, "uno", x, x), bounds[0], made)]


def _number(value: Attribute) -> float:
    return value.value if isinstance(value, FloatAttr | IntegerAttr) else 0


RULES: dict[str, Callable[[Builder, Operation], Sequence[Value]]] = {
    **{f"tosa.{name}": _same(other) for name, other in ELEMENTWISE.items()},
    **{f"tosa.{name}": _compared(word) for name, word in COMPARED.items()},
    "tosa.maximum": _extreme("maximum"),
    "tosa.minimum": _extreme("minimum"),
    "tosa.cast": _cast,
    "tosa.reciprocal": _reciprocal,
    "tosa.erf": _erf,
    "tosa.clamp": _clamp,
}
