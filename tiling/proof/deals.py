"""Whether iterations dealt out to members keep every dependence within one member.

Comes in: dependences between two loops that give position p to the same member.  Goes
out: whether only equal positions depend on each other:

    { x -> y in dependence : position of x != position of y } = {}
"""

from __future__ import annotations

from gpucodegen.tiling.model.relations import Instances, header
from gpucodegen.tiling.proof.dependences import Dependence


def stays_within(found: Dependence, before: object, after: object) -> bool:
    """Whether positions of the loops made from two operations are certainly equal."""
    source, sink = found.source.instances, found.sink.instances
    first, second = _position(source, before), _position(sink, after)
    if found.assumed or first is None or second is None:
        return False
    solver, scop = found.model.solver, found.model.scop
    left = [f"x{d}" for d in range(len(source.loops))]
    right = [f"y{d}" for d in range(len(sink.loops))]
    tuples = f"[{', '.join(left)}] -> [{', '.join(right)}]"
    condition = f"{left[first]} != {right[second]}"
    differ = solver.map(f"{header(scop)} {{ {tuples} : {condition} }}")
    apart = solver.ask(lambda: found.pairs.intersect(differ), None)
    return apart is not None and solver.is_empty(apart)


def _position(instances: Instances, payload: object) -> int | None:
    """Which of the loops around a statement was made from an operation."""
    made = [loop.payload is payload for loop in instances.loops]
    return made.index(True) if True in made else None
