"""Conversion of TOSA to linalg, tensor, arith and math on tensors.

Branches and loops use the rules of StableHLO.  Attributes are read in the spelling of
every TOSA version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.tosa import REFUSED
from gpucodegen.ir.attributes import DenseArrayAttr, DenseElementsAttr, TypeAttr
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import I64, FloatType, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo import convert
from gpucodegen.passes.prepare.stablehlo.convert import without_signs
from gpucodegen.passes.prepare.stablehlo.forms import (
    Accepts,
    Reads,
    Rule,
    check,
    is_zero,
    listed,
    refusal,
    words,
)
from gpucodegen.passes.prepare.stablehlo.movement import reshaped
from gpucodegen.passes.prepare.tosa import elementwise, shapes, windows
from gpucodegen.records import dataclass

_NAN = {"nan_mode": words("PROPAGATE", "IGNORE")}
_ZEROS: dict[str, Accepts] = dict.fromkeys(
    (
        "quantization_info input_zp weight_zp output_zp input1_zp a_zp b_zp kernel_zp"
    ).split(),
    is_zero,
)
"""Zero points as attributes (operands in recent versions); 0 is the default."""
_SUMS = {**listed("acc_type stride pad local_bound"), **_ZEROS}
"""``local_bound`` bounds errors further than sums of products exceed anyway."""
_CONVOLUTION = {**_SUMS, **listed("dilation")}
_READS: dict[str, dict[str, Accepts]] = {
    "argmax": {**listed("axis"), **_NAN},
    "arithmetic_right_shift": listed("round"),
    "avg_pool2d": {**_SUMS, **listed("kernel")},
    "clamp": {**listed("min_val max_val min_int max_int min_fp max_fp"), **_NAN},
    "concat": listed("axis"),
    "const": listed("values value"),
    "const_shape": listed("values value"),
    "conv2d": _CONVOLUTION,
    "conv3d": _CONVOLUTION,
    "depthwise_conv2d": _CONVOLUTION,
    "fully_connected": _ZEROS,
    "matmul": _ZEROS,
    "max_pool2d": {**listed("kernel stride pad"), **_NAN},
    "maximum": _NAN,
    "minimum": _NAN,
    "mul": listed("shift"),
    "negate": _ZEROS,
    "pad": {**listed("padding"), **_ZEROS},
    **{f"reduce_{kind}": listed("axis") for kind in "all any prod product sum".split()},
    "reduce_max": {**listed("axis"), **_NAN},
    "reduce_min": {**listed("axis"), **_NAN},
    "rescale": {
        **listed("input_zp output_zp multiplier shift scale32 double_round"),
        **listed("per_channel input_unsigned output_unsigned"),
        "rounding_mode": words("SINGLE_ROUND", "DOUBLE_ROUND", "INEXACT_ROUND"),
    },
    "reshape": listed("new_shape"),
    # The border only determines the result's extents, which its type states.
    "resize": {
        **listed("scale offset border"),
        "mode": words("NEAREST_NEIGHBOR", "NEAREST", "BILINEAR"),
    },
    "reverse": listed("axis"),
    "slice": listed("start size"),
    "tile": listed("multiples"),
    "transpose": listed("perms"),
    # So does out_shape.
    "transpose_conv2d": {**_SUMS, **listed("out_pad out_shape")},
}
TOSA: Reads = {f"tosa.{name}": known for name, known in _READS.items()}


def _cond_if(b: Builder, op: Operation) -> Sequence[Value]:
    """Branches get the operands after the condition as their arguments, or none."""
    condition, *given = op.operands
    regions = tuple(_bound(region.blocks[0], given) for region in op.regions)
    number = reshaped(b, condition, ())
    return convert.if_(b, op.with_(operands=(number,), regions=regions))


def _bound(block: Block, given: Sequence[Value]) -> Region:
    known = dict(zip(block.arguments, given, strict=False))
    operations = tuple(substitute_values(op, known) for op in block.operations)
    return Region((Block((), operations),))


def _while_loop(b: Builder, op: Operation) -> Sequence[Value]:
    """The condition region yields a tensor of one element."""
    first, *others = op.regions
    block = first.blocks[0]
    *body, end = block.operations
    inner = Builder(end.location, body)
    asked = reshaped(inner, end.operands[0], ())
    block = block.with_operations([*inner.operations, end.with_(operands=(asked,))])
    return convert.while_(b, op.with_(regions=(Region((block,)), *others)))


CONTROL_RULES: dict[str, Rule] = {
    "tosa.cond_if": _cond_if,
    "tosa.while_loop": _while_loop,
}


RULES: dict[str, Rule] = {
    **elementwise.ELEMENTWISE_RULES,
    **shapes.SHAPE_RULES,
    **windows.WINDOW_RULES,
    **elementwise.QUANTIZED_RULES,
    **windows.IMAGE_RULES,
    **CONTROL_RULES,
    **shapes.REDUCTION_RULES,
}
"""Every operation that has a meaning in linalg."""

_LISTS = {
    "tosa.transpose": ("perms",),
    "tosa.pad": ("padding",),
    "tosa.slice": ("start", "size"),
    "tosa.reshape": ("new_shape",),
    "tosa.tile": ("multiples",),
    "tosa.resize": ("scale", "offset", "border"),
}
"""Operands that are lists of numbers, which are attributes in other versions."""
_ZERO_POINTS = {
    "tosa.matmul": 2,
    "tosa.fully_connected": 3,
    "tosa.conv2d": 3,
    "tosa.conv3d": 3,
    "tosa.depthwise_conv2d": 3,
    "tosa.transpose_conv2d": 3,
    "tosa.avg_pool2d": 1,
    "tosa.negate": 1,
    "tosa.mul": 2,
}
"""The first operand that is a zero point, or a shift; none if all are zero."""


@dataclass(frozen=True, slots=True)
class TosaToLinalg(ModulePass, name="tosa-to-linalg", looks_for="tosa"):
    """Convert TOSA to linalg, tensor, arith, math and scf.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
    ...   %y = tosa.reduce_sum %x {axis = 1 : i32}
    ...     : (tensor<2x3xf32>) -> tensor<2x1xf32>
    ...   return %y : tensor<2x1xf32>
    ... }''')
    >>> made = TosaToLinalg().apply(module).functions["f"].body.operations
    >>> [op.name for op in made if op.dialect == "linalg"]
    ['linalg.fill', 'linalg.generic', 'linalg.generic']
    """

    def apply(self, module: Module) -> Module:
        """Rewrite all operations; those without a rule are refused by name."""
        if not any(op.dialect == "tosa" for op in module.walk()):
            return module
        (root,) = rewrite_bottom_up(module.operation, _Converter().rewrite)
        return Module(without_signs(root))


def _summed(rule: Rule, b: Builder, op: Operation) -> Sequence[Value]:
    """The results of a rule, computed in the accumulator type."""
    wanted = op.attributes.get("acc_type")
    kind = wanted.type if isinstance(wanted, TypeAttr) else None
    if kind is None or kind == element_type(op.result.type):
        return rule(b, op)
    if not isinstance(kind, FloatType):
        raise refusal(op, f"Give the result the elements {kind}", f"acc_type = {kind}")
    wide = Value(with_element(op.result.type, kind))
    made = rule(b, op.with_(results=(wide,)))
    return [elementwise.computed(b, "convert", made, op.result.type)]


@dataclass(slots=True)
class _Converter:
    """``values``: the replacements of results; ``known`` constants."""

    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    known: dict[Value, Operation] = field(default_factory=dict[Value, Operation])

    def rewrite(self, op: Operation) -> Sequence[Operation] | None:
        operands = tuple(self.values.get(v, v) for v in op.operands)
        if op.dialect != "tosa" or op.name == "tosa.yield":
            return [op.with_(operands=operands)]
        if op.name in RULES or op.name == "tosa.const_shape":
            check(op, TOSA)
        if op.name in ("tosa.const", "tosa.const_shape"):
            self.known[op.result] = op
        if op.name == "tosa.const_shape":
            return []
        op = self._with_lists(op)
        rule = RULES.get(op.name)
        if rule is None:
            advice = REFUSED.get(op.name.partition(".")[2])
            raise refusal(op, advice or "Write it with other operations of TOSA")
        operands = tuple(self.values.get(v, v) for v in op.operands)
        b = Builder(op.location)
        made = _summed(rule, b, op.with_(operands=operands))
        self.values.update(zip(op.results, made, strict=True))
        return b.operations

    def _with_lists(self, op: Operation) -> Operation:
        """The operation with lists as attributes, and without zero points of 0."""
        kept = list(op.operands)
        for name in _LISTS.get(op.name, ()):
            given = next((v for v in kept[1:] if self._is_list(op, v)), None)
            if name not in op.attributes and given is not None:
                entries = self._numbers(given)
                op = op.with_attribute(name, DenseArrayAttr(I64, entries))
                kept.remove(given)
            elif name not in op.attributes and name not in ("new_shape", "multiples"):
                raise refusal(op, "Write it as tosa.const", f"a computed {name}")
        first = _ZERO_POINTS.get(op.name, len(kept))
        if all(v in self.known and not any(self._numbers(v)) for v in kept[first:]):
            kept = kept[:first]
        return op.with_(operands=tuple(kept))

    def _is_list(self, op: Operation, value: Value) -> bool:
        """Whether it is a list, not the number that fills a pad."""
        is_shape = value in self.known and self.known[value].name == "tosa.const_shape"
        first = value is op.operands[1]
        return is_shape or (value in self.known and (first or op.name == "tosa.slice"))

    def _numbers(self, value: Value) -> tuple[int, ...]:
        op = self.known[value]
        name = "values" if "values" in op.attributes else "value"
        literal = op.attributes.get(name)
        if isinstance(literal, DenseElementsAttr) and any(
            isinstance(n, float) for n in literal.values
        ):
            return tuple(int(bool(n)) for n in literal.values)
        return numbers(op, name)
