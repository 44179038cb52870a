"""Distribution: a loop becomes one loop per part of its body, as many as is legal.

Parts that depend on each other in a cycle, and those that share a scalar, stay
together; the others run one after the other
(`gpucodegen.tiling.schedule.distribution`). Constants and index arithmetic are repeated
in each part that needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, clone
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import Analysis
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.chains import is_repeatable
from gpucodegen.passes.loops.framework.naming import Site, find_loops, functions, sites
from gpucodegen.passes.loops.framework.replacement import Replacement
from gpucodegen.passes.loops.framework.rewriting import rewrite_loops
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.distribution import distribution

Part = tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Distribute(ModulePass):
    """Distribute a loop over its body; default: all loops, inner ones first.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %B: memref<9xf32>, %v: f32) {
    ...   affine.for %i = 0 to 8 {
    ...     %x = affine.load %A[%i] : memref<9xf32>
    ...     affine.store %x, %B[%i] : memref<9xf32>
    ...     affine.store %v, %A[%i + 1] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Distribute().apply(module))
    module {
      func.func @f(%A: memref<9xf32>, %B: memref<9xf32>, %v: f32) {
        affine.for %i = 0 to 8 {
          affine.store %v, %A[%i + 1] : memref<9xf32>
        }
        affine.for %i = 0 to 8 {
          %x = affine.load %A[%i] : memref<9xf32>
          affine.store %x, %B[%i] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "distribute"
    function: str = ""
    loop: str = ""

    def apply(self, module: Module) -> Module:
        """Distribute; a named loop that carries values is refused."""
        if self.loop:
            chosen = find_loops(module, self.function, self.loop)
            for site in chosen:
                refusal = _refusal_of(site.loop)
                what = f"distribution of the loop at {site.shown}"
                legality.demand(refusal, site.loop, what)
            return _distributed(module, chosen)
        names = [
            (function.attributes["sym_name"], site.path)
            for function in functions(module, self.function)
            for site in sites(function)
        ]
        for name, path in reversed(names):
            again = [
                site
                for function in functions(module, self.function)
                if function.attributes["sym_name"] == name
                for site in sites(function)
                if site.path == path and _refusal_of(site.loop) is None
            ]
            module = _distributed(module, again)
        return module


def _refusal_of(op: Operation) -> Refusal | None:
    return legality.without_carried_values([op]) or legality.without_copies([op])


def _distributed(module: Module, chosen: Sequence[Site]) -> Module:
    surroundings = Surroundings.of(module)

    def transform(site: Site, op: Operation) -> Replacement | None:
        parts = _parts(op)
        if len(parts) < 2:
            return None
        analysis = legality.analysed(site, op, surroundings, fine=True)
        (loop,) = legality.lifted_loops(analysis, [op])
        pieces = [_accesses(analysis, part) for part in parts]
        groups = distribution(analysis.dependences, loop, pieces)
        if len(groups) < 2:
            return None
        return Replacement(
            tuple(_over(op, [parts[number] for number in group]) for group in groups)
        )

    return rewrite_loops(module, chosen, transform)


def _parts(op: Operation) -> list[Part]:
    """Operations of the body that share no scalar, without what may be repeated."""
    parts: list[list[Operation]] = []
    for inner in op.body.operations[:-1]:
        if is_repeatable(inner):
            continue
        used = legality.used_by(inner)
        joined = [part for part in parts if any(used & set(o.results) for o in part)]
        parts = [part for part in parts if not any(part is other for other in joined)]
        parts.append([*(o for part in joined for o in part), inner])
    order = {inner: at for at, inner in enumerate(op.body.operations)}
    sorted_parts = [tuple(sorted(part, key=order.__getitem__)) for part in parts]
    return sorted(sorted_parts, key=lambda part: order[part[0]])


def _accesses(analysis: Analysis, part: Part) -> frozenset[tuple[str, int]]:
    """Statements and positions of the accesses of a part."""
    inside = {id(o) for op in part for o in op.walk()}
    return frozenset(
        (name, position)
        for name, operations in analysis.lifted.operations.items()
        for position, op in enumerate(operations)
        if id(op) in inside
    )


def _over(op: Operation, group: Sequence[Part]) -> Operation:
    """A copy of the loop over some parts of its body."""
    kept = {inner for part in group for inner in part}
    needed = {value for inner in kept for value in legality.used_by(inner)}
    body: list[Operation] = [op.body.operations[-1]]
    for inner in reversed(op.body.operations[:-1]):
        is_needed = is_repeatable(inner) and not needed.isdisjoint(inner.results)
        if inner in kept or is_needed:
            body.append(inner)
            needed |= legality.used_by(inner)
    return clone(op.with_body(reversed(body)))
