"""Where statements stand: the loops and conditions around them, as isl constraints.

Comes in: the tree of a `Scop`. Goes out: one `Place` per statement, barrier and wait,
in textual order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gpucodegen.tiling.model.scop import If, Leaf, Loop, Node

TRIPS = "the number of a loop's trips is not proven to be the same for all"
CONDITION = "a condition is not proven to be the same for all"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something around a statement that may keep it from being executed.

    ``depth`` counts the surrounding loops that fix it: two executions in the same
    iteration of these, with the same ``cause`` around, happen both or not at all.
    ``uniform``: so do two in threads of one block that differ in nothing else.
    ``what``: in words what is not known; ``loc``: where it stands.
    """

    depth: int
    cause: object
    uniform: bool = False
    what: str = field(default="", compare=False)
    loc: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Around:
    """The loops and conditions around a node, and why it may not run under them."""

    loops: tuple[Loop, ...] = ()
    conditions: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether the node is certainly executed in all iterations."""
        return not self.doubts

    @property
    def key(self) -> object:
        """Equal where the same loops and conditions are around."""
        return tuple(loop.name for loop in self.loops), self.conditions

    @property
    def constraints(self) -> tuple[str, ...]:
        """All that holds for the loop variables and the numbers of their trips."""
        bounds = [bound for loop in self.loops for bound in iteration(loop)]
        return (*bounds, *self.conditions)

    def loop(self, loop: Loop) -> Around:
        """Inside one more loop."""
        known = bool(loop.lowers and loop.uppers) and not loop.opaque
        loops = (*self.loops, loop)
        if known:
            return replace(self, loops=loops)
        doubt = Doubt(len(loops), loop.name, what=TRIPS, loc=loop.loc)
        return replace(self, loops=loops, doubts=(*self.doubts, doubt))

    def branch(self, node: If, *, taken: bool) -> Around:
        """Inside one branch of a condition."""
        if node.constraints is None:
            cause = id(node), taken
            doubt = Doubt(len(self.loops), cause, node.uniform, CONDITION, node.loc)
            return replace(self, doubts=(*self.doubts, doubt))
        holds = conjunction(node.constraints)
        condition = holds if taken else f"not ({holds})"
        return replace(self, conditions=(*self.conditions, condition))


@dataclass(frozen=True, slots=True)
class Place:
    """A statement, barrier or wait and what is around it."""

    node: Leaf
    around: Around


def places(body: tuple[Node, ...], around: Around | None = None) -> Iterator[Place]:
    """Every statement, barrier and wait in textual order.

    >>> from gpucodegen.tiling.model.scop import Statement
    >>> inside = If(("i >= 2",), (Statement("S", ()),))
    >>> (place,) = places((Loop("i", "0", "N", body=(inside,)),))
    >>> place.around.constraints
    ('i = __t_i', 'i >= 0', 'i < N', '(i >= 2)')
    """
    around = around or Around()
    for node in body:
        match node:
            case Loop():
                yield from places(node.body, around.loop(node))
            case If():
                yield from places(node.body, around.branch(node, taken=True))
                yield from places(node.orelse, around.branch(node, taken=False))
            case _:
                yield Place(node, around)


def iteration(loop: Loop) -> list[str]:
    """What holds between a loop's variable and the number of its trip.

    step 1:  i = t and lower <= i < upper
    step s:  i = max(lower) + s*t and t >= 0 and i < upper
    """
    if loop.opaque:
        return [counting(loop)]
    below = [f"{loop.name} < {bound}" for bound in loop.uppers]
    if loop.step == 1 or not loop.lowers:
        above = [f"{loop.name} >= {bound}" for bound in loop.lowers]
        return [counting(loop), *above, *below]
    return [counting(loop), f"{trip(loop.name)} >= 0", *below]


def counting(loop: Loop) -> str:
    """The loop's variable by the number of its trip."""
    if loop.opaque or loop.step == 1 or not loop.lowers:
        return f"{loop.name} = {trip(loop.name)}"
    start = loop.lowers[0]
    if len(loop.lowers) > 1:
        start = f"max({', '.join(loop.lowers)})"
    return f"{loop.name} = ({start}) + {loop.step}*{trip(loop.name)}"


def trip(name: str) -> str:
    """The number of a loop's trip."""
    return f"__t_{name}"


def conjunction(constraints: Sequence[str]) -> str:
    """All of the constraints."""
    return " and ".join(f"({constraint})" for constraint in constraints) or "1 = 1"
