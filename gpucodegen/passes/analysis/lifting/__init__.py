"""MLIR regions lifted to the polyhedral model of `gpucodegen.tiling`.

`lift_function` and `lift_operations` turn affine and non-affine MLIR into a `Scop`: a
tree of loops, conditions and statements with access relations.  Code without an affine
form is over-approximated, so every dependence of the program is in the model.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting.aliases import Escapes
from gpucodegen.passes.analysis.lifting.lifter import Lifted, Lifter
from gpucodegen.passes.analysis.lifting.module_context import Surroundings
from gpucodegen.passes.analysis.place_allocations import placed

__all__ = [
    "AFFINE_ACCESSES",
    "PLAIN_ACCESSES",
    "Lifted",
    "Surroundings",
    "lift_function",
    "lift_operations",
]


AFFINE_ACCESSES = frozenset(
    {"affine.load", "affine.store", "affine.vector_load", "affine.vector_store"}
)
PLAIN_ACCESSES = frozenset({"memref.load", "memref.store"})


def lift_operations(
    operations: Sequence[Operation],
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
    *,
    one_access_per_statement: bool = False,
    trust_parallel: bool = True,
    counted: bool = False,
) -> Lifted:
    """Lift operations that run one after the other.

    ``context`` holds operations outside; only their constants and shapes matter.
    ``surroundings`` holds the functions that may be called.
    ``trust_parallel=False`` checks ``affine.parallel`` like any other loop.
    ``counted``: ``scf.for`` is a loop like others where its bounds are known.
    """
    lifter = Lifter(
        surroundings=surroundings or Surroundings(),
        one_access_per_statement=one_access_per_statement,
        trust_parallel=trust_parallel,
        counted=counted,
    )
    lifter.declare_context(context)
    lifter.index(operations)
    location = operations[0].location if operations else None
    return lifter.finish(lifter.body(operations), location)


def lift_function(
    function: Operation,
    surroundings: Surroundings | None = None,
    *,
    one_access_per_statement: bool = False,
    trust_parallel: bool = True,
    listed: frozenset[str] = AFFINE_ACCESSES,
) -> Lifted:
    """Lift the body of a function or kernel.

    ``listed``: the operations that `gpucodegen.tiling.proof.dependences` numbers.

    ``trust_parallel=False`` checks ``affine.parallel`` like any other loop.
    """
    function = placed(function)
    lifter = Lifter(
        one_access_per_statement=one_access_per_statement,
        trust_parallel=trust_parallel,
        listed=listed,
        escapes=Escapes.of([function]),
        surroundings=surroundings or Surroundings(),
        active=(symbol_name(function),),
    )
    return lifter.finish(lifter.lifted(function), function.location)
