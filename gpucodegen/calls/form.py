"""What decides over a call but addresses and the values of numbers: its form.

Comes in: the arguments of a call, and the environment.  Goes out: a key; calls of one
form are made by one plan.
"""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from gpucodegen.calls.foreign.libraries import OWN, library_of
from gpucodegen.runtime.host.arguments import alignment_of
from gpucodegen.runtime.storage.machine_code import C_LIBRARY
from gpucodegen.tiling.machine.gpu.devices import WIDEST

Form = Hashable


def form_of(arguments: Sequence[object]) -> Form:
    """The target that the environment asks for, and the form of each argument.

    That is its type, and of an array its element type, extents, strides and access, or
    the device that it lies on and the bytes that divide its address.

    >>> a, b = np.zeros((2, 3)), np.ones((2, 3))
    >>> form_of((a, 1)) == form_of((b, 2)), form_of((a, 1)) == form_of((a.T, 1))
    (True, False)
    """
    form: list[Hashable] = [required_target()]
    for a in arguments:
        if type(a) is np.ndarray:
            form.append((a.dtype, a.shape, a.strides, a.flags.writeable))
        else:
            form.append(type(a) if type(a) in NUMBERS else _other(type(a), a))
    return tuple(form)


NUMBERS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
"""Types of Python and NumPy whose values are numbers."""


def _other(kind: type[object], value: Any) -> Hashable:
    """The form of an array of CuPy or its like; the type alone of anything else."""
    if library_of(kind) is not OWN:
        return kind
    try:
        place = getattr(value.data, "device_id", None)
        room = place is not None and alignment_of(value.data.ptr, WIDEST)
        form: Hashable = kind, value.shape, value.strides, value.dtype, place, room
        hash(form)
    except Exception:  # noqa: BLE001 - whatever other libraries raise
        return kind
    return form


TARGET_VARIABLE = ctypes.create_string_buffer(b"GPUCODEGEN_TARGET")
_getenv = ctypes.PyDLL(C_LIBRARY).getenv
_getenv.argtypes, _getenv.restype = (ctypes.c_char_p,), ctypes.c_char_p


def required_target() -> bytes | None:
    """The target that the environment asks for, whatever a program says.

    Asked of the C library, which `os.environ` keeps up to date: that takes 0.16 us,
    where `os.environ.get` takes 0.8, a fifth of a repeated call.

    >>> import os
    >>> required_target() == os.environb.get(b"GPUCODEGEN_TARGET")
    True
    """
    return _getenv(TARGET_VARIABLE)
