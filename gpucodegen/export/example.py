"""A stored example call: arguments, and results computed by the interpreter.

This module is copied into exported packages, whose tests repeat the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from gpucodegen.ir.number_formats import FORMATS, NARROW, of_bits

PLACES = 256
"""Tolerance of floats in units in the last place of the array's largest number, since
kernels reorder sums and fuse multiply-adds."""


def keep(
    file: Path,
    kinds: Sequence[str],
    arguments: Sequence[Any],
    after: Sequence[Any],
    results: Sequence[Any],
) -> None:
    """Write a call; ``kinds`` are the element types of arguments, then of results.

    ``after``: the arguments after the call.
    """
    named = {"kinds": np.array(kinds)}
    for name, values in ("given", arguments), ("after", after), ("result", results):
        named |= {f"{name}{n}": _bits(v) for n, v in enumerate(values)}
    np.savez_compressed(file, allow_pickle=False, **named)


def repeat(function: Callable[..., Any], file: Path) -> None:
    """Repeat the call. Raises AssertionError if the results differ."""
    with np.load(file, allow_pickle=False) as stored:
        parts = dict(stored)
    kinds = [str(kind) for kind in parts["kinds"]]
    given = _numbered(parts, "given")
    arguments = [one if one.shape else one[()] for one in given]
    actual = [*arguments, *several(function(*arguments))]
    expected = [*_numbered(parts, "after"), *_numbered(parts, "result")]
    assert len(actual) == len(expected), "another number of results"
    for n, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        _compare(f"value {n}", kinds[n], ours, theirs)


def several(result: Any) -> tuple[Any, ...]:
    """The results of a call as a tuple.

    >>> several(None), several(2.0), several((1, 2))
    ((), (2.0,), (1, 2))
    """
    if isinstance(result, tuple):
        return cast("tuple[Any, ...]", result)
    return () if result is None else (result,)


def _numbered(parts: dict[str, Any], name: str) -> list[Any]:
    return [parts[f"{name}{n}"] for n in range(len(parts)) if f"{name}{n}" in parts]


def _bits(value: Any) -> np.ndarray[Any, Any]:
    """An array that can be stored; elements of ml_dtypes as integers."""
    array = np.asarray(value)
    if array.dtype.kind in "biufc":
        return array
    return array.view(f"u{array.dtype.itemsize}")


def _compare(what: str, kind: str, actual: Any, expected: Any) -> None:
    ours, theirs = _numbers(actual, kind), _numbers(expected, kind)
    assert ours.shape == theirs.shape, f"{what}: shapes {ours.shape}, {theirs.shape}"
    finite = np.abs(theirs[np.isfinite(theirs)])
    bound = PLACES * _unit(kind) * float(finite.max(initial=0.0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound, err_msg=what)


def _numbers(value: Any, kind: str) -> np.ndarray[Any, Any]:
    """Numbers as a NumPy array, also of types that NumPy lacks.

    >>> _numbers(np.array([0x3F80], np.uint16), "bf16").tolist()
    [1.0]
    """
    array = _bits(value.get() if hasattr(value, "get") else value)
    if kind not in NARROW or array.dtype.kind == "f":
        return array
    decoded = [of_bits(int(code), kind) for code in array.reshape(-1)]
    return np.array(decoded, float).reshape(array.shape)


def _unit(kind: str) -> float:
    """One unit in the last place of 1; 0 for integers.

    >>> _unit("f32") == 2.0**-23, _unit("i32"), _unit("complex<f64>") == 2.0**-52
    (True, 0.0, True)
    """
    name = kind.removeprefix("complex<").removesuffix(">")
    found = FORMATS.get(name)
    return 0.0 if found is None else math.ldexp(1.0, 1 - found.precision)
