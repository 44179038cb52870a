"""isl text of values computed from loop variables and parameters, by operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpucodegen.dialects import affine
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IndexType
from gpucodegen.passes.analysis.lifting.environment import Environment, Text
from gpucodegen.passes.analysis.lifting.values.expressions import map_texts, product
from gpucodegen.passes.analysis.lifting.values.views import unstated
from gpucodegen.tiling.model.isl import always_holds

Definitions = Mapping[Value, Operation]


def index_text(op: Operation, env: Environment, definitions: Definitions) -> Text:
    """The text of the operation's result, or None where it has no affine form."""
    evaluate = _TABLE.get(op.name)
    return evaluate(op, env, definitions) if evaluate and op.results else None


def _apply(op: Operation, env: Environment, definitions: Definitions) -> Text:
    del definitions
    (text,) = map_texts(affine.map_of(op), env.all_texts(op.operands))
    return text


def _constant(op: Operation, env: Environment, definitions: Definitions) -> Text:
    del env, definitions
    value = op.attributes.get("value")
    return str(value.value) if isinstance(value, IntegerAttr) else None


def _binary(
    combine: Callable[[str, str], Text],
) -> Callable[[Operation, Environment, Definitions], Text]:
    """Arithmetic on ``index``, which the model takes as unbounded integers."""

    def evaluate(op: Operation, env: Environment, definitions: Definitions) -> Text:
        del definitions
        left, right = env.all_texts(op.operands)
        if left is None or right is None or not isinstance(op.result.type, IndexType):
            return None
        return combine(left, right)

    return evaluate


def _divided(
    text: str,
) -> Callable[[Operation, Environment, Definitions], Text]:
    """Quotient or remainder of a natural number by a constant."""

    def evaluate(op: Operation, env: Environment, definitions: Definitions) -> Text:
        del definitions
        left, right = env.all_texts(op.operands)
        if left is None or right is None or not right.isdecimal() or right == "0":
            return None
        names = (*env.scope, *env.threads)
        known = [c for name in names for c in env.ranges.get(name, ())]
        natural = always_holds(f"{left} >= 0", known)
        return text.format(left, right) if natural else None

    return evaluate


def _cast(op: Operation, env: Environment, definitions: Definitions) -> Text:
    del definitions
    return env.text(op.operands[0])


def _dim(op: Operation, env: Environment, definitions: Definitions) -> Text:
    memref, index = op.operands
    memref = unstated(memref, definitions)
    defined = definitions.get(index)
    value = None if defined is None else defined.attributes.get("value")
    shape = getattr(memref.type, "shape", None)
    if not isinstance(value, IntegerAttr) or shape is None:
        return None
    if not 0 <= value.value < len(shape) or memref in env.views:
        return None
    extent = shape[value.value]
    return env.extent(memref, value.value) if extent is None else str(extent)


def _extreme(
    function: str,
) -> Callable[[Operation, Environment, Definitions], Text]:
    """``affine.min`` and ``affine.max``."""

    def evaluate(op: Operation, env: Environment, definitions: Definitions) -> Text:
        del definitions
        texts = map_texts(affine.map_of(op), env.all_texts(op.operands))
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            return None
        return known[0] if len(known) == 1 else f"{function}({', '.join(known)})"

    return evaluate


_TABLE: dict[str, Callable[[Operation, Environment, Definitions], Text]] = {
    "affine.apply": _apply,
    "affine.min": _extreme("min"),
    "affine.max": _extreme("max"),
    "arith.constant": _constant,
    "arith.addi": _binary(lambda a, b: f"({a} + {b})"),
    "arith.subi": _binary(lambda a, b: f"({a} - ({b}))"),
    "arith.muli": _binary(product),
    **dict.fromkeys(("arith.divui", "arith.divsi"), _divided("floor(({})/{})")),
    **dict.fromkeys(("arith.remui", "arith.remsi"), _divided("(({}) mod {})")),
    "arith.index_cast": _cast,
    "memref.dim": _dim,
}
