"""``gpucodegen.analyze``: what the polyhedral engine proves about each function."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.debugging.display import folded
from gpucodegen.program_text import read
from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.ir.operation import Operation
    from gpucodegen.passes.analysis.lifting import Surroundings
    from gpucodegen.tiling.proof.array_bounds import Violation
    from gpucodegen.tiling.proof.dependences import Dependence
    from gpucodegen.tiling.proof.flow import UndefinedRead
    from gpucodegen.tiling.proof.legality import Band
    from gpucodegen.tiling.proof.liveness import LoopValues, LoopVerdict


@dataclass(frozen=True, slots=True)
class FunctionAnalysis:
    """Loops with their kinds, dependences with distance and witness, bands, bounds.

    ``undefined`` are reads of local buffers before any write; ``parts`` are the
    outermost loops with the buffers whose values enter and leave them. ``needs`` are
    the conditions on argument extents under which accesses stay in bounds.
    """

    name: str
    loops: tuple[LoopVerdict, ...]
    dependences: tuple[Dependence, ...]
    bands: tuple[Band, ...]
    violations: tuple[Violation, ...]
    undefined: tuple[UndefinedRead, ...]
    parts: tuple[LoopValues, ...]
    needs: str = ""

    @property
    def beyond(self) -> tuple[Violation, ...]:
        """The violations that no condition on extents excludes."""
        return tuple(v for v in self.violations if not v.needed)

    def __str__(self) -> str:
        lines = [f"@{self.name}"]
        for verdict in self.loops:
            indent = "  " * (len(verdict.outer) + 1)
            why = f" - {verdict.decisive}" if verdict.decisive else ""
            lines.append(f"{indent}{verdict.loop.name}: {verdict.description}{why}")
        bands = [band.names for band in self.bands if len(band.names) > 1]
        lines += [f"  permutable band: {', '.join(names)}" for names in bands]
        lines += [f"  out of bounds: {violation}" for violation in self.beyond]
        lines += [f"  extents need: {self.needs}"] if self.needs else []
        lines += [f"  undefined: {read}" for read in self.undefined]
        lines += [f"  {part}" for part in self.parts]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Analysis(Mapping[str, FunctionAnalysis]):
    """The analyses of a module's functions, by name."""

    functions: dict[str, FunctionAnalysis]

    def __getitem__(self, name: str) -> FunctionAnalysis:
        return self.functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __str__(self) -> str:
        return "\n".join(map(str, self.functions.values()))

    def __repr__(self) -> str:
        names = ", ".join(f"@{name}" for name in self.functions)
        return f"<Analysis of {names or 'no functions'}; str() is its text>"

    def _repr_html_(self) -> str:
        """The proven facts of each function, for notebooks."""
        found = self.functions.items()
        return "".join(folded(f"@{name}", str(one)) for name, one in found)


def analyze(source: str | os.PathLike[str] | Module) -> Analysis:
    """Analyse every function with a body: of a text, of a file, or of a module.

    Accesses out of bounds and reads of unwritten elements are warnings; if the extents
    of arguments decide, the analysis gives the conditions that they must fulfil.

    A function that exceeds its declared effects is an error.

    >>> import gpucodegen as gcg
    >>> text = '''func.func @shift(%A: memref<9xf32>) {
    ...   affine.for %i = 0 to 8 {
    ...     %x = affine.load %A[%i] : memref<9xf32>
    ...     affine.store %x, %A[%i + 1] : memref<9xf32>
    ...   }
    ...   return
    ... }'''
    >>> analysis = gcg.analyze(text)["shift"]
    >>> [(loop.loop.name, loop.kind.value) for loop in analysis.loops]
    [('i', 'sequential')]
    >>> str(analysis.loops[0].distance[0])
    '[1, 1]'
    """
    from gpucodegen.passes.analysis.lifting import Surroundings
    from gpucodegen.passes.checks.buffers import check_module, warn_undefined

    module = read(source).module
    check_module(module)
    surroundings = Surroundings.of(module)
    analyses = {
        name: analyze_function(name, op, surroundings)
        for name, op in module.functions.items()
        if op.regions and op.regions[0].blocks
    }
    for analysis in analyses.values():
        warn_out_of_bounds(analysis.beyond)
        warn_undefined(analysis.undefined)
    return Analysis(analyses)


def analyze_function(
    name: str, op: Operation, surroundings: Surroundings | None = None
) -> FunctionAnalysis:
    """All analyses of one function; ``surroundings`` are the functions it may call."""
    from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
    from gpucodegen.passes.analysis.lifting.index_values import has_collapses
    from gpucodegen.tiling.model.relations import model
    from gpucodegen.tiling.proof.array_bounds import needs, violations
    from gpucodegen.tiling.proof.dependences import dependences
    from gpucodegen.tiling.proof.flow import undefined_reads
    from gpucodegen.tiling.proof.legality import bands
    from gpucodegen.tiling.proof.liveness import (
        loop_verdicts,
        parts,
        values,
        with_privatisation,
    )

    built = model(lift_function(op, surroundings).scop)
    found, passed = dependences(built), values(built)
    apart, known = built, surroundings or Surroundings()
    if known.aliases.groups or has_collapses(op):
        apart = model(lift_function(op, known.for_bounds()).scop)
    outside = violations(apart)
    return FunctionAnalysis(
        name,
        with_privatisation(loop_verdicts(built, found), passed),
        found,
        bands(built.scop.body, found),
        outside,
        undefined_reads(built),
        parts(passed),
        needs(apart, outside),
    )


def warn_out_of_bounds(violations: tuple[Violation, ...]) -> None:
    """One warning per access or array that leaves or may leave its buffer."""
    from gpucodegen.passes.checks.buffers import diagnostics

    for found in diagnostics(violations, errors.ProvenOutOfBounds):
        assert isinstance(found, errors.CodegenWarning)
        errors.tell(found)
