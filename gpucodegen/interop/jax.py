"""Functions of programs in JAX: under `jax.jit`, `jax.vmap`, `jax.grad`.

The call is a host callback (`jax.pure_callback`), which accesses CPU arrays in place;
GPU arrays are copied to the host and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gpucodegen.calls.foreign_arrays import narrow
from gpucodegen.calls.function import Function
from gpucodegen.interop.functional import Functional, signature_of

Vjp = Callable[[tuple[Any, ...], Any, Any], Any]
"""Arguments, result and the result's cotangent -> a cotangent for each argument."""


def call(function: Function, *arguments: Any, vjp: Vjp | None = None) -> Any:
    """Call a function of a program; it may be traced.

    The results are the arrays that the function writes, in the order of its arguments,
    and then its returned values: one array, or a tuple of several. The arguments keep
    their contents, as arrays of JAX always do.

    ``vjp``: the vector-Jacobian product, a function of the arguments, the result and
    the result's cotangent, which returns a cotangent for each argument, or None for one
    without; a call without it has no derivative.

    Raises WrongArgumentCount, UnknownResult, and the errors of a call.

    >>> import gpucodegen as gcg
    >>> square = gcg.compile('''
    ... func.func @square(%x: tensor<?xf32>) -> tensor<?xf32> {
    ...   %y = arith.mulf %x, %x : tensor<?xf32>
    ...   return %y : tensor<?xf32>
    ... }''', target="cpu").square
    >>> try:
    ...     import jax
    ... except ImportError:
    ...     pass
    ... else:
    ...     def squared(x):
    ...         def vjp(given, result, ct):
    ...             return (2 * given[0] * ct,)
    ...         return call(square, x, vjp=vjp)
    ...     x = jax.numpy.arange(4.0)
    ...     assert jax.jit(squared)(x).tolist() == [0, 1, 4, 9]
    ...     gradient = jax.grad(lambda x: squared(x).sum())
    ...     assert jax.jit(gradient)(x).tolist() == [0, 2, 4, 6]
    """
    jax: Any = import_module("jax")

    functional = _functional(function)
    made = functional.made(signature_of(function, arguments))
    named = [(each.shape, _dtype(each.dtype)) for each in made]
    kinds = [jax.dtypes.canonicalize_dtype(dtype) for _, dtype in named]
    wanted = tuple(
        jax.ShapeDtypeStruct(shape, kind)
        for (shape, _), kind in zip(named, kinds, strict=True)
    )
    is_number = [p.shape is None for p in function.signature.parameters]

    def on_host(*given: Any) -> tuple[Any, ...]:
        pairs = zip(given, is_number, strict=True)
        held = [
            np.asarray(a).item() if number else np.asarray(a) for a, number in pairs
        ]
        results = zip(functional(*held), named, kinds, strict=True)
        return tuple(
            _as(r, dtype).astype(kind, copy=False) for r, (_, dtype), kind in results
        )

    def forward(*given: Any) -> Any:
        found = jax.pure_callback(on_host, wanted, *given, vmap_method="sequential")
        return found[0] if len(found) == 1 else tuple(found)

    if vjp is None:
        return forward(*arguments)
    differentiable = jax.custom_vjp(forward)

    def first(*given: Any) -> Any:
        result = forward(*given)
        return result, (given, result)

    def backward(saved: Any, cotangent: Any) -> tuple[Any, ...]:
        given, result = saved
        found: Sequence[Any] = vjp(given, result, cotangent)
        return tuple(found)

    differentiable.defvjp(first, backward)
    return differentiable(*arguments)


_KNOWN: dict[int, tuple[Function, Functional]] = {}
MOST = 256
"""Number of functions whose results are cached."""


def _functional(function: Function) -> Functional:
    """The side-effect-free function, cached since tracing needs it often."""
    known = _KNOWN.get(id(function))
    if known is None or known[0] is not function:
        if len(_KNOWN) >= MOST:
            _KNOWN.clear()
        known = _KNOWN[id(function)] = function, Functional(function)
    return known[1]


def _dtype(name: str) -> np.dtype[Any]:
    """A type of NumPy, or of ml_dtypes, which JAX depends on."""
    try:
        return np.dtype(name)
    except TypeError:
        return narrow(name, function="gpucodegen.jax.call", argument="result")


def _as(result: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A result as an array; narrow floats are reinterpreted from their bits."""
    array = np.asarray(result)
    is_bits = (
        array.dtype != dtype and array.dtype.kind == "u" and dtype.kind not in "iu"
    )
    return array.view(dtype) if is_bits else array.astype(dtype, copy=False)
