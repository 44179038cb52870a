"""Selects the pictures of a nest and of a mapping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen import errors
from gpucodegen.ir.locations import file_location
from gpucodegen.records import dataclass
from gpucodegen.report import PICTURES
from gpucodegen.report.access_facts import nest_tree
from gpucodegen.report.kernels import MappedKernel
from gpucodegen.report.kernels import Mapping as Mapped
from gpucodegen.report.pictures.plane_builder import plane
from gpucodegen.report.pictures.planes import planes
from gpucodegen.report.pictures.share_picture import share_picture
from gpucodegen.report.pictures.space_picture import Tiles, space_picture
from gpucodegen.report.pictures.svg import Element
from gpucodegen.report.pictures.tree_picture import tree_picture
from gpucodegen.report.sizes import Sizes
from gpucodegen.report.subjects import Nest, Subject, location_of
from gpucodegen.tiling.model.scop import Loop

PATIENCE = 8
"""A picture asks for hundreds of single points: it may take longer than a proof."""
LARGEST_TREE = 60
"""Nodes; larger trees are easier to read as text."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The requested picture of a nest.

    ``picture``: "space", the iterations of two ``loops``; "tree", the schedule tree;
    "kernel", the cells that blocks and threads of the first kernel write. ``tiles``:
    iterations of a tile along both loops; (0, 0) for none.
    """

    sizes: Sizes
    picture: str = "space"
    loops: tuple[str, ...] = ()
    tiles: tuple[int, ...] = (4, 4)

    def __post_init__(self) -> None:
        """Raises InvalidOption for unusable values."""
        for name, valid, hint in self._rules():
            if not valid:
                value = getattr(self, name)
                raise errors.InvalidOption(name=name, value=value, hint=hint)

    def _rules(self) -> Iterator[tuple[str, bool, str]]:
        yield "picture", self.picture in PICTURES, f"Pass one of {', '.join(PICTURES)}"
        yield "loops", len(self.loops) in {0, 2}, "Pass two loops, the outer one first"
        pair = len(self.tiles) == 2 and min(self.tiles) >= 0
        yield "tiles", pair, "Pass two numbers of iterations, or 0, 0 for none"

    def nest(
        self, subject: Subject, nest: Nest, title: str, mappings: Sequence[Mapped] = ()
    ) -> Element:
        """The picture; raises NoPicture where there is none."""
        if self.picture == "tree":
            return tree_picture(nest_tree(nest), title)
        if self.picture == "kernel":
            return _first_share(nest, mappings, title)
        outer, inner = self._pair(nest, title)
        with nest.model.solver.more(PATIENCE):
            found = plane(subject, nest, (outer, inner), self.sizes)
        return space_picture(found, self._tiles(nest, outer, inner), title)

    def _pair(self, nest: Nest, title: str) -> tuple[Loop, Loop]:
        pairs = planes(nest)
        if not pairs:
            raise errors.NoPicture(
                what=title,
                reason="it has no two nested loops with affine bounds",
                hint="Draw its schedule tree instead, with --picture tree",
            )
        if not self.loops:
            return pairs[0]
        for pair in pairs:
            if tuple(loop.name for loop in pair) == self.loops:
                return pair
        known = errors.one_of([f"{a.name},{b.name}" for a, b in pairs])
        raise errors.NoPicture(
            what=title,
            reason=f"{', '.join(self.loops)} are not two of its nested loops",
            hint=f"Choose one of: {known}",
        )

    def _tiles(self, nest: Nest, outer: Loop, inner: Loop) -> Tiles | None:
        """Legal tiles, or refused ones if the two loops are adjacent."""
        rows, columns = self.tiles
        if not rows or not columns:
            return None
        band = nest.band_of(outer)
        if inner.name in band.names:
            return Tiles(rows, columns)
        ended = band.ended_by
        adjacent = band.loops[-1] is outer and outer.body == (inner,)
        if ended is None or ended.dependence is None or not adjacent:
            return None
        return Tiles(rows, columns, ended.reason)


def _first_share(nest: Nest, mappings: Sequence[Mapped], title: str) -> Element:
    """The share of the first written array in the first kernel of a nest."""
    places = {file_location(location_of(s.node)) for s in nest.statements}
    for mapping in mappings:
        for kernel in mapping.kernels:
            drawn = list(_shares(kernel)) if kernel.places & places else []
            if drawn:
                return drawn[0]
    raise errors.NoPicture(
        what=title,
        reason="no kernel was made from it, or what it writes depends on the host",
        hint="Read the text, or ask for another target",
    )


def _shares(kernel: MappedKernel) -> Iterator[Element]:
    for share in kernel.shares:
        if share.writes and share.memory == "global":
            title = f"{kernel.name}: who writes {share.array}"
            picture = share_picture(kernel, share, title)
            if picture is not None:
                yield picture


def nest_pictures(
    subject: Subject, nest: Nest, title: str, sizes: Sizes
) -> Sequence[Element]:
    """The iteration space, if it can be drawn, and the schedule tree."""
    drawing = Drawing(sizes)
    tree = tree_picture(nest_tree(nest), "schedule tree, as written")
    if not planes(nest):
        return [tree]
    return [drawing.nest(subject, nest, title), tree]


def kernel_pictures(mapping: Mapped) -> Sequence[Element]:
    """Per kernel, the cells that it writes, and the schedule tree as mapped."""
    found: list[Element] = []
    for kernel in mapping.kernels:
        found += _shares(kernel)
        if sum(1 for _ in kernel.tree.walk()) <= LARGEST_TREE:
            title = f"{kernel.name}: schedule tree, as mapped"
            found.append(tree_picture(kernel.tree, title))
    return found
