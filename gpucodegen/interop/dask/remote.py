"""Functions of programs as they travel to workers: as text, compiled once in each.

Comes in: a function.  Goes out: a callable on blocks that pickles to a few kilobytes,
whose copies in one process share what that process compiled or found on its disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from gpucodegen.calls.function import Function
from gpucodegen.interop.functional import Functional
from gpucodegen.runtime.host.buffers import NUMPY_NAMES
from gpucodegen.runtime.storage.cache import digest


@lru_cache(64)
def _unpacked(content: bytes) -> Functional:
    """The function of this process."""
    cloudpickle: Any = import_module("cloudpickle")

    return Functional(cloudpickle.loads(content))


@dataclass(frozen=True, slots=True)
class Shipped:
    """A function on blocks; what it writes is a result, as `Functional` says.

    ``content``: the function, pickled.  ``result``: which of several results.
    """

    content: bytes
    result: int = 0

    @staticmethod
    def of(function: Function, result: int = 0) -> Shipped:
        """A function as it travels; its options may hold functions of the caller."""
        cloudpickle: Any = import_module("cloudpickle")

        return Shipped(cloudpickle.dumps(function), result)

    def __call__(self, *blocks: Any) -> Any:
        """The result of one call."""
        functional = _unpacked(self.content)
        return functional(*blocks)[self.result]

    def __dask_tokenize__(self) -> tuple[object, ...]:
        """What tells tasks apart."""
        return digest(self.content.hex()), self.result


def dtype_of(function: Function, result: int = 0) -> np.dtype[Any]:
    """The elements of a result in NumPy."""
    source = Functional(function).sources()[result]
    signature = function.signature
    if source.argument is not None:
        found = signature.parameters[source.argument]
    else:
        assert source.result is not None
        found = signature.results[source.result]
    return np.dtype(NUMPY_NAMES[found.dtype][0])
