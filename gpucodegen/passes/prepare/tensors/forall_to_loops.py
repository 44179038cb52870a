"""``scf.forall`` over memory as loops; what is proven of them makes them parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import DYNAMIC_MARK, Mixed
from gpucodegen.dialects.scf.syntax import BOUNDS
from gpucodegen.ir.operation import (
    Operation,
    Value,
    operand_segments,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.nests import nest


@dataclass(frozen=True, slots=True)
class ForallToLoops(ModulePass):
    """``scf.forall`` without shared outputs becomes a nest of ``scf.for``.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<8xf32>, %v: f32) {
    ...   scf.forall (%i) in (8) {
    ...     memref.store %v, %A[%i] : memref<8xf32>
    ...   }
    ...   return
    ... }''')
    >>> "scf.for " in str(ForallToLoops().apply(module))
    True
    """

    name: ClassVar[str] = "forall-to-loops"

    def apply(self, module: Module) -> Module:
        """Rewrite every loop."""
        (root,) = rewrite_bottom_up(module.operation, _loops)
        return Module(root)


def _loops(op: Operation) -> Sequence[Operation] | None:
    if op.name != "scf.forall" or op.results:
        return None
    b = Builder(op.location)
    lower, upper, step = _bounds(op)

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        mapping = dict(zip(op.body.arguments, ivs, strict=True))
        operations = op.body.operations[:-1]
        inner.operations += [substitute_values(o, mapping) for o in operations]

    nest(b, list(zip(lower, upper, step, strict=True)), body)
    return b.operations


def _bounds(op: Operation) -> Iterator[list[Mixed]]:
    for name, values in zip(BOUNDS, operand_segments(op, 4), strict=False):
        dynamic = iter(values)
        yield [next(dynamic) if n == DYNAMIC_MARK else n for n in op.numbers(name)]
