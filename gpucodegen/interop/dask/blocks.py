"""Applies a function of a program to blocks of dask arrays; tree reductions.

Functions travel to workers as text: a `Shipped` pickles to a few kilobytes, and its
copies in one process share the compiled executables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from gpucodegen.calls.function import Function
from gpucodegen.interop.functional import Functional
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.buffers import NUMPY_NAMES
from gpucodegen.runtime.storage.cache import digest


@lru_cache(64)
def _unpacked(content: bytes) -> Functional:
    """The function, shared by all copies in this process."""
    cloudpickle: Any = import_module("cloudpickle")

    return Functional(cloudpickle.loads(content))


@dataclass(frozen=True, slots=True)
class Shipped:
    """A function on blocks; written arguments are results, as in `Functional`.

    ``content``: the function, pickled. ``result``: index of the result to return.
    """

    content: bytes
    result: int = 0

    @staticmethod
    def of(function: Function, result: int = 0) -> Shipped:
        """The function in picklable form; options may hold the caller's functions."""
        cloudpickle: Any = import_module("cloudpickle")

        return Shipped(cloudpickle.dumps(function), result)

    def __call__(self, *blocks: Any) -> Any:
        functional = _unpacked(self.content)
        return functional(*blocks)[self.result]

    def __dask_tokenize__(self) -> tuple[object, ...]:
        """Identity of the task for dask."""
        return digest(self.content.hex()), self.result


def dtype_of(function: Function, result: int = 0) -> np.dtype[Any]:
    """NumPy's element type of a result."""
    source = Functional(function).sources()[result]
    signature = function.signature
    if source.argument is not None:
        found = signature.parameters[source.argument]
    else:
        assert source.result is not None
        found = signature.results[source.result]
    return np.dtype(NUMPY_NAMES[found.dtype][0])


def map_blocks(
    function: Function, *arrays: Any, result: int = 0, **options: Any
) -> Any:
    """Apply the function to each block, as `dask.array.map_blocks` does.

    Arrays that the function writes are its results; ``result`` selects one. Options are
    dask's: ``chunks`` if blocks of the result have other extents.

    >>> import gpucodegen as gcg
    >>> import numpy as np
    >>> double = gcg.compile('''
    ... func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {
    ...   %y = arith.addf %x, %x : tensor<?xf32>
    ...   return %y : tensor<?xf32>
    ... }''', target="cpu").double
    >>> try:
    ...     import dask.array as da
    ... except ImportError:
    ...     pass
    ... else:
    ...     x = da.arange(10, chunks=4, dtype="f4")
    ...     assert map_blocks(double, x).sum().compute() == 90
    """
    da: Any = import_module("dask.array")

    dtype = dtype_of(function, result)
    called = Shipped.of(function, result)
    return da.map_blocks(called, *arrays, dtype=dtype, meta=_empty(dtype), **options)


def blockwise(
    function: Function, indices: str, *pairs: Any, result: int = 0, **options: Any
) -> Any:
    """Apply the function to blocks by index, as `dask.array.blockwise` does.

    ``pairs``: an array and its indices, and so on.
    """
    da: Any = import_module("dask.array")

    dtype = dtype_of(function, result)
    called = Shipped.of(function, result)
    options = {"concatenate": True, **options}
    return da.blockwise(
        called, indices, *pairs, dtype=dtype, meta=_empty(dtype), **options
    )


def reduce(
    function: Function, x: Any, combine: Callable[..., Any], *, every: int = 4
) -> Any:
    """Reduce an array: the function per block, then the partial results as a tree.

    ``function`` makes a partial result of a block: an array of one element, or of a
    fixed number per axis. ``combine(parts, axis=..., keepdims=True)`` merges partial
    results like `numpy.sum`, ``every`` at a time, so that no worker holds them all.
    """
    da: Any = import_module("dask.array")

    called = Shipped.of(function)
    dtype = dtype_of(function)

    def part(block: Any, axis: Any, keepdims: bool) -> Any:
        del axis, keepdims
        made = called(block)
        return made.reshape((1,) * block.ndim) if made.ndim < block.ndim else made

    return da.reduction(
        x,
        chunk=part,
        combine=combine,
        aggregate=combine,
        split_every=every,
        dtype=dtype,
        meta=_empty(dtype),
        concatenate=True,
    )


def _empty(dtype: Any) -> Any:
    """An empty array that tells dask the dtype of blocks."""
    import numpy as np

    return np.empty((0,), dtype)
