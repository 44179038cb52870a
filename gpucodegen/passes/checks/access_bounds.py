"""Accesses that leave their buffer: an error where proven, a warning where possible.

An access that only some calls execute is no error, whatever it does then: a condition
or a loop whose end is an argument may keep it from running in every valid call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.tiling.model.relations import Model
from gpucodegen.tiling.proof.array_bounds import (
    Suspect,
    Violation,
    by_array,
    violations,
)


def check_bounds(
    built: Model, found: Sequence[Suspect], unguarded: Sequence[Suspect]
) -> None:
    """Raise OutOfBounds for a violation that every call of a function makes.

    Warns of other violations by ``unguarded`` suspects, which nothing checks later.
    """
    told = [replace(v, proven=v.proven and v.runs) for v in violations(built, found)]
    open_ = set(map(_place, unguarded))
    shown = [v for v in told if v.proven or _place(v) in open_]
    for problem in diagnostics(shown, errors.OutOfBounds):
        if isinstance(problem, errors.Error):
            raise problem
        errors.tell(problem)


def _place(one: Suspect | Violation) -> tuple[int, int, int]:
    """The access of a suspect, and the dimension."""
    return id(one.reference.instances), one.reference.position, one.dimension


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
