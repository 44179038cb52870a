"""Replaces `gpucodegen.runtime.devices.choice` in packages exported for the CPU.

There are no devices.
"""

from __future__ import annotations

from typing import Any, NoReturn


def is_device_array(value: object) -> bool:
    """No array counts as a device array."""
    del value
    return False


def taken_in(value: Any) -> NoReturn:
    """Refuse a GPU array."""
    del value
    message = "it lies on a GPU, and these kernels were exported for the CPU"
    raise ValueError(message)


def cupy_module() -> NoReturn:
    """Raises, since there is no CuPy."""
    taken_in(None)
