"""Calls with arrays of other libraries.

The call runs on NumPy or CuPy arrays over the arguments' memory; results become arrays
of the library of the first foreign argument, or are copied to ``out``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.foreign_arrays import (
    OWN,
    Library,
    library_of,
    module_of,
    narrow,
)
from gpucodegen.calls.signature import Signature
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.buffers import NUMPY_NAMES

IMMUTABLE = (
    "Arrays of JAX never change: pass a NumPy array there, or call the function"
    " through gpucodegen.jax.call, which returns what it writes"
)


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """A call's arguments as memory, and the library that receives its results."""

    signature: Signature
    arguments: tuple[Any, ...]
    libraries: tuple[Library, ...]
    memory: tuple[Any, ...]
    library: Library
    module: Any
    stream: int

    def made(self, call: Callable[[], Any]) -> Any:
        """The result of a call, converted to the library's arrays."""
        try:
            return self.given(call())
        except errors.ReadOnlyArgument as problem:
            names = [p.name for p in self.signature.parameters]
            place = names.index(str(problem.details["argument"]))
            if not self.libraries[place].writes:
                problem = errors.ReadOnlyArgument(
                    function=self.signature.function,
                    argument=names[place],
                    advice=IMMUTABLE,
                )
            raise problem from None

    def given(self, result: Any) -> Any:
        """Results for the caller; an argument that is returned stays the argument."""
        if isinstance(result, tuple):
            kinds = (p.dtype for p in self.signature.results)
            return tuple(map(self._given, cast("tuple[Any, ...]", result), kinds))
        if result is None:
            return None
        return self._given(result, self.signature.results[0].dtype)

    def _given(self, one: Any, dtype: str) -> Any:
        if not hasattr(one, "dtype") or issubclass(type(one), np.generic):
            return one
        for memory, argument in zip(self.memory, self.arguments, strict=True):
            if one is memory:
                return argument
        return self.library.give(self.module, one, NUMPY_NAMES[dtype][0])


def taken(arguments: tuple[Any, ...], signature: Signature) -> ForeignCall | None:
    """The call with converted arguments; None if no argument is foreign."""
    libraries = tuple([library_of(a.__class__) for a in arguments])
    first = next((n for n, each in enumerate(libraries) if each is not OWN), None)
    if first is None:
        return None
    names = [p.name for p in signature.parameters]
    names += [f"argument {n}" for n in range(len(names), len(arguments))]
    triples = zip(arguments, libraries, names, strict=False)
    memory = [each.take(a, signature.function, name) for a, each, name in triples]
    streams = [e.stream(a) for a, e in zip(arguments, libraries, strict=True)]
    return ForeignCall(
        signature,
        arguments,
        libraries,
        tuple(memory),
        libraries[first],
        module_of(arguments[first].__class__),
        next((pointer for pointer in streams if pointer), 0),
    )


_FOREIGN = NARROW - {"f16"}


def has_narrow_results(signature: Signature) -> bool:
    """Whether a result is an array of floats that NumPy lacks."""
    return any(p.dtype in _FOREIGN and p.shape is not None for p in signature.results)


@cache
def _has_ml_dtypes() -> bool:
    return find_spec("ml_dtypes") is not None


def as_given(results: Any, signature: Signature, arguments: Sequence[Any]) -> Any:
    """Results of narrow floats in ml_dtypes' types, as the arguments' are.

    They stay integers of their bits if ml_dtypes is missing, or if an argument of
    narrow floats was passed as such integers.
    """
    if not has_narrow_results(signature):
        return results
    pairs = zip(arguments, signature.parameters, strict=False)
    taken = [a.dtype for a, p in pairs if p.dtype in _FOREIGN and hasattr(a, "dtype")]
    if not _has_ml_dtypes() or any(dtype.kind == "u" for dtype in taken):
        return results
    shown = [
        _in_own_type(one, p.dtype)
        for one, p in zip(several_of(results), signature.results, strict=True)
    ]
    return tuple(shown) if isinstance(results, tuple) else shown[0]


def _in_own_type(one: Any, dtype: str) -> Any:
    if dtype not in _FOREIGN or not isinstance(one, np.ndarray):
        return one
    kind = narrow(NUMPY_NAMES[dtype][0], function="a call", argument="result")
    return cast("np.ndarray[Any, Any]", one).view(kind)


def put(results: Any, out: Any, signature: Signature) -> Any:
    """Copy results to ``out`` and return it.

    ``out``: an array for the one result, or a tuple with one for each.
    """
    made = several_of(results)
    given = _places(out) if len(signature.results) > 1 else (out,)
    if len(given) != len(signature.results):
        raise errors.WrongArgumentType(
            function=signature.function,
            argument="out",
            expected=f"one array for each of {len(signature.results)} results",
            actual=f"{len(given)}",
        )
    for result, place in zip(made, given, strict=True):
        _put(result, place, signature.function)
    return out


def _places(out: Any) -> Sequence[Any]:
    """One destination for each of several results."""
    return cast("Sequence[Any]", out) if isinstance(out, tuple | list) else (out,)


def several_of(results: Any) -> tuple[Any, ...]:
    """All results of a call as a tuple.

    >>> several_of(1), several_of((1, 2))
    ((1,), (1, 2))
    """
    is_tuple = isinstance(results, tuple)
    return cast("tuple[Any, ...]", results) if is_tuple else (results,)


def _put(result: Any, out: Any, function: str) -> None:
    """Copy one result.  Raises WrongArgumentType, WrongDtype, ReadOnlyArgument."""
    library = library_of(out.__class__)
    place = library.take(out, function, "out")
    held = result if hasattr(result, "dtype") else np.asarray(result)
    held = library_of(held.__class__).take(held, function, "result")
    shape = tuple(getattr(place, "shape", ()))
    if not hasattr(place, "dtype") or shape != tuple(held.shape):
        raise errors.WrongArgumentType(
            function=function,
            argument="out",
            expected=f"an array of shape {tuple(held.shape)}",
            actual=f"one of shape {shape}" if shape else type(out).__name__,
        )
    if (
        place.dtype.itemsize != held.dtype.itemsize
        or place.dtype.kind != held.dtype.kind
    ):
        raise errors.WrongDtype(
            function=function, argument="out", expected=held.dtype, actual=place.dtype
        )
    if not library.writes or not getattr(place.flags, "writeable", True):
        advice = IMMUTABLE if not library.writes else ""
        raise errors.ReadOnlyArgument(function=function, argument="out", advice=advice)
    place[...] = held
