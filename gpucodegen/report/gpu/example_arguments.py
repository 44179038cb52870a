"""Example arguments of a function for a report, and lengths of its open axes.

`made_up` allocates arguments of the requested sizes; `copied` copies those of a call.
`OpenExtents.lengths` chooses a length for every open axis, such that the program stays
inside its arrays; axes with a common name have one length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.function import Function
from gpucodegen.dialects.builtin import Module
from gpucodegen.records import dataclass
from gpucodegen.report.sizes import Sizes
from gpucodegen.report.subjects import Subject, subject
from gpucodegen.runtime.cuda.engine import CudaEngine
from gpucodegen.runtime.devices import choice
from gpucodegen.runtime.devices.protocol import Device
from gpucodegen.runtime.host.arguments import Parameter
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import storage
from gpucodegen.tiling.model.points import touched

Place = tuple[str, int]
"""An argument and one of its axes."""
WINDOW = 3
"""Default extent of a window, such as the taps of a filter."""


@dataclass(frozen=True, slots=True)
class OpenExtents:
    """The open axes of a function's arguments.

    ``names``: those of each axis, the one to show last.  ``found``: the function's
    nests, None where the analysis refuses it; ``called``: the analysis's names of
    extents.
    """

    names: Mapping[Place, tuple[str, ...]]
    found: Subject | None = None
    called: tuple[tuple[Place, str], ...] = ()

    @staticmethod
    def of(module: Module, name: str, parameters: Sequence[Parameter]) -> OpenExtents:
        """The axes of a function; without nests each axis has a name of its own."""
        names = {
            (p.name, axis): {f"{p.name}_size{axis}"}
            for p in parameters
            for axis, extent in enumerate(p.shape or ())
            if extent is None
        }
        try:
            found = subject(module, name)
        except errors.Error:
            return OpenExtents({place: tuple(own) for place, own in names.items()})
        written = {v.name for op in module.functions[name].walk() for v in op.results}
        known = {*written, *(one for own in names.values() for one in own)}
        called = tuple(_called(found, parameters))
        for place, extent in called:
            if place in names:
                names[place] |= known.intersection(found.names.get(extent, ()))
        alike = [_alike(own, list(names.values())) for own in names.values()]
        ordered = (
            tuple(sorted(group, key=lambda one: (one in written, one)))
            for group in alike
        )
        return OpenExtents(dict(zip(names, ordered, strict=True)), found, called)

    @property
    def every_name(self) -> list[str]:
        """The names that a reader may give."""
        return [name for names in self.names.values() for name in names]

    def lengths(self, sizes: Sizes, default: int) -> dict[Place, int]:
        """The given lengths, else the default, or more where accesses reach further."""
        windows = _Windows() if self.found is None else _Windows.of(self.found)
        small = {place for place, extent in self.called if extent in windows.extents}
        lengths = {
            place: sizes.of(names, WINDOW if place in small else default)
            for place, names in self.names.items()
        }
        for place, names in self.names.items():
            reached = self._reached(place, lengths)
            if reached and not sizes.given.keys() & set(names):
                least = 0 if place in windows.under else lengths[place]
                lengths[place] = max(least, reached)
        return lengths

    def _reached(self, place: Place, lengths: Mapping[Place, int]) -> int:
        """The least extent that holds all accesses if other axes have these lengths.

        0 where it is not determined, or where an extent depends on this one.
        """
        group = self.names[place]
        if self.found is None or list(self.names.values()).count(group) > 1:
            return 0
        sizes = {
            extent: lengths[other]
            for other, extent in self.called
            if other in lengths and other != place
        }
        array, axis = place
        nests = self.found.nests
        boxes = [touched(nest.model, array, {}, sizes=sizes) for nest in nests]
        ends = [box[axis].upper for box in boxes if box is not None]
        return max((end + 1 for end in ends if end is not None), default=0)


def _called(
    found: Subject, parameters: Sequence[Parameter]
) -> Iterator[tuple[Place, str]]:
    """Axes of arguments, with the analysis's names of their extents.

    A loop from 0 along an axis ends at its extent.
    """
    for p, shape in zip(parameters, found.shapes, strict=True):
        for axis, extent in enumerate(shape or ()):
            if isinstance(extent, str):
                yield (p.name, axis), extent
    for nest in found.nests:
        for reference in nest.model.references:
            bounds = {
                loop.name: loop.uppers[0]
                for loop in reference.instances.loops
                if loop.lowers == ("0",) and len(loop.uppers) == 1
            }
            for axis, index in enumerate(reference.access.indices):
                if index in bounds:
                    yield (reference.access.array, axis), bounds[index]


@dataclass(frozen=True, slots=True)
class _Windows:
    """Axes that several loops index together.

    ``under``: those axes; ``extents``: of those loops that index no result.
    """

    under: frozenset[Place] = frozenset()
    extents: frozenset[str] = frozenset()

    @staticmethod
    def of(found: Subject) -> _Windows:
        """The windows of a function."""
        under, sums, results = set[Place](), set[str](), set[str]()
        for reference in (r for nest in found.nests for r in nest.model.references):
            loops = {loop.name: loop.uppers for loop in reference.instances.loops}
            for axis, index in enumerate(reference.access.indices):
                moving = loops.keys() & set(re.findall(r"\w+", index or ""))
                bounds = {bound for name in moving for bound in loops[name]}
                results |= bounds if reference.access.writes else set()
                if len(moving) > 1:
                    sums |= bounds
                    under.add((reference.access.array, axis))
        return _Windows(frozenset(under), frozenset(sums - results))


def _alike(names: set[str], others: Sequence[set[str]]) -> set[str]:
    """All names of an extent, including those of extents that share one of them."""
    group = set(names)
    while True:
        more = group.union(*(other for other in others if other & group))
        if more == group:
            return group
        group = more


DEFAULTS = {0: 1024, 1: 1024, 2: 1024, 3: 128}
"""Default extent of an open dimension, by the largest rank of the arguments; `SMALL`
for larger ranks.
"""
SMALL = 32


class Memory(Protocol):
    """The memory of arrays: a device (`gpucodegen.runtime.devices`), or the host."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array of its own, uninitialised."""
        ...

    def fill(self, array: Any, value: Any) -> None:
        """One number to every element."""
        ...


class HostMemory:
    """NumPy's arrays.

    >>> HostMemory().empty((2, 3), np.dtype("f4")).shape
    (2, 3)
    """

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array of its own, uninitialised."""
        return np.empty(shape, dtype)

    def fill(self, array: Any, value: Any) -> None:
        """One number to every element."""
        array.fill(value)


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Arguments, and the chosen open extents and numbers."""

    values: tuple[Any, ...]
    names: tuple[str, ...]
    sizes: Mapping[str, int]


def made_up(module: Module, function: Function, sizes: Sizes, device: Memory) -> MadeUp:
    """Arguments of a function: arrays of ones, and numbers that are extents.

    A number of type ``index`` is the size of its name.  Raises InvalidOption for a name
    that no extent has, OutOfMemory.
    """
    parameters = function.signature.parameters
    extents = OpenExtents.of(module, function.name, parameters)
    scalars = [p.name for p in parameters if p.shape is None and p.dtype == "index"]
    sizes.check([*scalars, *extents.every_name])
    rank = max((len(p.shape) for p in parameters if p.shape is not None), default=0)
    default = DEFAULTS.get(rank, SMALL)
    lengths = extents.lengths(sizes, default)
    chosen: dict[str, int] = {}
    values: list[Any] = []
    for parameter in parameters:
        if parameter.shape is None:
            values.append(_number(parameter, sizes, default, chosen))
            continue
        shape: list[int] = []
        for axis, extent in enumerate(parameter.shape):
            place = parameter.name, axis
            if extent is None:
                chosen[extents.names[place][-1]] = lengths[place]
            shape.append(lengths[place] if extent is None else extent)
        values.append(_array(parameter, (*shape, *parameter.vector), device))
    return MadeUp(tuple(values), tuple(p.name for p in parameters), chosen)


def copied(
    module: Module, function: Function, arguments: Sequence[Any], device: Device
) -> MadeUp:
    """The arguments of a call as copies on a device.

    Copies have the extents, strides and alignments of the arrays, and share memory
    where these do.
    """
    values = function.converted(tuple(arguments))
    parameters = function.signature.parameters
    extents = OpenExtents.of(module, function.name, parameters)
    chosen = {
        extents.names[p.name, axis][-1]: int(extent)
        for p, value in zip(parameters, values, strict=True)
        for axis, extent in enumerate(value.shape if isinstance(value, Buffer) else ())
        if (p.name, axis) in extents.names
    }
    scalars = zip(parameters, values, strict=True)
    chosen |= {p.name: v for p, v in scalars if p.shape is None and p.dtype == "index"}
    engine = CudaEngine(choice.EMULATED, device)
    arrays = {n: v for n, v in enumerate(values) if isinstance(v, Buffer)}
    for n, there in engine.copies(arrays).items():
        array = arrays[n].array
        is_here = arrays[n].device == CPU
        contents = array if is_here else choice.device_of(array).fetch(array)()
        engine.assign(there, contents)
        values[n] = there.array
    return MadeUp(tuple(values), tuple(p.name for p in parameters), chosen)


def _number(
    parameter: Parameter, sizes: Sizes, default: int, chosen: dict[str, int]
) -> Any:
    if parameter.dtype != "index":
        return np.ones((), np.float32 if "f" in parameter.dtype else np.int32).item()
    chosen[parameter.name] = sizes.of((parameter.name,), default)
    return chosen[parameter.name]


def _array(parameter: Parameter, shape: tuple[int, ...], device: Memory) -> Any:
    dtype = storage(parameter.dtype)
    array = device.empty(shape, dtype)
    plain = parameter.dtype[0] == "f" or parameter.dtype.startswith("complex")
    device.fill(array, dtype.type(1 if plain else 0))
    return array
