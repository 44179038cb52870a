"""StableHLO becomes linalg, tensor, arith, math and scf on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.stablehlo.operations import REFUSED
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo import (
    contractions,
    control,
    movement,
    reductions,
)
from gpucodegen.passes.prepare.stablehlo.attributes import STABLEHLO, check
from gpucodegen.passes.prepare.stablehlo.elements import elementwise
from gpucodegen.passes.prepare.stablehlo.forms import Rule, refusal
from gpucodegen.passes.prepare.stablehlo.places import (
    lookups,
    scatters,
    selected,
    sorting,
)
from gpucodegen.passes.prepare.stablehlo.signs import without_signs

RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **movement.RULES,
    **contractions.RULES,
    **reductions.RULES,
    **lookups.RULES,
    **scatters.RULES,
    **selected.RULES,
    **sorting.RULES,
    **control.RULES,
}
"""Every operation that has a meaning in linalg."""

_DIALECTS = ("stablehlo", "chlo")
_RETURN = "stablehlo.return"
"""Ends regions; the rules of the operations around them replace it."""


@dataclass(frozen=True, slots=True)
class StablehloToLinalg(ModulePass):
    """Every operation of StableHLO becomes what its rule builds.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
    ...   %zero = stablehlo.constant dense<0.0> : tensor<f32>
    ...   %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add
    ...     across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    ...   return %sum : tensor<f32>
    ... }''')
    >>> made = StablehloToLinalg().apply(module).functions["main"].body.operations
    >>> [op.name for op in made if op.dialect == "linalg"]
    ['linalg.fill', 'linalg.generic']
    """

    name: ClassVar[str] = "stablehlo-to-linalg"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations; those without a rule are refused by name."""
        found = [op for op in module.walk() if op.dialect in _DIALECTS]
        if not found:
            return module
        for op in found:
            if op.name not in RULES and op.name != _RETURN:
                raise _unknown(op)
        (root,) = rewrite_bottom_up(module.operation, _Converter().rewrite)
        return Module(without_signs(root))


@dataclass(slots=True)
class _Converter:
    """``values``: what stands for the results of operations that are gone."""

    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def rewrite(self, op: Operation) -> Sequence[Operation] | None:
        """What takes the place of an operation."""
        operands = tuple(self.values.get(v, v) for v in op.operands)
        op = op.with_(operands=operands)
        if op.dialect not in _DIALECTS or op.name == _RETURN:
            return [op]
        check(op, STABLEHLO)
        b = Builder(op.location)
        made = RULES[op.name](b, op)
        self.values.update(zip(op.results, made, strict=True))
        return b.operations


def _unknown(op: Operation) -> Exception:
    advice = REFUSED.get(op.name.partition(".")[2])
    return refusal(op, advice or "Write it with other operations of StableHLO")
