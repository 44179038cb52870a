"""Reads of local buffers that find no value: warnings, as the value may be unused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.passes.analysis.dependence_pairs import functions_with_body
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.flow import UndefinedRead, undefined_reads


@dataclass(frozen=True, slots=True)
class CheckReads(ModulePass):
    """Warn of every read of memory that nothing can have written; change nothing."""

    name: ClassVar[str] = "check-reads"

    def apply(self, module: Module) -> Module:
        """Check every function with a body."""
        surroundings = Surroundings.of(module)
        for function in functions_with_body(module):
            lifted = lift_function(function, surroundings)
            if any(a.fresh and not a.register for a in lifted.scop.arrays):
                warn_undefined(undefined_reads(model(lifted.scop)))
        return module


def warn_undefined(reads: Iterable[UndefinedRead]) -> None:
    """One warning per read: what it is in all iterations, or may be in some."""
    for read in reads:
        access = read.reference.access
        kind = errors.UndefinedRead if read.proven else errors.PossiblyUndefinedRead
        location = access.loc if isinstance(access.loc, Location) else UNKNOWN
        errors.tell(kind(location, buffer=access.array, witness=str(read)))
