"""Loop kinds: which loops may run in parallel, which reduce, which must stay in order.

Comes in: a `Model` and its dependences. Goes out: one `LoopVerdict` per loop, in
pre-order, with the dependences that decide it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from gpucodegen.tiling.model.isl import Interval
from gpucodegen.tiling.model.relations import Model
from gpucodegen.tiling.model.scop import If, Loop, Node
from gpucodegen.tiling.proof.dependences import Dependence, dependences
from gpucodegen.tiling.proof.witness import Witness


class LoopKind(Enum):
    """What the order of a loop's iterations means."""

    PARALLEL = "parallel"
    PRIVATISABLE = "parallel after privatisation"
    REDUCTION = "reduction"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True, slots=True)
class Private:
    """An array of which each iteration may have a copy of its own.

    ``copied_in``: the copy begins with the contents of the array before the loop.
    ``copied_out``: what the last iteration leaves in its copy is read after the loop.
    """

    array: str
    copied_in: bool = False
    copied_out: bool = False

    def __str__(self) -> str:
        notes = [
            *(["copied in"] if self.copied_in else []),
            *(["last value kept"] if self.copied_out else []),
        ]
        return f"{self.array} ({', '.join(notes)})" if notes else self.array


@dataclass(frozen=True, slots=True)
class LoopVerdict:
    """The kind of one loop and the dependences it carries.

    A reduction loop is parallel once each worker keeps a partial result of its own;
    ``operators`` combine them. Whether the order of the terms may change is the
    caller's to decide (``reassociable``: the program allows it). Both kinds of loops
    may need ``private`` copies of arrays; `with_privatisation` finds them.
    """

    loop: Loop
    outer: tuple[Loop, ...]
    kind: LoopKind
    carried: tuple[Dependence, ...] = ()
    operators: tuple[str, ...] = ()
    reassociable: bool = False
    private: tuple[Private, ...] = ()

    @property
    def description(self) -> str:
        """The kind, with the arrays that need copies."""
        if not self.private:
            return self.kind.value
        after = "" if self.kind is LoopKind.PRIVATISABLE else " after privatisation"
        return f"{self.kind.value}{after} of {', '.join(map(str, self.private))}"

    @property
    def decisive(self) -> Dependence | None:
        """A dependence that keeps the loop from being parallel, the worst first."""
        return min(self.carried, key=lambda d: d.reduces is not None, default=None)

    @property
    def distance(self) -> tuple[Interval, ...]:
        """The distances of the decisive dependence."""
        return self.decisive.distance if self.decisive else ()

    @property
    def witness(self) -> Witness | None:
        """Two iterations that show why the loop is not parallel."""
        return self.decisive.witness if self.decisive else None


def loop_verdicts(
    model: Model, found: tuple[Dependence, ...] | None = None
) -> tuple[LoopVerdict, ...]:
    """The verdict on every loop in pre-order.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> shift = Statement("S", (read("A", "i", "j"), write("A", "i", "j + 1")))
    >>> chain = [Loop("i", "0", "N"), Loop("j", "0", "N")]
    >>> arrays = (Array("A", ("N", "N + 1")),)
    >>> scop = Scop(("N",), (), arrays, nest(chain, (shift,)))
    >>> [(v.loop.name, v.kind.value) for v in loop_verdicts(model(scop))]
    [('i', 'parallel'), ('j', 'sequential')]
    """
    found = dependences(model) if found is None else found
    carried: dict[str, list[Dependence]] = {}
    for dependence in found:
        if dependence.carrier is not None:
            carried.setdefault(dependence.carrier.name, []).append(dependence)
    return tuple(
        _verdict(loop, outer, tuple(carried.get(loop.name, ())))
        for loop, outer in nested_loops(model.scop.body)
    )


def nested_loops(
    body: tuple[Node, ...], outer: tuple[Loop, ...] = ()
) -> Iterable[tuple[Loop, tuple[Loop, ...]]]:
    """Every loop in pre-order with the loops around it."""
    for node in body:
        match node:
            case Loop():
                yield node, outer
                yield from nested_loops(node.body, (*outer, node))
            case If():
                yield from nested_loops((*node.body, *node.orelse), outer)
            case _:
                pass


def _verdict(
    loop: Loop, outer: tuple[Loop, ...], carried: tuple[Dependence, ...]
) -> LoopVerdict:
    """Parallel: { d in distances : d_outer = 0, d_loop != 0 } is empty.

    Reduction: only accumulations into one cell with one operator are in that set.
    """
    if loop.opaque:
        return LoopVerdict(loop, outer, LoopKind.SEQUENTIAL, carried)
    if loop.parallel or not carried:
        return LoopVerdict(loop, outer, LoopKind.PARALLEL, carried)
    operators = {d.reduces for d in carried}
    if None in operators:
        return LoopVerdict(loop, outer, LoopKind.SEQUENTIAL, carried)
    return LoopVerdict(
        loop,
        outer,
        LoopKind.REDUCTION,
        carried,
        operators=tuple(sorted(str(operator) for operator in operators)),
        reassociable=all(d.reassociable for d in carried),
    )
