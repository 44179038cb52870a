"""How parallel loops are divided among the members of a team."""

from __future__ import annotations

from functools import partial

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.analysis.work import Middles, inside, iterations
from gpucodegen.passes.gpu.blocks.phases import Deal, Divide
from gpucodegen.passes.gpu.blocks.teams import Team, divides, parallel_chain, spread
from gpucodegen.passes.gpu.blocks.threads import dealt_loops, divide


def loops_dealt(analysis: NestAnalysis, team: Team) -> Deal:
    """A parallel nest; along one position, all of it at once if that is known.

    Bounds that divide make proofs too long if several loops are dealt out.
    """

    def deal(op: Operation, middles: Middles) -> Divide | None:
        loops = dealt_loops(op, analysis)
        chain = parallel_chain(op, analysis)
        if not loops and not chain:
            return None
        if len(team.positions) == 1 and len(loops) >= len(chain):
            return partial(divide, loops=loops, thread=team.number, threads=team.size)
        extents: list[int | None] = []
        for loop in chain:
            run = iterations(loop, middles)
            extents.append(None if run is None else max(len(run), 1))
            middles = inside(loop, middles)
        most = 1 if divides(chain) else len(chain)
        return partial(spread, chain=chain, lanes=team.lanes(extents, most))

    return deal
