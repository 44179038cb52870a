"""Foreign arrays: conversion of other libraries' arrays to NumPy or CuPy and back.

Input: arrays of PyTorch and JAX, and objects with the buffer protocol. Output: NumPy or
CuPy arrays over the same memory, and results as arrays of the arguments' library. No
library but NumPy is imported here: the owner of an array has already imported its
library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.buffers import NUMPY_NAMES, Expected, as_array

AMBIGUOUS = frozenset({"bf16", "index", "tag"})
"""MLIR types that correspond to several NumPy types."""
MLIR_NAMES: dict[str, str] = {
    name: mlir
    for mlir, names in NUMPY_NAMES.items()
    if mlir not in AMBIGUOUS and mlir[0] not in "su"
    for name in (names[:1] if mlir[0] == "f" else names)
} | {"bfloat16": "bf16"}
"""MLIR's name of each element type of NumPy, signed or not."""
HOST = "cpu"
"""PyTorch's and JAX's name of host memory."""
Memory = Any
"""An array of NumPy or CuPy."""
Taker = Callable[[Any, str, str], Memory]


@dataclass(frozen=True, slots=True)
class Library:
    """Conversion between a library's arrays and NumPy or CuPy arrays.

    ``take``: array, function and argument -> its memory, without a copy. ``give``: a
    module, the memory of a result and the name of its element type -> an array of the
    module. ``writes``: its arrays may be written. ``stream``: of an array on a GPU, the
    pointer of the library's current stream; 0 for the default stream.
    """

    take: Taker
    give: Callable[[Any, Memory, str], Any]
    writes: bool = True
    stream: Callable[[Any], int] = lambda _: 0


def memory_of(value: object, *, function: str, argument: str) -> Memory:
    """The NumPy or CuPy array of an object's memory, without a copy.

    >>> x = np.zeros(3)
    >>> memory_of(x, function="f", argument="x") is x
    True
    """
    return as_array(value, Expected(argument, "f32", ()), function)


def _itself(array: Any, _: str, __: str) -> Memory:
    return array


def _given(_: Any, result: Memory, __: str) -> Memory:
    return result


WORDS = {"bfloat16": "int16"}
"""Elements that PyTorch passes as integers of their bits; others as bytes."""


def _from_torch(array: Any, function: str, argument: str) -> Memory:
    torch = sys.modules["torch"]
    if array.requires_grad:
        if torch.is_grad_enabled():
            raise errors.UnreadableBuffer(
                function=function,
                argument=argument,
                reason="it requires a gradient, and a call records none",
                advice="Pass x.detach(), call under torch.no_grad(), or make the"
                " function an operator of PyTorch with gpucodegen.torch.op",
            )
        array = array.detach()
    name = _NAMES.get(array.dtype) or _named(array.dtype)
    if not is_narrow(name):
        return _memory_of_tensor(array, function, argument)
    words = array.view(getattr(torch, WORDS.get(name, "uint8")))
    held = _memory_of_tensor(words, function, argument)
    return held.view(narrow(name, function=function, argument=argument))


_NAMES: dict[Any, str] = {}


def _named(dtype: Any) -> str:
    """PyTorch's name of an element type without the prefix; cached."""
    return _NAMES.setdefault(dtype, str(dtype).removeprefix("torch."))


def is_narrow(name: str) -> bool:
    """Whether NumPy lacks the element type.

    >>> is_narrow("bfloat16"), is_narrow("float8_e5m2"), is_narrow("float16")
    (True, True, False)
    """
    return name == "bfloat16" or name.startswith("float8")


def _memory_of_tensor(array: Any, function: str, argument: str) -> Memory:
    if array.device.type != HOST:
        return memory_of(array, function=function, argument=argument)
    try:
        return array.numpy()  # a fraction of the time that DLPack takes
    except Exception as problem:  # sparse, conjugated: whatever PyTorch raises
        reason = str(problem).partition("\n")[0].removesuffix(".")
        raise errors.UnreadableBuffer(
            function=function, argument=argument, reason=reason
        ) from problem


def _to_torch(torch: Any, result: Memory, name: str) -> Any:
    if not is_narrow(name):
        return torch.from_dlpack(result)
    words = torch.from_dlpack(result.view(WORDS.get(name, "uint8")))
    return words.view(getattr(torch, name))


def _torch_stream(array: Any) -> int:
    if not array.is_cuda:
        return 0
    return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream)


def _from_jax(array: Any, function: str, argument: str) -> Memory:
    if isinstance(array, sys.modules["jax"].core.Tracer):
        raise errors.UnreadableBuffer(
            function=function,
            argument=argument,
            reason="jax.jit or another transformation traces it",
            advice="Call the function through gpucodegen.jax.call",
        )
    if all(device.platform == HOST for device in array.devices()):
        return np.asarray(array)
    return memory_of(array, function=function, argument=argument)


def _to_jax(jax: Any, result: Memory, name: str) -> Any:
    if type(result) is not np.ndarray:
        return jax.dlpack.from_dlpack(result)
    if name and str(result.dtype) != name:
        result = result.view(narrow(name, function="a call", argument="result"))
    return jax.numpy.asarray(result)


def narrow(name: str, *, function: str, argument: str) -> np.dtype[Any]:
    """A type of ml_dtypes, or an error that names the package to install."""
    try:
        ml_dtypes = import_module("ml_dtypes")
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
    "torch": Library(_from_torch, _to_torch, stream=_torch_stream),
    "jax": Library(_from_jax, _to_jax, writes=False),
    "jaxlib": Library(_from_jax, _to_jax, writes=False),
}
"""By the top-level package of the array's class."""


def library_of(kind: type[Any]) -> Library:
    """The conversion for a class of arrays; `OWN` for NumPy, CuPy and numbers.

    >>> library_of(np.ndarray) is OWN, library_of(float) is OWN
    (True, True)
    """
    found = _BY_CLASS.get(kind)
    if found is None:
        named = (LIBRARIES.get(name) for name in _homes(kind))
        found = _BY_CLASS[kind] = next((each for each in named if each), OWN)
    return found


_BY_CLASS: dict[type[Any], Library] = {}


def _homes(kind: type[Any]) -> Iterator[str]:
    """The packages that define a class and its bases."""
    return (base.__module__.partition(".")[0] for base in kind.__mro__)


def module_of(kind: type[Any]) -> Any:
    """The module whose functions create arrays of a library's class."""
    name = next(name for name in _homes(kind) if name in LIBRARIES)
    return sys.modules[name.removesuffix("lib")]
