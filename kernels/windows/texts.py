"""MLIR text of sliding windows: padding, grouped filters, convolution, pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import TypeVar

from gpucodegen.kernels.elements import I64, INDEX
from gpucodegen.kernels.function_text import Memref, Operand, Text
from gpucodegen.kernels.products.texts import stepped
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.kernels.windows.geometry import Layout, Sizes, SlidingWindow, Widths
from gpucodegen.records import dataclass

T = TypeVar("T")


def shifted(text: Text, index: str, factor: int, width: int) -> str:
    """``index * factor + width``, computed where it is used."""
    if factor == 1 and not width:
        return index
    expression = f"affine_map<(d0) -> (d0 * {factor} + {width})>"
    return text.once(f"affine.apply {expression}({index})")


def padded(
    text: Text, image: Memref, axes: Sequence[int], widths: Widths, first: complex
) -> Memref:
    """An image padded with one number; itself without padding."""
    if not any(map(any, widths)):
        return image
    extents = text.dims(image)
    for axis, (low, high) in zip(axes, widths, strict=True):
        extents[axis] = shifted(text, extents[axis], 1, low + high)
    made = text.alloc(image.element, extents)
    text.fill(made, text.constant(first, image.element))
    _copy(
        text,
        image,
        made,
        {a: low for a, (low, _) in zip(axes, widths, strict=True)},
        [],
    )
    return made


def _copy(
    text: Text,
    image: Memref,
    made: Memref,
    lows: dict[int, int],
    places: list[str],
) -> None:
    axis = len(places)
    if axis < image.rank:
        with text.loop(0, text.dim(image, axis)) as index:
            _copy(text, image, made, lows, [*places, index])
        return
    there = list(places)
    for side, low in lows.items():
        there[side] = f"{places[side]} + {low}"
    text.store(text.load(image, *places), made, *there)


@dataclass(frozen=True, slots=True)
class Groups:
    """The number of groups, and the input and output channels of each.

    With several groups, channels are two axes; an axis of extent 1 is dropped.
    """

    count: int
    taken: int
    made: int

    @property
    def sources(self) -> dict[str, int]:
        """Channel axes of an input image, with their extents."""
        return self._axes("c", self.taken)

    @property
    def results(self) -> dict[str, int]:
        """Channel axes of an output image, with their extents."""
        return self._axes("f", self.made)

    def _axes(self, name: str, extent: int) -> dict[str, int]:
        if self.count == 1:
            return {name: extent}
        return {"g": self.count} | ({name: extent} if extent != 1 else {})

    @property
    def terms(self) -> dict[str, int]:
        """Filter axes of the input channels."""
        return {} if self.count > 1 and self.taken == 1 else {"c": self.taken}


@dataclass(frozen=True, slots=True)
class Place:
    """The first image element of a window along a side, and the taps it meets."""

    image: int
    tap: int
    tap_step: int


def replaced(items: Sequence[T], at: int, new: Sequence[T]) -> list[T]:
    """A sequence with an item replaced by several.

    >>> replaced("nhwc", 3, "gc")
    ['n', 'h', 'w', 'g', 'c']
    """
    return [*items[:at], *new, *items[at + 1 :]]


def convolve(
    text: Text,
    image: Memref,
    filters: Memref,
    into: Memref,
    layout: Layout,
    window: SlidingWindow,
    groups: Groups,
    places: Sequence[Place] = (),
) -> None:
    """Write the sums of windows times filters to ``into``.

    ``places``: where the window begins in image and filters, side by side.
    """
    sides = range(layout.sides)
    outs, taps = [f"o{n}" for n in sides], [f"k{n}" for n in sides]
    made = [*groups.results]
    kept = replaced(layout.names("n", "f", outs), layout.channels, made)
    summed = [*taps, *groups.terms]
    if not layout.is_last and _fill_tiles(window):
        summed = [*groups.terms, *taps]
    loops = {name: f"d{n}" for n, name in enumerate([*kept, *summed])}
    moved = [under(loops, window, n) for n in sides]
    tapped = [loops[tap] for tap in taps]
    inputs = list[Operand]()
    if places:
        moved = [stepped(at, 1, p.image) for at, p in zip(moved, places, strict=True)]
        tapped = [
            stepped(tap, p.tap_step, p.tap)
            for tap, p in zip(tapped, places, strict=True)
        ]
        extents = [text.constant(n, INDEX).name for n in window.extents]
        counts = text.alloc(into.element, extents)  # never read: it tells the extents
        inputs.append(Operand(counts, [loops[tap] for tap in taps]))
    taken = replaced(layout.names("n", "c", moved), layout.channels, [*groups.sources])
    weights = filter_axes(
        layout, layout.filter_names("c", "f", tapped), made, groups.terms
    )

    def at(names: Sequence[str]) -> list[str]:
        return [loops.get(name, name) for name in names]

    def body(x: Value, w: Value, *others: Value) -> Value:
        y = others[-1]
        factors = [text.cast(value, into.element) for value in (x, w)]
        return text.binary("add", y, text.total("mul", factors))

    text.fill(into, text.constant(0, into.element))
    text.generic(
        "p" * len(kept) + "r" * len(summed),
        [Operand(image, at(taken)), Operand(filters, at(weights)), *inputs],
        [Operand(into, at(kept))],
        body,
    )


TILE = range(8, 22)
"""Terms of a K tile of a GPU's products without tensor cores."""


def _fill_tiles(window: SlidingWindow) -> bool:
    """Whether K tiles have whole runs of taps, which filters hold side by side."""
    runs = [*accumulate(reversed(window.extents), mul)]
    return runs[-1] < TILE.stop or any(run in TILE for run in runs)


def filter_axes(
    layout: Layout, axes: Sequence[T], made: Sequence[T], taken: Iterable[T]
) -> list[T]:
    """Filter axes, with those of groups inserted."""
    ends = sorted(((layout.made, [*made]), (layout.taken, [*taken])), reverse=True)
    found = [*axes]
    for axis, new in ends:
        found = replaced(found, axis, new)
    return found


def under(loops: Mapping[str, str], window: SlidingWindow, side: int) -> str:
    """The image index under a tap of a window."""
    out, tap = loops[f"o{side}"], loops[f"k{side}"]
    return f"{out} * {window.strides[side]} + {tap} * {window.dilations[side]}"


def turned(
    text: Text,
    filters: Memref,
    given: Sequence[str],
    names: Sequence[str],
    extents: Sizes,
) -> Memref:
    """Filters with permuted axes, flipped along the spatial axes k0, k1, ..."""
    loops = {name: f"d{n}" for n, name in enumerate(names)}
    back = dict(loops)
    for side, extent in enumerate(extents):
        back[f"k{side}"] = f"{extent - 1} - {loops[f'k{side}']}"
    made = text.alloc(
        filters.element, [text.dim(filters, given.index(n)) for n in names]
    )
    text.generic(
        "p" * filters.rank,
        [Operand(filters, [back[name] for name in given])],
        [Operand(made, [*loops.values()])],
        lambda value, _: value,
    )
    return made


def pool(
    text: Text,
    image: Memref,
    into: Memref,
    layout: Layout,
    window: SlidingWindow,
    first: complex,
    function: str,
) -> None:
    """Reduce the elements under each window with a function."""
    sides = range(layout.sides)
    outs, taps = [f"o{n}" for n in sides], [f"k{n}" for n in sides]
    kept = layout.names("n", "f", outs)
    loops = {name: f"d{n}" for n, name in enumerate([*kept, *taps])}
    moved = [under(loops, window, n) for n in sides]
    extents = [text.constant(extent, INDEX).name for extent in window.extents]
    shape = text.alloc(into.element, extents)
    text.fill(into, text.constant(first, into.element))

    def at(names: Sequence[str]) -> list[str]:
        return [loops.get(name, name) for name in names]

    text.generic(
        "p" * len(kept) + "r" * len(taps),
        [Operand(image, at(layout.names("n", "f", moved))), Operand(shape, at(taps))],
        [Operand(into, at(kept))],
        lambda x, _, y: text.binary(function, y, text.cast(x, into.element)),
    )


def divide(
    text: Text,
    sums: Memref,
    out: Memref,
    divisor: Callable[[], Value],
) -> None:
    """Divide sums by the number of elements of their windows."""
    loops = [f"d{n}" for n in range(sums.rank)]
    text.generic(
        "p" * sums.rank,
        [Operand(sums, loops)],
        [Operand(out, loops)],
        lambda value, _: text.binary("div", value, divisor()),
    )


def rounded(text: Text, sums: Memref, out: Memref) -> None:
    """Round sums to the type of ``out``."""
    loops = [f"d{n}" for n in range(sums.rank)]
    places = [Operand(sums, loops)], [Operand(out, loops)]
    text.generic("p" * sums.rank, *places, lambda value, _: value)


def covered(
    text: Text, image: Memref, layout: Layout, window: SlidingWindow, widths: Widths
) -> Value:
    """Number of image elements under a window, without padding."""
    zero, counts = text.constant(0, I64), list[Value]()
    for side, axis in enumerate(layout.image):
        place = text.position(axis, I64)
        stride = text.constant(window.strides[side], I64)
        low = text.constant(-widths[side][0], I64)
        start = text.binary("add", text.binary("mul", place, stride), low)
        end = text.binary("add", start, text.constant(window.extents[side], I64))
        most = text.extent(image, [axis], I64)
        counts.append(
            text.binary(
                "sub", text.binary("min", end, most), text.binary("max", start, zero)
            )
        )
    return text.total("mul", counts)
