"""Fusion of scans with the parallel loops before and after them, within a row.

    for i {                                  for i {
      for j { t[j] = f(x[i, j]) }              for j iter_args(s) {
      for j iter_args(s) {               =>      t[j] = f(x[i, j])
        u[j] = s + t[j]; yield u[j] }            u[j] = s + t[j]
      for j { y[i, j] = g(u[j]) } }              y[i, j] = g(u[j]); yield u[j] } }

A scan carries its running totals and stores in each iteration.  The condition is that
of `fusion`: no dependence is reversed, which `check_fusion` decides with all loops
around.  The fused loop remains a scan, as the other one is parallel and carries
nothing.  `contract-arrays` removes what only one iteration then uses, t and u.
Where t is stored, or u read, from its end on, the parallel loop runs backward, which
changes no result of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.indexing import Index, rewrite_maps
from gpucodegen.passes.loops.fusion import Fuser
from gpucodegen.passes.nests.loop_names import FOR
from gpucodegen.passes.nests.loop_rewriting import in_block_of
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.legality import Refusal


@dataclass(frozen=True, slots=True)
class FuseScans(ModulePass):
    """Fuse scans with neighbours that use the same arrays, inside of other loops.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<8x9xf32>, %s: f32) {
    ...   affine.for %i = 0 to 8 {
    ...     %total = affine.for %j = 0 to 9 iter_args(%t = %s) -> (f32) {
    ...       %a = affine.load %A[%i, %j] : memref<8x9xf32>
    ...       %b = arith.addf %t, %a : f32
    ...       affine.store %b, %A[%i, %j] : memref<8x9xf32>
    ...       affine.yield %b : f32
    ...     }
    ...     affine.for %k = 0 to 9 {
    ...       %a = affine.load %A[%i, %k] : memref<8x9xf32>
    ...       %b = arith.negf %a : f32
    ...       affine.store %b, %A[%i, %k] : memref<8x9xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> str(FuseScans().apply(module)).count("affine.for")
    2
    """

    name: ClassVar[str] = "fuse-scans"
    looks_for: ClassVar[frozenset[str]] = frozenset({FOR})

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def block(operations: Sequence[Operation]) -> list[Operation]:
            current = list(operations)
            for at in range(len(current)):
                before = current[:at]
                while (made := _fused(current[at], before, surroundings)) is not None:
                    current[at] = made
            return current

        return in_functions(module, lambda op: [with_blocks(op, block)])


def is_scan(op: Operation) -> bool:
    """Whether an innermost loop carries values and stores in each iteration."""
    return bool(op.results) and _is_innermost(op) and _stores(op)


def _stores(op: Operation) -> bool:
    return any(inner.name == "affine.store" for inner in op.body.operations)


def _is_innermost(op: Operation) -> bool:
    return op.name == FOR and not any(inner.regions for inner in op.body.operations)


def _fused(
    root: Operation, before: Sequence[Operation], surroundings: Surroundings
) -> Operation | None:
    """A nest with one scan fused with a neighbour, if there is one to fuse."""
    for loop in (op for op in root.walk() if op.name == FOR and not _is_innermost(op)):
        operations = loop.body.operations
        loops = [n for n, op in enumerate(operations) if op.name == FOR]
        for first, second in pairwise(loops):
            ends = operations[first], operations[second]
            if not _are_alike(ends):
                continue
            (other,) = (op for op in ends if not is_scan(op))
            if not analyse([root], before, surroundings).is_parallel(other):
                continue
            for turned in filter(None, (other, _backward(other))):
                block = [turned if op is other else op for op in operations]
                whole = in_block_of(root, other, lambda _, block=block: block)
                fuser = Fuser(before, whole, surroundings, depth=1)
                made = fuser.fused(block, first, second)
                if not isinstance(made, Refusal):
                    return in_block_of(root, other, lambda _, made=made: made)
    return None


def _backward(op: Operation) -> Operation | None:
    """A parallel loop from its last iteration to its first, if only accesses count."""
    loop = affine.For(op)
    body, bounds = op.body.operations, loop.constant_bounds
    is_counted = any(loop.iv in o.operands for o in body if o.name not in _REWRITTEN)
    if bounds is None or loop.step != 1 or is_counted:
        return None
    turned = Index.of(loop.iv) * -1 + (sum(bounds) - 1)
    return op.with_body([rewrite_maps(o, {loop.iv: turned}) for o in body])


_REWRITTEN = frozenset({*affine.ACCESSES, "affine.apply"})


def _are_alike(ends: tuple[Operation, Operation]) -> bool:
    """A scan and an innermost loop that carries nothing, which share an array."""
    used = [{v for op in end.walk() for v in op.used if is_memref(v)} for end in ends]
    is_pair = sorted(map(is_scan, ends)) == [False, True]
    others = (op for op in ends if not is_scan(op))
    return (
        is_pair
        and all(_is_innermost(op) and not op.results for op in others)
        and not used[0].isdisjoint(used[1])
    )
