"""Whether a tuning measures or predicts, and for which architecture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gpucodegen import errors
from gpucodegen.compiling.targets import Target, registry
from gpucodegen.compiling.winners import is_cuda
from gpucodegen.report.gpu.report import ARCHITECTURE, device_of
from gpucodegen.runtime.devices import choice, inventory


def predicted_for(target: str, arch: str, arguments: Sequence[Any]) -> str:
    """The architecture that a tuning is a forecast for; "" where calls are timed.

    The emulated device is never timed.  ``arch``: what the caller asks for.  Raises
    InvalidOption for an unknown one, or one of a target without architectures.

    >>> predicted_for("cpu", "", []), predicted_for("sim", "", [])
    ('', 'sm_90a')
    """
    target = _chosen(target, arguments).name
    if not is_cuda(target):
        if arch:
            hint = "Give it with target='cuda' or 'sim'"
            raise errors.InvalidOption(name="arch", value=arch, hint=hint)
        return ""
    emulated = is_emulated(target, arguments)
    if not (arch or emulated or inventory.missing_for_cuda()):
        return ""
    wanted = arch or ARCHITECTURE
    device_of(wanted)
    return wanted


def is_emulated(target: str, arguments: Sequence[Any]) -> bool:
    """Whether calls run on the emulated device."""
    emulates = _chosen(target, arguments).emulates
    return emulates or choice.kind() == choice.EMULATED


def _chosen(target: str, arguments: Sequence[Any]) -> Target:
    """The target of calls, as the environment and the arguments say."""
    name = os.environ.get("GPUCODEGEN_TARGET") or target
    on_device = (hasattr(a, "__cuda_array_interface__") for a in arguments)
    return registry.chosen(name, on_device)
