"""Arguments of a function for a report: those of a call, or made up.

Made-up ones have the sizes that a reader asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpucodegen.calls.function import Function
from gpucodegen.dialects.builtin import Module
from gpucodegen.report.gpu.arguments.extents import OpenExtents
from gpucodegen.report.sizes import Sizes
from gpucodegen.runtime.cuda.engine import CudaEngine
from gpucodegen.runtime.devices import choice
from gpucodegen.runtime.devices.protocol import Device
from gpucodegen.runtime.host.arguments import Parameter
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import storage

DEFAULTS = {0: 1024, 1: 1024, 2: 1024, 3: 128}
"""Extent of an open dimension where none is asked for, by the most dimensions that an
argument has; of more dimensions `SMALL`."""
SMALL = 32


class Memory(Protocol):
    """Where arrays are made: a device (`gpucodegen.runtime.devices`), or the host."""

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
    """Arguments, and what was chosen for open extents and numbers."""

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
