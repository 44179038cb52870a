"""A subset of CuPy's functions, on the current emulated device.

>>> a = asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
>>> a[:, 1].get().tolist(), a.T.strides
([1.0, 4.0], (4, 12))
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpucodegen.runtime.devices import emulated_device
from gpucodegen.runtime.devices.emulated_array import EmulatedArray
from gpucodegen.runtime.devices.emulated_streams import EmulatedStream
from gpucodegen.runtime.devices.protocol import Shape

__all__ = [
    "EmulatedArray",
    "asarray",
    "ascontiguousarray",
    "asnumpy",
    "cuda",
    "empty",
    "zeros",
]


def empty(shape: Shape, dtype: npt.DTypeLike = np.float64) -> EmulatedArray:
    """Uninitialised memory of the current emulated device."""
    return emulated_device.current().empty(tuple(shape), np.dtype(dtype))


def zeros(shape: Shape, dtype: npt.DTypeLike = np.float64) -> EmulatedArray:
    """Zeros on the current emulated device."""
    return asarray(np.zeros(shape, dtype))


def asarray(contents: npt.ArrayLike) -> EmulatedArray:
    """A copy on the current emulated device."""
    here = np.asarray(contents)
    there = empty(here.shape, here.dtype)
    there.set(np.ascontiguousarray(here).reshape(here.shape))
    return there


def asnumpy(array: EmulatedArray) -> npt.NDArray[Any]:
    """The contents in main memory."""
    return array.get()


def ascontiguousarray(array: EmulatedArray) -> EmulatedArray:
    """The array itself if it is contiguous, else a copy."""
    if array.flags.c_contiguous:
        return array
    made = array.device.empty(array.shape, array.dtype)
    made[...] = array
    return made


def _stream(*, null: bool = False, non_blocking: bool = False) -> EmulatedStream:
    """A new stream of the current emulated device."""
    device = emulated_device.current()
    return (
        device.streams.default if null else device.new_stream(non_blocking=non_blocking)
    )


def _current_stream() -> EmulatedStream:
    """The thread's current stream of the current emulated device."""
    return emulated_device.current().streams.current


cuda = SimpleNamespace(
    Device=emulated_device.using, Stream=_stream, get_current_stream=_current_stream
)
"""As ``cupy.cuda``: devices and streams, which are made current by ``with``."""
