"""Loops that are parallel once each iteration has its own copy of some arrays.

Comes in: the verdicts on the loops of a program and its `LiveValues`. Goes out: the
same verdicts, those of sequential loops replaced where copies help. A dependence
between iterations on an array that no value crosses is only the reuse of its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpucodegen.tiling.model.isl import IN, OUT, SET, Map, Set
from gpucodegen.tiling.model.places import conjunction
from gpucodegen.tiling.model.relations import Instances, Model, Reference
from gpucodegen.tiling.proof.loops import LoopKind, LoopVerdict, Private
from gpucodegen.tiling.proof.values.liveness import LiveValues, extents, liveness


def with_privatisation(
    verdicts: Iterable[LoopVerdict], values: LiveValues
) -> tuple[LoopVerdict, ...]:
    """The verdicts, `LoopKind.PRIVATISABLE` where copies make the loop parallel.

    >>> from gpucodegen.tiling.proof.values.liveness import values
    >>> from gpucodegen.tiling.proof.loops import loop_verdicts
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> put, get = Statement("S", (write("t"),)), Statement("T", (read("t"),))
    >>> arrays = (Array("t", fresh=True, forgotten=True),)
    >>> scop = Scop(arrays=arrays, body=nest([Loop("i", "0", "8")], (put, get)))
    >>> built = model(scop)
    >>> (verdict,) = with_privatisation(loop_verdicts(built), values(built))
    >>> print(verdict.description)
    parallel after privatisation of t
    """
    return tuple(_upgraded(verdict, values) for verdict in verdicts)


def _upgraded(verdict: LoopVerdict, values: LiveValues) -> LoopVerdict:
    """The verdict with copies of all arrays of dependences that do not accumulate.

    Parallel:  { x -> y carried : array not among them } = {}.
    Reduction: only accumulations are left in that set.
    """
    if verdict.kind is not LoopKind.SEQUENTIAL or verdict.loop.opaque:
        return verdict
    needed = dict.fromkeys(
        d.source.access.array for d in verdict.carried if d.reduces is None
    )
    private: list[Private] = []
    for array in needed:
        found = privatised(values, array, verdict)
        if found is None:
            return verdict
        private.append(found)
    rest = [d for d in verdict.carried if d.source.access.array not in needed]
    return replace(
        verdict,
        kind=LoopKind.REDUCTION if rest else LoopKind.PRIVATISABLE,
        operators=tuple(sorted({str(d.reduces) for d in rest})),
        reassociable=bool(rest) and all(d.reassociable for d in rest),
        private=tuple(private),
    )


def privatised(values: LiveValues, array: str, verdict: LoopVerdict) -> Private | None:
    """How iterations may have copies of ``array``; None if that is not legal.

    Legal: no value crosses iterations of l, and if some leave l, the last iteration
    certainly writes all cells, and none enter:

        { (o, l) -> c : (o, l) the last iteration, c in array } - union of writes = {}
    """
    declared = values.model.array(array)
    if declared.register or declared.ordered or _is_copied(values.model, array):
        return None
    ways = liveness(values, array, verdict.loop)
    if ways.crossing:
        return None
    if ways.leaving and (
        ways.entering or not _overwrites(values.model, array, verdict)
    ):
        return None
    return Private(array, copied_in=ways.entering, copied_out=ways.leaving)


def _is_copied(model: Model, array: str) -> bool:
    """Whether asynchronous copies use the array: they outlive their statement."""
    return any(
        access.array == array
        for instances in model.statements
        if instances.copies
        for access in instances.accesses
    )


def _overwrites(model: Model, array: str, verdict: LoopVerdict) -> bool:
    """Whether the last iteration certainly writes all cells of the array."""
    cells = extents(model, array)
    if cells is None or model.array(array).scope:
        return False
    depth = len(verdict.outer) + 1
    inside = [i for i in model.statements if i.depth(verdict.loop) is not None]
    writes = [r for r in _writes(inside, array) if _is_certain(r, depth)]

    def covered() -> bool:
        wanted = Map.from_domain_and_range(_last(model, inside[0], verdict), cells)
        for write in writes:
            count = write.relation.dim(IN) - depth
            wanted = wanted.subtract(write.relation.project_out(IN, depth, count))
        return wanted.is_empty()

    return model.solver.ask(covered, otherwise=False)


def _writes(inside: Iterable[Instances], array: str) -> Iterator[Reference]:
    for instances in inside:
        for position, access in enumerate(instances.accesses):
            if access.writes and access.array == array:
                yield Reference(instances, position)


def _is_certain(write: Reference, depth: int) -> bool:
    """Whether it happens if the iteration of the outer ``depth`` loops does."""
    doubts = write.instances.doubts
    return write.exact and all(doubt.depth < depth for doubt in doubts)


def _last(model: Model, inside: Instances, verdict: LoopVerdict) -> Set:
    """{ (o, l) : in bounds, and no (o, l') in bounds with l < l' }."""
    loops = (*verdict.outer, verdict.loop)
    depth = len(loops)
    box = model.box(inside, loops).domain()
    iterations = box.project_out(SET, depth, box.dim(SET) - depth)
    known = model.where(
        [f"t{d}" for d in range(depth)], conjunction(model.scop.context)
    )
    iterations = iterations.intersect(known)
    pairs = Map.from_domain_and_range(iterations, iterations)
    for d in range(depth - 1):
        pairs = pairs.equate(IN, d, OUT, d)
    earlier = pairs.order_lt(IN, depth - 1, OUT, depth - 1).domain()
    return iterations.subtract(earlier)
