"""Loop interchange: a permutation of perfectly nested loops.

Legal iff no dependence within the nest gets a lexicographically negative distance:

    { d : x -> y in dependences, d_o = 0, d' lexicographically negative } = {}

with o the loops around the nest and d' the distances in the new order.  A distance of
(1, -1) forbids the exchange of its two loops, one of (1, 0) does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.loops.carried_cells import own_values, through_cells
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.loop_names import Site, find_loops, loop_name
from gpucodegen.passes.nests.loop_ranges import chain_of, rebuilt, sunk
from gpucodegen.passes.nests.loop_rewriting import (
    Replacement,
    chosen_loops,
    is_outermost,
    rewrite_loops,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.legality import Refusal, check_interchange


@dataclass(frozen=True, slots=True)
class Interchange(ModulePass):
    """Run the loops of a nest in another order, given by names or positions.

    ``loop`` is the outermost loop of the nest; without it, and without names, all
    outermost nests are meant.  ``relaxed`` permits another order of accumulations.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<9x9xf32>, %v: f32) {
    ...   affine.for %i = 0 to 8 {
    ...     affine.for %j = 1 to 9 {
    ...       affine.store %v, %A[%j, %i] : memref<9x9xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> print(Interchange(order=("j", "i")).apply(module))
    module {
      func.func @f(%A: memref<9x9xf32>, %v: f32) {
        affine.for %j = 1 to 9 {
          affine.for %i = 0 to 8 {
            affine.store %v, %A[%j, %i] : memref<9x9xf32>
          }
        }
        return
      }
    }
    """

    name: ClassVar[str] = "interchange"
    order: tuple[str, ...] = ("1", "0")
    function: str = ""
    loop: str = ""
    relaxed: bool = False

    def apply(self, module: Module) -> Module:
        """Interchange, or raise IllegalTransformation with a witness."""
        chosen = self._chosen(module)
        for site in chosen:
            what = f"order ({', '.join(self.order)}) of the loops at {site.shown}"
            chain = self._chain(site.loop)
            loop_names.demand(own_values(chain), site.loop, what)
        return through_cells(module, chosen, self._chain, self._reordered)

    def _chain(self, op: Operation) -> list[Operation]:
        return chain_of(sunk(op), len(self.order))

    def _reordered(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def transform(site: Site, op: Operation) -> Replacement:
            nest = sunk(op)
            chain = chain_of(nest, len(self.order))
            what = f"order ({', '.join(self.order)}) of the loops at {site.shown}"
            analysis = loop_names.analysed(site, nest, surroundings)
            order = self._positions(chain)
            refusal = refusal_of(analysis, chain, order, relaxed=self.relaxed)
            loop_names.demand(refusal, op, what)
            return Replacement((interchanged(chain, order),))

        return rewrite_loops(module, self._chosen(module), transform)

    def _chosen(self, module: Module) -> list[Site]:
        named = [name for name in self.order if not name.isdigit()]
        if self.loop or not named:
            return chosen_loops(module, self.function, self.loop, is_outermost)
        return _outermost([find_loops(module, self.function, name) for name in named])

    def _positions(self, chain: Sequence[Operation]) -> list[int]:
        names = [loop_name(op) for op in chain]
        found = [
            names.index(name) if name in names else int(name) if name.isdigit() else -1
            for name in self.order
        ]
        if sorted(found) != list(range(len(chain))):
            raise errors.InvalidPassOption(
                chain[0].location,
                name=self.name,
                problem=f"order ({', '.join(self.order)}) does not name each of the "
                f"perfectly nested loops ({loop_names.shown(chain)}) once",
                hint="Give the new order of all loops by names or positions",
            )
        return found


def refusal_of(
    analysis: NestAnalysis,
    chain: Sequence[Operation],
    order: Sequence[int],
    *,
    relaxed: bool = False,
) -> Refusal | None:
    """Why the chain may not run in this order of its positions."""
    return (
        loop_names.without_carried_values(chain)
        or loop_names.without_copies(chain[:1])
        or _bounds_out_of_scope(chain, order)
        or _reversed(analysis, chain, order, relaxed=relaxed)
    )


def _reversed(
    analysis: NestAnalysis,
    chain: Sequence[Operation],
    order: Sequence[int],
    *,
    relaxed: bool,
) -> Refusal | None:
    loops = loop_names.lifted_loops(analysis, chain)
    names = [loops[position].name for position in order]
    return check_interchange(analysis.dependences, loops, names, relaxed=relaxed)


def _bounds_out_of_scope(
    chain: Sequence[Operation], order: Sequence[int]
) -> Refusal | None:
    """Refuse where a bound would stand outside the loop it depends on."""
    variables = {affine.For(op).iv: op for op in chain}
    for place, position in enumerate(order):
        around = [chain[p] for p in order[:place]]
        for value in loop_names.bound_values(chain[position]):
            needed = variables.get(value)
            if needed is not None and needed not in around:
                inner, outer = loop_name(chain[position]), loop_name(needed)
                return Refusal(f"the bounds of loop {inner} depend on loop {outer}")
    return None


def interchanged(chain: Sequence[Operation], order: Sequence[int]) -> Operation:
    """The loops in another order around the same body; nothing is checked."""
    return rebuilt([chain[p] for p in order], chain[-1].body.operations)


def _outermost(named: Sequence[Sequence[Site]]) -> list[Site]:
    """Per function the outermost of the loops found for the names."""
    first: dict[Operation, Site] = {}
    for site in (site for found in named for site in found):
        known = first.setdefault(site.function, site)
        if len(site.path) < len(known.path):
            first[site.function] = site
    return list(first.values())
