"""MLIR text and recipe of grouped convolutions, transposed or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from gpucodegen.dialects.shared.window_phases import Phase
from gpucodegen.kernels.arrays import Memory, require_rank, require_shape
from gpucodegen.kernels.calls import Recipe, View
from gpucodegen.kernels.elements import Element
from gpucodegen.kernels.function_text import Memref, Text
from gpucodegen.kernels.products.matmul import Epilogue, one_element
from gpucodegen.kernels.products.texts import Contraction, Factor
from gpucodegen.kernels.windows import texts
from gpucodegen.kernels.windows.geometry import Layout, SlidingWindow, Widths
from gpucodegen.records import dataclass


def checked(name: str, arrays: tuple[Memory, ...], layout: Layout) -> Element:
    """The element of image, filters and bias, after checks of their ranks."""
    names = ["x", "w", "bias"][: len(arrays)]
    for array, argument in zip(arrays[:2], names, strict=False):
        rank = (layout.sides + 2,)
        require_rank(array, rank, function=name, argument=argument)
    return one_element(arrays, names, name)


@dataclass(frozen=True, slots=True)
class Form:
    """A grouped convolution: its name, layout, element and groups.

    ``turns``: filters are those of a transposed convolution, which are flipped.
    """

    name: str
    layout: Layout
    element: Element
    groups: texts.Groups
    turns: bool = False

    def write(
        self,
        window: SlidingWindow,
        rest: Sequence[Memory],
        after: Epilogue,
        border: Widths,
        sides: Sequence[Sequence[Phase]] = (),
    ) -> Text:
        """Write the text; images are padded first.

        ``sides``: the phases of a dilated image, if it is one.
        """
        text, layout, groups = Text(name=self.name), self.layout, self.groups
        names = layout.names("n", "c", [f"s{n}" for n in range(layout.sides)])
        names = texts.replaced(names, layout.channels, [*groups.sources])
        image = text.array("image", self.element, len(names))
        axes = [names.index(f"s{n}") for n in range(layout.sides)]
        image = texts.padded(text, image, axes, border, 0)
        filters = self._filters(text, window)
        made = Contraction(text)
        more: list[Factor] = []
        for array in rest:
            channels = (groups.count * groups.made,)
            require_shape(array, channels, function=self.name, argument="bias")
            more.append(made.factor("bias", self.element, tuple(groups.results)))
        labels = layout.names("n", "f", [f"o{n}" for n in range(layout.sides)])
        labels = texts.replaced(labels, layout.channels, [*groups.results])
        every = tuple(labels)
        out = text.array("out", self.element, len(labels))
        summed = self.element.summed
        is_plain = after == Epilogue() and self.element.mlir == summed.mlir
        beside = self._zeros(made, after, more, Factor(out, every), sides)
        met = [[phase for phase in side if phase.taps] for side in sides]
        for chosen in product(*met):
            steps = {f"o{n}": (p.period, p.first) for n, p in enumerate(chosen)}
            is_whole = all(step == (1, 0) for step in steps.values())
            extents = text.dims(out)
            for n, phase in enumerate(chosen if not is_whole else ()):
                at = labels.index(f"o{n}")
                extents[at] = _count(text, extents[at], phase)
            is_result = is_plain and is_whole
            sums = out if is_result else text.alloc(summed, extents)
            own, places = _part(window, border, chosen)
            texts.convolve(text, image, filters, sums, layout, own, groups, places)
            if not is_result:
                into, last = Factor(out, every, steps), len(chosen) - 1
                distances = beside[chosen[last]] if beside else ()
                zeros = [_moved(into, f"o{last}", by) for by in distances]
                after.apply(made, Factor(sums, every), more, into, zeros=zeros)
        return text

    def _zeros(
        self,
        made: Contraction,
        after: Epilogue,
        more: Sequence[Factor],
        out: Factor,
        sides: Sequence[Sequence[Phase]],
    ) -> Mapping[Phase, Sequence[int]]:
        """Write outputs without taps, but those beside the phases of the last side.

        These are returned.  A fill of the whole result takes their place where several
        other sides have such outputs.
        """
        text = made.text
        empty = [[p for p in side if not p.taps] for side in sides]
        if not any(empty):
            return {}
        others = [n for n, phases in enumerate(empty[:-1]) if phases]
        beside = empty_outputs(sides[-1])
        if beside is None or len(others) > 1:
            after.apply_to_zeros(made, more, out)
            return {}
        for n in others:
            name = f"o{n}"
            extent = text.dims(out.memref)[out.labels.index(name)]
            for count in dict.fromkeys(p.count for p in empty[n]):
                found = [p for p in empty[n] if p.count == count]
                rows = [replace(out, steps={name: (p.period, p.first)}) for p in found]
                size = _count(text, extent, found[0])
                shape = text.alloc(self.element, [size])  # never read
                extents = Factor(shape, (name,))
                after.apply_to_zeros(made, more, *rows, shape=extents)
        name = f"o{len(sides) - 1}"
        for index in beside.rest:
            names = tuple("" if label == name else label for label in out.labels)
            place = Factor(out.memref, names, {"": (1, index)})
            after.apply_to_zeros(made, more, place)
        return beside.beside

    def _filters(self, text: Text, window: SlidingWindow) -> Memref:
        layout, groups = self.layout, self.groups
        taps = [f"k{n}" for n in range(layout.sides)]
        names = texts.filter_axes(
            layout,
            layout.filter_names("c", "f", taps),
            [*groups.results],
            groups.terms,
        )
        if not self.turns:
            return text.array("filters", self.element, len(names))
        given = self.given(layout.filter_names("c", "f", taps), groups.results)
        filters = text.array("filters", self.element, len(given))
        return texts.turned(text, filters, given, names, window.extents)

    def given(self, names: Sequence[str], made: Mapping[str, int]) -> list[str]:
        """The axes of a transposed convolution's filters as passed by the caller."""
        layout, groups = self.layout, self.groups
        some = [name for name in made if name != "g"]
        ends = (layout.made, [*groups.sources]), (layout.taken, some)
        if layout.is_last:  # (H, W, C, F): what they take comes before what they make
            ends = (layout.taken, [*groups.sources]), (layout.made, some)
        found = [*names]
        for axis, new in sorted(ends, reverse=True):
            found = texts.replaced(found, axis, new)
        return found

    def recipe(
        self, text: Text, arrays: Sequence[Memory], shape: tuple[int, ...]
    ) -> Recipe:
        """The recipe, with channels split into groups if there are several."""
        if self.groups.count == 1:
            return Recipe(text, shape, self.element.numpy)
        layout, groups = self.layout, self.groups
        x, w, *rest = arrays
        results = [*groups.results.values()]
        image = texts.replaced(x.shape, layout.channels, [*groups.sources.values()])
        taps = [w.shape[axis] for axis in layout.window]
        if self.turns:
            sizes = {f"k{n}": extent for n, extent in enumerate(taps)}
            sizes |= groups.sources | groups.results
            names = layout.filter_names("c", "f", [f"k{n}" for n in range(len(taps))])
            filters = [sizes[name] for name in self.given(names, groups.results)]
        else:
            terms = groups.terms.values()
            filters = texts.filter_axes(layout, w.shape, results, terms)
        views = [
            _reshaped(image),
            _reshaped(filters),
            *(_reshaped(results) for _ in rest),
        ]
        inside = tuple(texts.replaced(shape, layout.channels, results))
        return Recipe(text, shape, self.element.numpy, views=views, inside=inside)


MOST_NEIGHBOURS = 4
"""Outputs that the epilogue of one phase may write for each sum, itself included."""


@dataclass(frozen=True, slots=True)
class EmptyOutputs:
    """The outputs along a side that meet no tap.

    These are ``p.first + d + p.period * u``, u below ``p.count``, for each phase p that
    meets taps and each distance d ``beside`` it, and the indices ``rest``.
    """

    beside: Mapping[Phase, Sequence[int]]
    rest: Sequence[int]


def empty_outputs(side: Sequence[Phase]) -> EmptyOutputs | None:
    """Those of a side; None if a fill writes them at less cost.

    A phase without taps is written with one that has them and no more outputs.

    >>> from gpucodegen.dialects.shared.window_phases import phases
    >>> side = [*phases(4, 3, 9, stride=1, dilation=2, spacing=2, low=3)]
    >>> [(p.first, p.count, p.taps) for p in side]
    [(0, 5, 0), (1, 4, 3)]
    >>> found = empty_outputs(side)
    >>> [*found.beside.values()], found.rest
    ([[-1]], [8])
    """
    beside = {phase: list[int]() for phase in side if phase.taps}
    rest: list[int] = []
    for phase in side:
        choices = [
            (phase.count - met.count, abs(phase.first - met.first), met)
            for met in beside
            if met.count <= phase.count
        ]
        if phase.taps:
            continue
        if not choices:
            return None
        more, _, met = min(choices, key=lambda choice: choice[:2])
        beside[met].append(phase.first - met.first)
        ends = range(phase.count - more, phase.count)
        rest += [phase.first + phase.period * u for u in ends]
    most = max(map(len, beside.values()), default=0)
    return EmptyOutputs(beside, rest) if most < MOST_NEIGHBOURS else None


def _moved(place: Factor, label: str, distance: int) -> Factor:
    """A place whose index along an axis is by some distance larger."""
    step, first = place.steps[label]
    return replace(place, steps={**place.steps, label: (step, first + distance)})


def _part(
    window: SlidingWindow, border: Widths, chosen: Sequence[Phase]
) -> tuple[SlidingWindow, list[texts.Place]]:
    """The window of some phases, and where it begins if not at each first element."""
    if not chosen:
        return window, []
    taps = tuple(p.taps for p in chosen)
    strides, dilations = (
        tuple(p.stride for p in chosen),
        tuple(p.dilation for p in chosen),
    )
    places = [
        texts.Place(low - p.low, p.tap, p.tap_step)
        for (low, _), p in zip(border, chosen, strict=True)
    ]
    is_moved = any(p.image or p.tap or p.tap_step > 1 for p in places)
    is_part = taps != window.extents
    return SlidingWindow(
        taps, strides, dilations
    ), places if is_moved or is_part else []


def _count(text: Text, extent: str, phase: Phase) -> str:
    """The number of outputs of a phase among ``extent``."""
    more = phase.period - 1 - phase.first
    map_ = f"affine_map<(d0) -> ((d0 + {more}) floordiv {phase.period})>"
    return text.once(f"affine.apply {map_}({extent})")


def _reshaped(shape: Sequence[int]) -> View:
    return lambda array: array.reshape(shape)
