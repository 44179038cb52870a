"""Linear algebra and prints of Python functions, run by NumPy on the host.

The results are those of ``numpy.linalg`` itself. ``dtypes`` names the element types of
the operands, whose signs and widths MLIR's types do not tell; ``python`` stands for a
number of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.library.prints import Routine, RoutineCall

PREFIX = "numpy.linalg."
NAMES = "inv pinv det solve cholesky qr svd eigh eigvalsh".split()
"""Functions of ``numpy.linalg`` that a routine runs."""


def _operands(given: RoutineCall) -> list[Any]:
    """The operands as NumPy's arrays and numbers."""
    names = str(given.attributes["dtypes"]).split(",")
    made: list[Any] = []
    for value, kind, name in zip(given.operands, given.kinds, names, strict=True):
        if kind.endswith("[]"):
            array = np.asarray(given.contents(value))
            made.append(array if str(array.dtype) == name else array.view(name))
        elif name == "python":
            made.append(bool(value) if kind == "i1" else value)
        else:
            made.append(np.array([value]).astype(name)[0])
    return made


def linear_algebra(given: RoutineCall) -> tuple[Any, ...]:
    """Call a function of ``numpy.linalg``.  Raises AssertionFailed.

    >>> a = np.array([[4.0, 0.0], [0.0, 2.0]])
    >>> about = {"dtypes": "float64"}
    >>> linear_algebra(RoutineCall("numpy.linalg.inv", (a,), ("f64[]",), about))
    (array([[0.25, 0.  ],
           [0.  , 0.5 ]]),)
    """
    function: Callable[..., Any] = getattr(np.linalg, given.name.removeprefix(PREFIX))
    try:
        made = function(*_operands(given))
    except (np.linalg.LinAlgError, ValueError) as problem:
        message = f"{given.name}: {problem}"
        raise errors.AssertionFailed(given.location, message=message) from problem
    parts = cast("tuple[Any, ...]", made if isinstance(made, tuple) else (made,))
    return tuple([np.ascontiguousarray(part).reshape(np.shape(part)) for part in parts])


def write(given: RoutineCall) -> tuple[()]:
    """``print``: the operands between the ``texts`` that stand before each of them."""
    texts = str(given.attributes["texts"]).split("\0")
    shown = [str(value) for value in _operands(given)] if given.operands else []
    pairs = zip(texts, [*shown, ""], strict=True)
    print("".join(text + value for text, value in pairs), end="")  # noqa: T201
    return ()


NUMPY_ROUTINES: dict[str, Routine] = {
    **{PREFIX + name: linear_algebra for name in NAMES},
    "python.print": write,
}
"""The routines by the name of the operation."""
