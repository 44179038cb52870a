"""What the passes that compile a function report of it, and refuse.

Comes in: a target, argument types and options.  Goes out: knobs, and for each point of
a search why the passes that carry it out cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.compiling.winners import Point, with_point
from gpucodegen.options import Options

if TYPE_CHECKING:
    from gpucodegen.compiling.lowering import Key
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.tiling.tuning.knobs import Knob

TILING = "tile"
"""The pass that carries out tile sizes."""
PLANNED = "improve-locality", "wavefront"
"""Those that carry out orders and fusions of loops, and time tiles, of a plan."""
REFUSALS = (
    errors.IllegalTransformation,
    errors.InvalidOption,
    errors.InvalidPassOption,
)


@dataclass(frozen=True, slots=True)
class Passes:
    """The passes that compile a function for a target and argument types."""

    key: Key
    options: Options

    def front(self, module: Module, name: str) -> Module:
        """The affine nests of a function."""
        from gpucodegen.compiling.pipeline import front_passes
        from gpucodegen.passes.framework.base import run_pipeline
        from gpucodegen.passes.framework.reachable import reachable

        _, types, aligned = self.key
        passes = front_passes(name, types, self.options.handlers, alignments=aligned)
        return run_pipeline(reachable(module, name), passes, verify=False)

    def mapping(self, options: Options) -> list[ModulePass]:
        """Those that map the nests."""
        from gpucodegen.compiling.pipeline import mapping_passes

        return mapping_passes(self.key[0], replace(options, verify=False))

    def knobs(self, module: Module) -> list[Knob]:
        """What the passes report of the nests that they map, tile sizes at the end."""
        from gpucodegen.passes.framework.base import run_pipeline

        found: list[Knob] = []
        made = module
        for pass_ in self.mapping(replace(self.options, tile_sizes=())):
            found += pass_.knobs(made)
            made = pass_.apply(made)
        tiling = self.mapping(replace(self.options, tile_sizes=(1,)))
        (at,) = _deciding(tiling)
        before = run_pipeline(module, tiling[:at], verify=False)
        return [*found, *tiling[at].knobs(before)]


@dataclass(frozen=True, slots=True)
class Legality:
    """Whether the passes that decide can do what a point asks for.

    ``module``: the affine nests.  What they are before the first such pass, and what is
    found out, is kept.
    """

    passes: Passes
    module: Module
    before: dict[str, Module] = field(default_factory=dict[str, "Module"])
    verdicts: dict[Options, str | None] = field(
        default_factory=dict[Options, "str | None"]
    )

    def refusal(self, point: Point) -> str | None:
        """Why compiling with such tiles, orders or fusions fails, or None."""
        asked = with_point(self.passes.options, point)
        if not (asked.tile_sizes or asked.plan):
            return None
        if asked not in self.verdicts:
            self.verdicts[asked] = self._refusal(asked)
        return self.verdicts[asked]

    def _refusal(self, asked: Options) -> str | None:
        try:
            self._decide(self.passes.mapping(asked))
        except REFUSALS as refused:
            return refused.message
        return None

    def _decide(self, passes: Sequence[ModulePass]) -> None:
        """Run the passes from the first one that is asked for something to the last."""
        from gpucodegen.passes.framework.base import run_pipeline

        deciding = _deciding(passes)
        if not deciding:
            return
        first, last = deciding[0], deciding[-1]
        name = passes[first].name
        if name not in self.before:
            made = run_pipeline(self.module, passes[:first], verify=False)
            self.before[name] = made
        run_pipeline(self.before[name], passes[first : last + 1], verify=False)


def _deciding(passes: Sequence[ModulePass]) -> list[int]:
    """The numbers of those that are asked for tile sizes, or for fields of a plan."""
    return [
        n
        for n, one in enumerate(passes)
        if one.name == TILING or (one.name in PLANNED and getattr(one, "plan", ()))
    ]
