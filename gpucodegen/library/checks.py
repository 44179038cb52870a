"""Operations that end the call where something is not as it should be.

``cf.assert``, and the ``check`` dialect of IREE and StableHLO.
"""

from __future__ import annotations

import numpy as np

from gpucodegen import errors
from gpucodegen.library.given import Given, Routine
from gpucodegen.library.printing import number_text, numbers

ABSOLUTE, RELATIVE = 1e-4, 0.0
"""Tolerances of ``check.expect_almost_eq`` where it states none, as in IREE."""


def assert_true(given: Given) -> tuple[()]:
    """``cf.assert``."""
    if not given.operands[0]:
        message = given.attributes.get("msg", "")
        raise errors.AssertionFailed(given.location, message=message)
    return ()


def _arrays(given: Given) -> list[np.ndarray]:
    """The operands; numbers have no dimensions."""
    pairs = zip(given.operands, given.kinds, strict=True)
    return [
        numbers(given.contents(v), kind.removesuffix("[]"))
        if kind.endswith("[]")
        else np.asarray(v)
        for v, kind in pairs
    ]


def expect_true(given: Given) -> tuple[()]:
    """``check.expect_true``, and ``check.expect_all_true``."""
    (found,) = _arrays(given)
    return _expect(given, found != 0, found, np.broadcast_to(1, found.shape))


def expect_false(given: Given) -> tuple[()]:
    """``check.expect_false``."""
    (found,) = _arrays(given)
    return _expect(given, found == 0, found, np.broadcast_to(0, found.shape))


def expect_eq(given: Given) -> tuple[()]:
    """``check.expect_eq``, also with a constant: equal bits, but -0 equals 0."""
    found, wanted = _arrays(given)
    same = (found == wanted) | ((found != found) & (wanted != wanted))  # noqa: PLR0124
    return _expect(given, same, found, wanted)


def expect_almost_eq(given: Given) -> tuple[()]:
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
    given: Given, fits: np.ndarray, found: np.ndarray, wanted: np.ndarray
) -> tuple[()]:
    """Raise for the first element that does not fit."""
    wrong = np.argwhere(~np.asarray(fits))
    if not len(wrong):
        return ()
    at = tuple(map(int, wrong[0]))
    kind = given.kinds[0].removesuffix("[]")
    actual, expected = (number_text(array[at], kind) for array in (found, wanted))
    raise errors.ExpectationFailed(
        given.location,
        operation=given.name,
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
"""What checks, by the name of the operation."""
