"""What the wrappers need from an array library, for NumPy and CuPy alike.

Comes in: an array.  Goes out: the module that made it, for allocation and padding.
CuPy is never imported here: whoever hands over a CuPy array has imported it.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol, TypeVar

import gpucodegen as gcg


class Array(Protocol):
    """A NumPy or CuPy array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        ...

    @property
    def dtype(self) -> Any:
        """Element type."""
        ...


ArrayT = TypeVar("ArrayT", bound=Array)

LIBRARIES = ("numpy", "cupy")


def library(array: Array) -> Any:
    """The module that an array belongs to.

    >>> import numpy
    >>> library(numpy.zeros(3)).__name__
    'numpy'
    """
    name = type(array).__module__.partition(".")[0]
    if name not in LIBRARIES:
        message = (
            f"a {type(array).__name__} is neither a NumPy nor a CuPy array; "
            "convert it, for instance with numpy.asarray or cupy.from_dlpack"
        )
        raise gcg.LaunchError(message)
    return sys.modules[name]


def require_rank(name: str, array: Array, rank: int) -> None:
    """Refuse an array of another rank."""
    if len(array.shape) != rank:
        message = f"{name} has shape {array.shape}; pass an array of rank {rank}"
        raise gcg.LaunchError(message)
