"""Devices of a package that was exported for the CPU: there are none.

It takes the place of `gpucodegen.runtime.devices.choice`.
"""

from __future__ import annotations

from typing import Any, NoReturn


def is_device_array(value: object) -> bool:
    """No array is taken for one of a device."""
    del value
    return False


def taken_in(value: Any) -> NoReturn:
    """Refuse the array of a GPU."""
    del value
    message = "it lies on a GPU, and these kernels were exported for the CPU"
    raise ValueError(message)


def cupy_module() -> NoReturn:
    """Refuse it."""
    taken_in(None)
