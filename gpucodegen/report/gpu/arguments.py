"""Made-up arguments of a function, of the sizes that a reader asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.function import Function
from gpucodegen.dialects.builtin import Module
from gpucodegen.report.sizes import Sizes
from gpucodegen.report.subjects import Subject, subject
from gpucodegen.runtime.devices.protocol import Device
from gpucodegen.runtime.host.engines import storage
from gpucodegen.runtime.host.parameters import Parameter

DEFAULTS = {0: 1024, 1: 1024, 2: 1024, 3: 128}
"""Extent of an open dimension where none is asked for, by the most dimensions that an
argument has; of more dimensions `SMALL`."""
SMALL = 32


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Arguments on a device, and what was chosen for open extents and numbers."""

    values: tuple[Any, ...]
    names: tuple[str, ...]
    sizes: Mapping[str, int]


def made_up(module: Module, function: Function, sizes: Sizes, device: Device) -> MadeUp:
    """Arguments of a function: arrays of ones, and numbers that are extents.

    A number of type ``index`` is the size of its name.  Raises InvalidOption for a name
    that no extent has, OutOfMemory.
    """
    parameters = function.signature.parameters
    known = _extent_names(module, function.name, parameters)
    scalars = [p.name for p in parameters if p.shape is None and p.dtype == "index"]
    sizes.check([*scalars, *(name for names in known.values() for name in names)])
    rank = max((len(p.shape) for p in parameters if p.shape is not None), default=0)
    default = DEFAULTS.get(rank, SMALL)
    chosen: dict[str, int] = {}
    values: list[Any] = []
    for parameter in parameters:
        if parameter.shape is None:
            values.append(_number(parameter, sizes, default, chosen))
            continue
        shape: list[int] = []
        for axis, extent in enumerate(parameter.shape):
            names = known.get((parameter.name, axis), ())
            length = sizes.of(names, default) if extent is None else extent
            if extent is None:
                chosen[names[-1]] = length
            shape.append(length)
        values.append(_array(parameter, (*shape, *parameter.vector), device))
    return MadeUp(tuple(values), tuple(p.name for p in parameters), chosen)


def _number(
    parameter: Parameter, sizes: Sizes, default: int, chosen: dict[str, int]
) -> Any:
    if parameter.dtype != "index":
        return np.ones((), np.float32 if "f" in parameter.dtype else np.int32).item()
    chosen[parameter.name] = sizes.of((parameter.name,), default)
    return chosen[parameter.name]


def _array(parameter: Parameter, shape: tuple[int, ...], device: Device) -> Any:
    dtype = storage(parameter.dtype)
    array = device.empty(shape, dtype)
    plain = parameter.dtype[0] == "f" or parameter.dtype.startswith("complex")
    device.fill(array, dtype.type(1 if plain else 0))
    return array


def _extent_names(
    module: Module, name: str, parameters: Sequence[Parameter]
) -> dict[tuple[str, int], tuple[str, ...]]:
    """By argument and axis, the names of an open extent; the one to show comes last.

    The analysis of nests knows which extents are one number; where it takes no part of
    a function, each axis of an argument has a name of its own.
    """
    names = {
        (p.name, axis): {f"{p.name}_size{axis}"}
        for p in parameters
        for axis, extent in enumerate(p.shape or ())
        if extent is None
    }
    try:
        found = subject(module, name)
    except errors.Error:
        return {place: tuple(known) for place, known in names.items()}
    written = {v.name for op in module.functions[name].walk() for v in op.results}
    known = {*written, *(one for own in names.values() for one in own)}
    for place, extent in _extents(found, parameters):
        if place in names:
            names[place] |= known.intersection(found.names.get(extent, ()))
    alike = [_alike(own, list(names.values())) for own in names.values()]
    ordered = (
        tuple(sorted(group, key=lambda one: (one in written, one))) for group in alike
    )
    return dict(zip(names, ordered, strict=True))


def _alike(names: set[str], others: Sequence[set[str]]) -> set[str]:
    """All names of an extent, those of extents that share one of them included."""
    group = set(names)
    while True:
        more = group.union(*(other for other in others if other & group))
        if more == group:
            return group
        group = more


def _extents(
    found: Subject, parameters: Sequence[Parameter]
) -> Iterator[tuple[tuple[str, int], str]]:
    """Axes of arguments with what the analysis calls their extents.

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
