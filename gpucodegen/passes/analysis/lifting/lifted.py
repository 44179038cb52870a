"""What a walk over a region leaves: a scop, and where its parts come from.

Comes in: the nodes, the environment in which they were made, and the operations of
each statement.  Goes out: `Lifted`; arrays that may overlap are one array of the scop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.tiling.model.scop import Node, Scop
from gpucodegen.tiling.model.summaries import merged, storages


@dataclass(frozen=True, slots=True)
class Lifted:
    """A scop and where its parts come from."""

    scop: Scop
    operations: dict[str, tuple[Operation, ...]]
    """Per statement name, its memory operations in the order of its accesses."""
    arrays: dict[str, Value]
    """Per array name, the buffer or loop-carried value."""
    parameters: dict[str, Value]
    """Per parameter name, the value; extents of arguments are not in here."""
    extents: dict[str, tuple[Value, int]]
    """Per parameter that stands for extents, the first such buffer, its dimension."""
    storages: dict[str, str]
    """Per array that may overlap others, the array of the scop that they all are."""

    def names_of(self, buffer: Value) -> set[str]:
        """The arrays of the scop that cells of a buffer may be in."""
        own = {name for name, value in self.arrays.items() if value is buffer}
        return own | {self.storages[name] for name in own if name in self.storages}


def lifted_scop(
    body: tuple[Node, ...],
    env: Environment,
    operations: dict[str, tuple[Operation, ...]],
    groups: Mapping[str, object],
    loc: object,
) -> Lifted:
    """The scop of everything walked; ``groups`` of arrays that may overlap."""
    extents = set(env.extents.values())
    names = dict.fromkeys(env.parameters.values())
    names.update(dict.fromkeys(e for e in env.extents.values() if e.isidentifier()))
    local = set(env.texts.values()) - extents - set(env.parameters.values())
    scop = Scop(
        tuple(n for n in names if n not in local),
        tuple(dict.fromkeys(env.context)),
        tuple(env.arrays.values()),
        body,
        loc=loc,
        words=tuple((name, said) for name, said in env.said() if name in names),
    )
    shared = storages(scop, groups)
    return Lifted(
        merged(scop, groups),
        operations,
        env.buffers(shared),
        {name: value for value, name in env.parameters.items()},
        _first_places(env),
        shared,
    )


def _first_places(env: Environment) -> dict[str, tuple[Value, int]]:
    """Of buffers with one extent the first: it is there wherever any of them is."""
    found: dict[str, tuple[Value, int]] = {}
    for place, name in env.extents.items():
        if name.isidentifier():
            found.setdefault(name, place)
    return found
