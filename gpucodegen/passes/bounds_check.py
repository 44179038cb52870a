"""Accesses that leave their buffer: an error where proven, a warning where possible.

Of a buffer without elements every access is outside.  That of a loop whose end is only
known at run time proves nothing, then: in a valid call, the loop does not run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.lifting import Surroundings, lift_function
from gpucodegen.tiling.bounds import Violation, by_array, violations
from gpucodegen.tiling.model import model


def check_bounds(op: Operation, surroundings: Surroundings) -> Operation:
    """Raise OutOfBounds for a proven violation; returns the function unchanged."""
    built = model(lift_function(op, surroundings.without_groups()).scop)
    told = [replace(v, proven=v.proven and not _is_empty(v)) for v in violations(built)]
    for found in diagnostics(told, errors.OutOfBounds):
        if isinstance(found, errors.Error):
            raise found
        warnings.warn(found, stacklevel=2)
    return op


def _is_empty(violation: Violation) -> bool:
    """Whether the buffer has no elements, and arguments decide if it is accessed."""
    return violation.extent == 0 and bool(violation.parameters)


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
