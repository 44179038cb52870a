"""Accesses that leave their buffer: an error where proven, a warning where possible."""

from __future__ import annotations

import warnings

from gpucodegen import errors
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.lifting import Surroundings, lift_function
from gpucodegen.tiling.bounds import violations
from gpucodegen.tiling.model import model


def check_bounds(op: Operation, surroundings: Surroundings) -> Operation:
    """Raise OutOfBounds for a proven violation; returns the function unchanged."""
    lifted = lift_function(op, surroundings.without_groups())
    for violation in violations(model(lifted.scop)):
        loc = violation.reference.access.loc
        location = loc if isinstance(loc, Location) else UNKNOWN
        kind = errors.OutOfBounds if violation.proven else errors.PossiblyOutOfBounds
        found = kind(
            location,
            buffer=violation.reference.access.array,
            witness=str(violation),
        )
        if isinstance(found, errors.Error):
            raise found
        warnings.warn(found, stacklevel=2)
    return op
