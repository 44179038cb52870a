"""Footprints: the box of an array that one tile of a nest touches.

Comes in: a `Model`, references of one array, tile sizes by loop name. Goes out: one
`Box` per reference group, with the position of its corner and its extent.

The tile of loop l with size z and step s is origin_l <= l < origin_l + z*s. Loops
outside the tiled ones stand still, loops inside run over their whole range. Boxes are
those of full tiles; at the border of the domain a tile may touch less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.tiling.machine.contraction import index_coefficients
from gpucodegen.tiling.model.isl import Map, Set
from gpucodegen.tiling.model.isl_forms import affine_text
from gpucodegen.tiling.model.places import conjunction
from gpucodegen.tiling.model.relations import Model, Reference
from gpucodegen.tiling.model.scop import Loop

ORIGIN = "__o_"


@dataclass(frozen=True, slots=True)
class Box:
    """A box of an array, as seen from the tile at ``__o_<loop>`` (origins by loop).

    ``lower`` is isl text over parameters and origins, None where it is not affine;
    an extent is None where it is not bounded.
    """

    array: str
    references: tuple[Reference, ...]
    lower: tuple[str | None, ...]
    extent: tuple[int | None, ...]

    @property
    def cells(self) -> int | None:
        """The number of cells in the box."""
        total = 1
        for extent in self.extent:
            if extent is None:
                return None
            total *= extent
        return total


def footprints(model: Model, array: str, sizes: Mapping[str, int]) -> tuple[Box, ...]:
    """The boxes of ``array`` for one tile.

    References whose indices differ by constants only form one group.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest, read
    >>> blur = Statement("S", (read("A", "i - 1"), read("A", "i"), read("A", "i + 1")))
    >>> body = nest([Loop("i", "1", "N - 1")], (blur,))
    >>> built = model(Scop(("N",), (), (Array("A", ("N",)),), body))
    >>> (box,) = footprints(built, "A", {"i": 32})
    >>> box.lower, box.extent
    (('-1 + __o_i',), (34,))
    """
    references = [r for r in model.references if r.access.array == array]
    groups: dict[object, list[Reference]] = {}
    for reference in references:
        groups.setdefault(_shape(model, reference), []).append(reference)
    return tuple(_box(model, array, group, sizes) for group in groups.values())


def _shape(model: Model, reference: Reference) -> object:
    """What the references of one group have in common."""
    rows = index_coefficients(model, reference.instances, reference.access)
    if rows is None:
        return id(reference)
    return tuple(tuple(sorted(row.items())) for row in rows)


def _box(
    model: Model, array: str, group: Sequence[Reference], sizes: Mapping[str, int]
) -> Box:
    """Extent: max { c' - c : c, c' in cells } + 1 per dimension."""
    cells = _cells(model, group[0], sizes)
    for reference in group[1:]:
        cells = cells.union(_cells(model, reference, sizes))
    rank = range(len(group[0].access.indices))
    lower = tuple(
        model.solver.ask(lambda d=d: affine_text(cells.dim_min(d)), None) for d in rank
    )
    spread = model.solver.ask(
        lambda: Map.from_domain_and_range(cells, cells).deltas(), None
    )
    widths = [
        None if spread is None else model.solver.interval(spread, d) for d in rank
    ]
    extent = tuple(
        None if width is None or width.upper is None else width.upper + 1
        for width in widths
    )
    return Box(array, tuple(group), lower, extent)


def _cells(model: Model, reference: Reference, sizes: Mapping[str, int]) -> Set:
    """{ cell : a value in the tile accesses it }, origins as parameters."""
    loops = reference.instances.loops
    tiled = [d for d, loop in enumerate(loops) if loop.name in sizes]
    first = tiled[0] if tiled else len(loops)
    origins = [ORIGIN + loop.name for loop in loops]
    inside = [
        _extent(loop, origin, sizes.get(loop.name), fixed=d < first)
        for d, (loop, origin) in enumerate(zip(loops, origins, strict=True))
    ]
    access = reference.access
    cell = [f"__c{d}" for d in range(len(access.indices))]
    touched = [
        f"{c} = {index}"
        for c, index in zip(cell, access.indices, strict=True)
        if index is not None
    ]
    local = [loop.name for loop in loops] + [name for name, _ in access.span]
    constraints = conjunction((*inside, *touched, *access.ranges))
    body = f"exists {', '.join(local)} : ({constraints})" if local else constraints
    parameters = ", ".join([*model.scop.parameters, *origins])
    return model.solver.set(f"[{parameters}] -> {{ [{', '.join(cell)}] : {body} }}")


def _extent(loop: Loop, origin: str, size: int | None, *, fixed: bool) -> str:
    if fixed:
        return f"{loop.name} = {origin}"
    if size is None:
        bounds = [f"{loop.name} >= {bound}" for bound in loop.lowers]
        bounds += [f"{loop.name} < {bound}" for bound in loop.uppers]
        return " and ".join(bounds) or "1 = 1"
    trip = f"0 <= __k < {size} and {loop.name} = {origin} + {loop.step}*__k"
    return f"exists __k : ({trip})"
