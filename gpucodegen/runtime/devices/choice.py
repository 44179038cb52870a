"""Which device serves a call: its arguments', else the current one.

``GPUCODEGEN_DEVICE=emulated`` makes the emulated device the one that NumPy arguments
travel to; without it that is a GPU.  Arrays of either stay where they are.
"""

from __future__ import annotations

import os
from typing import Any

from gpucodegen import errors
from gpucodegen.runtime.devices.emulated_array import EmulatedArray
from gpucodegen.runtime.devices.protocol import Device

VARIABLE = "GPUCODEGEN_DEVICE"
KINDS = ("gpu", "emulated")


def kind() -> str:
    """The kind of device that is asked for: "gpu", or "emulated"."""
    chosen = os.environ.get(VARIABLE) or KINDS[0]
    if chosen not in KINDS:
        raise errors.UnknownDevice(name=chosen, known=errors.one_of(KINDS))
    return chosen


def current() -> Device:
    """The device that NumPy arguments travel to."""
    if kind() == "emulated":
        from gpucodegen.runtime.devices import emulated_device

        return emulated_device.current()
    from gpucodegen.runtime.devices import cupy_device

    return cupy_device.current()


def device_of(array: Any) -> Device:
    """The device that an array lies on."""
    if isinstance(array, EmulatedArray):
        return array.device
    from gpucodegen.runtime.devices import cupy_device

    return cupy_device.device(int(array.device.id))


def is_device_array(value: object) -> bool:
    """Whether an array is one of CuPy's or of the emulated device."""
    module = type(value).__module__.partition(".")[0]
    return module == "cupy" or isinstance(value, EmulatedArray)


def taken_in(value: Any) -> Any:
    """The device array of another library's array, over the same memory.

    Raises `ValueError` where it describes no memory of a device.
    """
    described = value.__cuda_array_interface__
    if kind() == "gpu":
        return cupy_module().asarray(value)
    from gpucodegen.runtime.devices import emulated_device

    return emulated_device.current().adopted(described, value)


def cupy_module() -> Any:
    """CuPy, which owns the memory of GPUs; `ImportError` where it is not installed."""
    try:
        import cupy
    except ImportError as problem:
        message = "it lies on a GPU, and CuPy is not installed"
        raise ImportError(message) from problem
    return cupy
