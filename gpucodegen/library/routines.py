"""All that programs may call without defining it, by name."""

from __future__ import annotations

import time

import numpy as np

from gpucodegen.library.checks import CHECKS
from gpucodegen.library.given import Given, Routine
from gpucodegen.library.printing import numbers
from gpucodegen.library.prints import PRINTS, print_memref, prints_memref

_C_INTERFACE = "_mlir_ciface_"


def _seconds(given: Given) -> tuple[float]:
    """``rtclock``: seconds since 1970."""
    del given
    return (time.time(),)


def _nanoseconds(given: Given) -> tuple[int]:
    """``nanoTime``."""
    del given
    return (time.time_ns(),)


def _differences(given: Given) -> tuple[int]:
    """``verifyMemRef``: how many elements differ; -1 where the shapes do."""
    kind = given.kinds[0].removesuffix("[]")
    found, wanted = (numbers(given.contents(v), kind) for v in given.operands)
    if found.shape != wanted.shape:
        return (-1,)
    if found.dtype.kind != "f":
        return (int(np.count_nonzero(found != wanted)),)
    near = np.isclose(found, wanted, rtol=_NEAR[kind], atol=0, equal_nan=True)
    return (int(np.count_nonzero(~near)),)


_NEAR = {"f32": 1e-6, "f64": 1e-12}
"""Relative differences of floats that count as none."""

ROUTINES: dict[str, Routine] = {
    **PRINTS,
    **CHECKS,
    "rtclock": _seconds,
    "nanoTime": _nanoseconds,
    "verifyMemRefI8": _differences,
    "verifyMemRefI16": _differences,
    "verifyMemRefI32": _differences,
    "verifyMemRefI64": _differences,
    "verifyMemRefF32": _differences,
    "verifyMemRefF64": _differences,
    "verifyMemRefInd": _differences,
}


def is_offered(name: str) -> bool:
    """Whether there is a routine of a name.

    >>> is_offered("vector.print"), is_offered("print")
    (True, False)
    """
    return routine(name) is not None


def routine(name: str) -> Routine | None:
    """What runs an operation, or a function without a body, of a name.

    >>> routine("printMemrefF32") is routine("_mlir_ciface_printMemrefF32")
    True
    >>> routine("unheardOf")
    """
    if prints_memref(name):
        return print_memref
    return ROUTINES.get(name.removeprefix(_C_INTERFACE))
