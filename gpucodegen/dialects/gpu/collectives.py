"""Collective operations: which threads must arrive together, with which fences."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.ir.attributes import ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.records import dataclass

WARP = 32
"""Lanes of a subgroup."""
ALL_LANES = (1 << WARP) - 1
MEMORIES = {"workgroup": "shared", "global": "global"}
"""Address spaces that several threads share."""
NOTHING: frozenset[str] = frozenset()
EVERYTHING = frozenset(MEMORIES.values())

Constants = Callable[[Value], int | None]
"""The constant of a value, or None."""


@dataclass(frozen=True, slots=True)
class Collective:
    """Threads that must arrive at an operation, and the memories that it orders.

    ``lanes`` has a bit for each lane of a warp that must arrive; None stands for all
    threads of the block, or of all blocks with ``of_grid``. ``alone``: no other lane
    may arrive.

    >>> shuffle = Operation("gpu.subgroup_reduce")
    >>> collective_of(shuffle, lambda value: None) == Collective(ALL_LANES)
    True
    """

    lanes: int | None
    orders: frozenset[str] = NOTHING
    of_grid: bool = False
    alone: bool = False


def collective_of(op: Operation, constants: Constants) -> Collective | None:
    """The collective behaviour of an operation, None if it has none."""
    found = _TABLE.get(op.name)
    return None if found is None else found(op, constants)


def _barrier(op: Operation, _: Constants) -> Collective:
    """A barrier of the block or of each warp; ``memfence`` names the memories."""
    of_warp = "subgroup" in str(op.attributes.get("scope"))
    given = op.attributes.get("address_spaces")
    spaces = given.values if isinstance(given, ArrayAttr) else None
    named = (str(space).partition("<")[2].strip(">") for space in spaces or ())
    fenced = frozenset(MEMORIES[name] for name in named if name in MEMORIES)
    return Collective(
        ALL_LANES if of_warp else None, EVERYTHING if spaces is None else fenced
    )


def _whole_block(_: Operation, __: Constants) -> Collective:
    return Collective(None)


def _whole_grid(_: Operation, __: Constants) -> Collective:
    return Collective(None, EVERYTHING, of_grid=True)


def _whole_warp(_: Operation, __: Constants) -> Collective:
    return Collective(ALL_LANES)


def _first_lanes(op: Operation, constants: Constants) -> Collective:
    """The lanes below the width, all lanes if it is unknown."""
    width = op.attributes.get("width")
    known = width.value if isinstance(width, IntegerAttr) else constants(op.operands[2])
    count = WARP if known is None else max(0, min(known, WARP))
    return Collective((1 << count) - 1)


def _masked(position: int, orders: frozenset[str] = NOTHING) -> _Rule:
    """The lanes in the mask operand at ``position``, all lanes if it is unknown."""

    def rule(op: Operation, constants: Constants) -> Collective:
        mask = constants(op.operands[position])
        if mask is None:
            return Collective(ALL_LANES, orders)
        return Collective(mask & ALL_LANES, orders, alone=True)

    return rule


_Rule = Callable[[Operation, Constants], Collective]
_TABLE: dict[str, _Rule] = {
    "gcg.grid_barrier": _whole_grid,
    "gpu.barrier": _barrier,
    "gpu.all_reduce": _whole_block,
    "gpu.ballot": _whole_warp,
    "gpu.rotate": _first_lanes,
    "gpu.shuffle": _first_lanes,
    "gpu.subgroup_broadcast": _whole_warp,
    "gpu.subgroup_mma_compute": _whole_warp,
    "gpu.subgroup_reduce": _whole_warp,
    "nvvm.bar.warp.sync": _masked(0, EVERYTHING),
    "nvvm.redux.sync": _masked(1),
    "nvvm.shfl.sync": _masked(0),
    "nvvm.vote.ballot.sync": _masked(0),
    "nvvm.vote.sync": _masked(0),
}
COLLECTIVES = frozenset(_TABLE)
"""The collective operations."""
