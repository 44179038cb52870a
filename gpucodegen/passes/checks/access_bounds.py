"""Accesses that leave their buffer: an error where proven, a warning where possible.

If a buffer may have few elements or none, every access may be outside.  In a loop whose
end is known at run time only, that proves nothing: in a valid call it does not run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Value
from gpucodegen.passes.analysis.lifting import Lifted
from gpucodegen.tiling.model.relations import Model
from gpucodegen.tiling.proof.bounds.bounds import (
    Suspect,
    Violation,
    by_array,
    violations,
)


def check_bounds(
    lifted: Lifted,
    built: Model,
    found: Sequence[Suspect],
    sized: Collection[Value] = (),
    *,
    warn: bool = True,
) -> None:
    """Raise OutOfBounds for a proven violation of a function, warn of possible ones.

    ``sized``: buffers whose extents are those of one call only.
    ``warn``: possible violations get no guard, so warn of them.
    """
    told = [
        replace(v, proven=v.proven and not _is_avoided(v, lifted, sized))
        for v in violations(built, found)
    ]
    for problem in diagnostics(told, errors.OutOfBounds):
        if isinstance(problem, errors.Error):
            raise problem
        if warn:
            errors.tell(problem)


def _is_avoided(violation: Violation, lifted: Lifted, sized: Collection[Value]) -> bool:
    """Whether a buffer is too small, and arguments decide if it is accessed."""
    buffer = lifted.arrays[violation.reference.access.array]
    is_small = violation.extent == 0 or buffer in sized
    return is_small and bool(violation.parameters)


def diagnostics(
    found: Sequence[Violation],
    proven: type[errors.OutOfBounds | errors.ProvenOutOfBounds],
) -> Iterator[errors.Error | errors.CodegenWarning]:
    """A ``proven`` for each proven violation, one warning for each other array."""
    for violation, others in by_array(found):
        loc = violation.reference.access.loc
        kind = proven if violation.proven else errors.PossiblyOutOfBounds
        yield kind(
            loc if isinstance(loc, Location) else UNKNOWN,
            buffer=violation.reference.access.array,
            witness=f"{violation}{_and_more(others)}",
        )


def _and_more(accesses: int) -> str:
    if not accesses:
        return ""
    return f"; so may {accesses} other access{'es' if accesses > 1 else ''} of it"
