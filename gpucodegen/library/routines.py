"""Table of the library's routines by name, with assertions and clocks.

``cf.assert`` and the ``check`` dialect of IREE and StableHLO raise an error if their
condition fails.
"""

from __future__ import annotations

import time

import numpy as np

from gpucodegen import errors
from gpucodegen.library.numpy_routines import NUMPY_ROUTINES
from gpucodegen.library.prints import (
    PRINTS,
    Routine,
    RoutineCall,
    number_text,
    numbers,
    print_memref,
    prints_memref,
)
from gpucodegen.library.transforms import TRANSFORMS

ABSOLUTE, RELATIVE = 1e-4, 0.0
"""Tolerances of ``check.expect_almost_eq`` where it states none, as in IREE."""


def assert_true(given: RoutineCall) -> tuple[()]:
    if not given.operands[0]:
        message = given.attributes.get("msg", "")
        raise errors.AssertionFailed(given.location, message=message)
    return ()


def _arrays(given: RoutineCall) -> list[np.ndarray]:
    """The operands as arrays; numbers have rank 0."""
    pairs = zip(given.operands, given.kinds, strict=True)
    return [
        numbers(given.contents(v), kind.removesuffix("[]"))
        if kind.endswith("[]")
        else np.asarray(v)
        for v, kind in pairs
    ]


def expect_true(given: RoutineCall) -> tuple[()]:
    (found,) = _arrays(given)
    return _expect(given, found != 0, found, np.broadcast_to(1, found.shape))


def expect_false(given: RoutineCall) -> tuple[()]:
    (found,) = _arrays(given)
    return _expect(given, found == 0, found, np.broadcast_to(0, found.shape))


def expect_eq(given: RoutineCall) -> tuple[()]:
    """``check.expect_eq``, also with a constant: equal bits, but -0 equals 0."""
    found, wanted = _arrays(given)
    same = (found == wanted) | ((found != found) & (wanted != wanted))  # noqa: PLR0124
    return _expect(given, same, found, wanted)


def expect_almost_eq(given: RoutineCall) -> tuple[()]:
    """``check.expect_almost_eq``: ``|a - b| <= atol + rtol * |b|``; NaN equals NaN."""
    found, wanted = _arrays(given)
    atol = float(given.attributes.get("atol", ABSOLUTE))
    rtol = float(given.attributes.get("rtol", RELATIVE))
    wide = complex if found.dtype.kind == "c" else float
    near = np.isclose(
        found.astype(wide), wanted.astype(wide), rtol=rtol, atol=atol, equal_nan=True
    )
    return _expect(given, near, found, wanted)


def _expect(
    given: RoutineCall, fits: np.ndarray, found: np.ndarray, wanted: np.ndarray
) -> tuple[()]:
    """Raise for the first element that fails the check."""
    wrong = np.argwhere(~np.asarray(fits))
    if not len(wrong):
        return ()
    at = tuple(map(int, wrong[0]))
    kind = given.kinds[0].removesuffix("[]")
    actual, expected = (number_text(array[at], kind) for array in (found, wanted))
    raise errors.ExpectationFailed.at(
        given,
        count=len(wrong),
        total=found.size,
        index=f" at {list(at)}" if at else "",
        actual=actual,
        expected=expected,
    )


CHECKS: dict[str, Routine] = {
    "cf.assert": assert_true,
    "check.expect_true": expect_true,
    "check.expect_all_true": expect_true,
    "check.expect_false": expect_false,
    "check.expect_eq": expect_eq,
    "check.expect_eq_const": expect_eq,
    "check.expect_almost_eq": expect_almost_eq,
    "check.expect_almost_eq_const": expect_almost_eq,
    "check.expect_close": expect_almost_eq,
}
"""Check routines by the name of the operation."""


_C_INTERFACE = "_mlir_ciface_"


def _seconds(_: RoutineCall) -> tuple[float]:
    return (time.time(),)


def _nanoseconds(_: RoutineCall) -> tuple[int]:
    return (time.time_ns(),)


def _differences(given: RoutineCall) -> tuple[int]:
    """``verifyMemRef``: number of different elements; -1 if the shapes differ."""
    kind = given.kinds[0].removesuffix("[]")
    found, wanted = (numbers(given.contents(v), kind) for v in given.operands)
    if found.shape != wanted.shape:
        return (-1,)
    if found.dtype.kind != "f":
        return (int(np.count_nonzero(found != wanted)),)
    near = np.isclose(found, wanted, rtol=_NEAR[kind], atol=0, equal_nan=True)
    return (int(np.count_nonzero(~near)),)


_NEAR = {"f32": 1e-6, "f64": 1e-12}
"""Tolerances of ``verifyMemRef``: relative differences of floats that count as equal.
"""

ROUTINES: dict[str, Routine] = {
    **PRINTS,
    **CHECKS,
    **TRANSFORMS,
    **NUMPY_ROUTINES,
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
    """Whether a routine of this name exists.

    >>> is_offered("vector.print"), is_offered("print")
    (True, False)
    """
    return routine(name) is not None


def routine(name: str) -> Routine | None:
    """The routine for an operation or an external function, or None.

    >>> routine("printMemrefF32") is routine("_mlir_ciface_printMemrefF32")
    True
    >>> routine("unheardOf")
    """
    if prints_memref(name):
        return print_memref
    return ROUTINES.get(name.removeprefix(_C_INTERFACE))
