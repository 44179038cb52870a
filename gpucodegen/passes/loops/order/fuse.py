"""Fusion: neighbouring loops with the same bounds become one.

Producer and consumer, or siblings that read the same data.  What is legal: `fusion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import with_blocks
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.naming import FOR, Site, find_loops, functions
from gpucodegen.passes.loops.framework.rewriting import in_block_of
from gpucodegen.passes.loops.order.fusion import Fuser
from gpucodegen.tiling.proof.legality import Refusal


@dataclass(frozen=True, slots=True)
class Fuse(ModulePass):
    """Fuse the two ``loops``, ``depth`` loops deep or, for 0, as deep as is legal.

    Without ``loops`` all neighbours in a function's body that may be fused are, which
    refuses nothing.  ``relaxed`` permits another order of accumulations.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %B: memref<9xf32>) {
    ...   affine.for %i = 0 to 9 {
    ...     %x = affine.load %A[%i] : memref<9xf32>
    ...     affine.store %x, %B[%i] : memref<9xf32>
    ...   }
    ...   affine.for %k = 0 to 9 {
    ...     %y = affine.load %B[%k] : memref<9xf32>
    ...     affine.store %y, %A[%k] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Fuse(loops=("i", "k")).apply(module))
    module {
      func.func @f(%A: memref<9xf32>, %B: memref<9xf32>) {
        affine.for %i = 0 to 9 {
          %x = affine.load %A[%i] : memref<9xf32>
          affine.store %x, %B[%i] : memref<9xf32>
          %y = affine.load %B[%i] : memref<9xf32>
          affine.store %y, %A[%i] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "fuse"
    loops: tuple[str, ...] = ()
    depth: int = 0
    function: str = ""
    relaxed: bool = False

    def apply(self, module: Module) -> Module:
        """Fuse, or raise IllegalTransformation with both places and a witness."""
        surroundings = Surroundings.of(module)
        if self.loops:
            for first, second in self._pairs(module):
                module = self._named(module, first, second, surroundings)
            return module
        chosen = functions(module, self.function)

        def everywhere(operations: Sequence[Operation]) -> list[Operation]:
            return _all_neighbours(operations, self._fuser((), None, surroundings))

        (root,) = rewrite_bottom_up(
            module.operation,
            lambda op: [with_blocks(op, everywhere)] if op in chosen else None,
        )
        return Module(root)

    def _pairs(self, module: Module) -> list[tuple[Site, Site]]:
        if len(self.loops) != 2:
            raise errors.InvalidPassOption(
                name=self.name,
                problem=f"'loops' holds {len(self.loops)} names",
                hint="Name two loops of one block, as in fuse{loops=[i,k]}",
            )
        found = [find_loops(module, self.function, name) for name in self.loops]
        later = {site.function: site for site in found[1]}
        return [(s, later[s.function]) for s in found[0] if s.function in later]

    def _named(
        self, module: Module, first: Site, second: Site, surroundings: Surroundings
    ) -> Module:
        what = f"fusion of the loops at {first.shown} and {second.shown}"

        def block(operations: Sequence[Operation]) -> Sequence[Operation]:
            if second.loop not in operations or first.loop is second.loop:
                refusal = Refusal("they are not two loops of one block")
                legality.demand(refusal, second.loop, what)
            start, end = sorted(operations.index(s.loop) for s in (first, second))
            root = first.root if first.around else None
            fuser = self._fuser(first.before, root, surroundings)
            made = fuser.fused(operations, start, end)
            if isinstance(made, Refusal):
                legality.demand(made, second.loop, what)
                return operations
            return made

        return Module(in_block_of(module.operation, first.loop, block))

    def _fuser(
        self,
        before: Sequence[Operation],
        root: Operation | None,
        surroundings: Surroundings,
    ) -> Fuser:
        return Fuser(before, root, surroundings, self.depth, self.relaxed)


def _all_neighbours(operations: Sequence[Operation], fuser: Fuser) -> list[Operation]:
    """The block with each loop fused with all later ones that may join it."""
    current = list(operations)
    refused: set[tuple[Operation, Operation]] = set()
    while True:
        loops = [at for at, op in enumerate(current) if op.name == FOR]
        for first, second in combinations(loops, 2):
            pair = current[first], current[second]
            if pair in refused:
                continue
            made = fuser.fused(current, first, second)
            if isinstance(made, Refusal):
                refused.add(pair)
            else:
                current = made
                break
        else:
            return current
