"""Waits for asynchronous copies that were not started, or that are complete already.

Comes in: a `Model`. Goes out: an `Unmatched` for each wait that certainly has an
execution without a copy to wait for, in every run that reaches it. With B the block of
an execution and S its place in the program, those are the waits w in

    { w : no start x with tag(x) = tag(w), B(x) = B(w), S(x) < S(w),
          and no other wait y on that tag with S(x) < S(y) < S(w) }.

What is not known, a condition, a bound or an index of a tag, counts for the program:
such starts may match, such waits may not have run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpucodegen.tiling.model.isl import Map
from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.model.scop import Role, Wait
from gpucodegen.tiling.proof.kernels.ordering import earlier, same
from gpucodegen.tiling.proof.kernels.transfers import Transfers, is_known, matching
from gpucodegen.tiling.proof.witness import Event, find_instance


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A wait without a copy, with an execution that shows it."""

    wait: Instances
    event: Event | None

    def __str__(self) -> str:
        shown = f" at {self.event}" if self.event and self.event.iteration else ""
        return f"no copy with its tag is under way{shown}"


def unmatched_waits(model: Model) -> Iterator[Unmatched]:
    """The waits of a program that certainly have nothing to wait for.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, Tag, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> moved, tag = (read("A", "i"), write("s", "i")), Tag("t", ("0",))
    >>> twice = (Statement("copy", moved, tag=tag), Wait(tag), Wait(tag))
    >>> arrays = (Array("A", (8,)), Array("s", (8,)), Array("t", (1,)))
    >>> scop = Scop(arrays=arrays, body=nest([Loop("i", "0", "8")], twice))
    >>> [str(found) for found in unmatched_waits(model(scop))]
    ['no copy with its tag is under way at (i=0)']
    """
    waits = [i for i in model.everything if isinstance(i.node, Wait)]
    certain = [wait for wait in waits if wait.certain and is_known(wait)]
    transfers = Transfers(model)
    for wait in certain:
        missing = model.solver.ask(lambda w=wait: _missing(transfers, w, certain), None)
        if missing is not None and not missing.is_empty():
            always = wait.domain.params().is_subset(missing.params())
            if always:
                yield Unmatched(wait, find_instance(model.solver, missing, wait))


def _missing(transfers: Transfers, wait: Instances, waits: list[Instances]) -> Map:
    """{ trips -> values } of the executions without a copy."""
    missing = wait.values
    for start in transfers.starts:
        pairs = earlier(
            same(matching(start, wait), start, wait, Role.BLOCK), start, wait
        )
        if is_known(start):
            pairs = pairs.subtract(transfers.completed(start, wait, waits))
        missing = missing.subtract_domain(pairs.range())
    return missing
