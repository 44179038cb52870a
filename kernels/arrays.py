"""What the wrappers need from an array library.

Comes in: arrays of NumPy, CuPy, PyTorch or JAX.  Goes out: their memory as arrays of
NumPy or CuPy, and results as arrays of the library that the operands came from.  No
library but NumPy is ever imported here: whoever has an array has imported its library.
Arrays of the emulated device are of a module of this package that stands in for CuPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.foreign import memory_of


class Array(Protocol):
    """An array of NumPy, CuPy, PyTorch or JAX."""

    @property
    def shape(self) -> Any:
        """Extents."""
        ...

    @property
    def dtype(self) -> Any:
        """Element type."""
        ...


ArrayT = TypeVar("ArrayT", bound=Array)
Taker = Callable[[Any, str, str], Any]
Memory = Any
"""An array of NumPy or CuPy."""


@dataclass(frozen=True, slots=True)
class Library:
    """How arrays of a library become those of NumPy or CuPy, and back.

    ``take``: array, function and argument -> its memory, without a copy.
    ``give``: a module and the memory of a result -> an array of the module.
    ``writes``: its arrays may be written.
    """

    take: Taker
    give: Callable[[Any, Memory], Any]
    writes: bool = True


def _itself(array: Any, function: str, argument: str) -> Any:
    del function, argument
    return array


def _given(module: Any, result: Memory) -> Memory:
    del module
    return result


TORCH_BITS = {
    "torch.bfloat16": ("int16", "bfloat16"),
    "torch.float8_e4m3fn": ("uint8", "float8_e4m3fn"),
    "torch.float8_e5m2": ("uint8", "float8_e5m2"),
    "torch.float8_e4m3fnuz": ("uint8", "float8_e4m3fnuz"),
    "torch.float8_e5m2fnuz": ("uint8", "float8_e5m2fnuz"),
}
"""Elements that PyTorch cannot hand over: integers of their bits, and their name."""


def _from_torch(array: Any, function: str, argument: str) -> Memory:
    array = array.detach()
    bits = TORCH_BITS.get(str(array.dtype))
    if bits is None:
        return memory_of(array, function=function, argument=argument)
    words = array.view(getattr(sys.modules["torch"], bits[0]))
    held = memory_of(words, function=function, argument=argument)
    return held.view(narrow(bits[1], function=function, argument=argument))


def _to_torch(torch: Any, result: Memory) -> Any:
    name = f"torch.{result.dtype}"
    if name in TORCH_BITS:
        words = torch.from_dlpack(result.view(TORCH_BITS[name][0]))
        return words.view(getattr(torch, str(result.dtype)))
    return torch.from_dlpack(result)


def _from_jax(array: Any, function: str, argument: str) -> Memory:
    on_host = all(device.platform == "cpu" for device in array.devices())
    if on_host:
        return np.asarray(array)
    return memory_of(array, function=function, argument=argument)


def _to_jax(jax: Any, result: Memory) -> Any:
    is_host = isinstance(result, np.ndarray)
    return jax.numpy.asarray(result) if is_host else jax.dlpack.from_dlpack(result)


def narrow(name: str, *, function: str, argument: str) -> np.dtype[Any]:
    """A type of ml_dtypes, or a refusal that says what to install."""
    try:
        import ml_dtypes
    except ImportError:
        raise errors.UnreadableBuffer(
            function=function,
            argument=argument,
            reason=f"NumPy has no {name}",
            advice="Install ml_dtypes, which has it",
        ) from None
    return np.dtype(getattr(ml_dtypes, name))


OWN = Library(_itself, _given)
LIBRARIES = {
    "numpy": OWN,
    "cupy": OWN,
    "gpucodegen": OWN,
    "torch": Library(_from_torch, _to_torch),
    "jax": Library(_from_jax, _to_jax, writes=False),
    "jaxlib": Library(_from_jax, _to_jax, writes=False),
}
KNOWN = "a NumPy, CuPy, PyTorch or JAX array"


def library(array: object, *, function: str, argument: str) -> tuple[Library, Any]:
    """How a library hands over its arrays, and the module of its functions.

    >>> import numpy
    >>> library(numpy.zeros(3), function="f", argument="a")[1].__name__
    'numpy'
    """
    kind = type(array)
    name = kind.__module__.partition(".")[0]
    if name not in LIBRARIES:
        raise errors.WrongArgumentType(
            function=function, argument=argument, expected=KNOWN, actual=kind.__name__
        )
    own = kind.__module__ if name == "gpucodegen" else name.removesuffix("lib")
    return LIBRARIES[name], sys.modules[own]


def memory_module(array: Memory) -> Any:
    """NumPy, CuPy, or what stands in for CuPy: whose array a taken one is."""
    kind = type(array).__module__
    return sys.modules[
        kind if kind.startswith("gpucodegen") else kind.partition(".")[0]
    ]


ALIGNMENT = 64
"""Bytes of a cache line: vectors stored to an aligned result cross none."""


def empty(xp: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Memory for a result, from a line of the cache on.

    >>> import numpy
    >>> a = empty(numpy, (3, 5), numpy.dtype("f4"))
    >>> a.shape, a.ctypes.data % ALIGNMENT
    ((3, 5), 0)
    """
    if xp is not np:
        return xp.empty(shape, dtype)
    memory = np.empty(prod(shape) * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -addressof(c_char.from_buffer(cast("bytearray", memory))) % ALIGNMENT
    return np.ndarray(shape, dtype, memory, start)


def contiguous(array: Memory) -> Memory:
    """The array, or a copy that is contiguous.

    >>> contiguous(np.zeros((2, 3)).T).strides
    (16, 8)
    """
    return array if array.flags.c_contiguous else array.copy(order="C")


def is_turned(array: Memory) -> bool:
    """Whether matrices lie column by column, and not row by row.

    >>> a = np.zeros((2, 3))
    >>> is_turned(a), is_turned(a.T), is_turned(a.T[::2])
    (False, True, False)
    """
    if array.ndim < 2 or array.flags.c_contiguous:
        return False
    return bool(array.swapaxes(-1, -2).flags.c_contiguous)


def require_rank(
    array: Memory, ranks: Sequence[int], *, function: str, argument: str
) -> None:
    """Refuse an array of another rank."""
    if array.ndim not in ranks:
        raise errors.WrongArgumentRank(
            function=function,
            argument=argument,
            expected=_listed(ranks),
            actual=array.ndim,
        )


def _listed(ranks: Sequence[int]) -> str:
    """Ranks in words.

    >>> _listed((2,)), _listed(range(1, 33))
    ('2', '1 or 2 or more')
    """
    few = " or ".join(map(str, ranks[:3]))
    return few if len(ranks) < 4 else f"{ranks[0]} or {ranks[1]} or more"


def require_shape(
    array: Memory, shape: tuple[int, ...], *, function: str, argument: str
) -> None:
    """Refuse an array of another shape."""
    require_rank(array, (len(shape),), function=function, argument=argument)
    for dimension, (want, have) in enumerate(zip(shape, array.shape, strict=True)):
        if want != have:
            raise errors.WrongExtent(
                function=function,
                argument=argument,
                expected=want,
                dimension=dimension,
                actual=have,
                shape=shape,
            )
