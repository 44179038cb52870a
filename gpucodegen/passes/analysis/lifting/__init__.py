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
    lifter.declare_context(defining(operations, context))
    lifter.index(operations)
    location = operations[0].location if operations else None
    return lifter.finish(lifter.body(operations), location)


def defining(
    operations: Sequence[Operation], context: Sequence[Operation]
) -> list[Operation]:
    """The operations of the context that make what others use, directly or not.

    So is a ``memref.dim`` of a buffer that they use, after which its extent is named.
    A pass that lifts each nest of a function alone takes time in proportion to it.
    """
    made = {value: op for op in context for value in op.results}
    used = {value for root in operations for op in root.walk() for value in op.used}
    work, chosen = [*used], set[Operation]()
    while work:
        op = made.get(work.pop())
        if op is not None and op not in chosen:
            chosen.add(op)
            values = {value for inner in op.walk() for value in inner.used}
            work += values - used
            used |= values
    return [
        op
        for op in context
        if op in chosen or (op.name == "memref.dim" and op.operands[0] in used)
    ]


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
