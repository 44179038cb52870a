"""Selects the device of a call: that of its arguments, else the current one.

NumPy arguments of the target ``sim`` go to the emulated device.  Those of ``cuda`` do
so with ``GPUCODEGEN_DEVICE=emulated``, else to a GPU.  Device arrays stay on their
device.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpucodegen import errors
from gpucodegen.runtime.devices.emulated_array import EmulatedArray
from gpucodegen.runtime.devices.protocol import Device

VARIABLE = "GPUCODEGEN_DEVICE"
GPU, EMULATED = KINDS = ("gpu", "emulated")


def kind() -> str:
    """The kind of device that the environment requests."""
    chosen = os.environ.get(VARIABLE) or GPU
    if chosen not in KINDS:
        raise errors.UnknownDevice(name=chosen, known=errors.one_of(KINDS))
    return chosen


def current(required: str = "") -> Device:
    """The device for NumPy arguments.

    ``required``: its kind; else the environment decides.
    """
    if (required or kind()) == EMULATED:
        from gpucodegen.runtime.devices import emulated_device

        return emulated_device.current()
    from gpucodegen.runtime.devices import cupy_device

    return cupy_device.current()


def serving(arrays: Mapping[int, Any], required: str = "") -> Device:
    """The device of a call: that of its device arrays, by their argument positions.

    Raises WrongDevice for an array on another device, or not of the ``required`` kind.
    """
    places = {number: device_of(array) for number, array in arrays.items()}
    first = next(iter(places.values()), None)
    expected = current(required) if required or first is None else first
    if first is not None and isinstance(first, type(expected)):
        expected = first
    for number, place in places.items():
        if place is not expected:
            raise errors.WrongDevice(
                function="the call", argument=number, actual=place, expected=expected
            )
    return expected


def device_of(array: Any) -> Device:
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

    Raises `ValueError` if it describes no device memory.
    """
    described = value.__cuda_array_interface__
    if kind() == GPU:
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
