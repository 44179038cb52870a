"""Functions of NumPy and prints of Python functions, run on the host.

The results are those of NumPy itself. ``dtypes`` names the element types of
the operands, whose signs and widths MLIR's types do not tell; ``python`` stands for a
number of Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.library.prints import Routine, RoutineCall

PREFIX = "numpy."
FUNCTIONS_OF_NUMPY = (
    *"sort argsort lexsort partition argpartition unique median percentile quantile"
    " nanmedian nanpercentile nanquantile nanargmin nanargmax nancumsum nancumprod"
    " polyfit polyval unwrap sinc heaviside digitize isin choose extract compress"
    " argwhere delete insert dstack correlate ediff1d vander logspace"
    " geomspace tril_indices triu_indices".split(),
    *(
        f"fft.{name}"
        for name in "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn"
        " rfftn irfftn fftfreq rfftfreq fftshift ifftshift".split()
    ),
    *(
        f"linalg.{name}"
        for name in "inv pinv det solve cholesky qr svd svdvals eigh eigvalsh eig"
        " eigvals lstsq matrix_power matrix_rank slogdet cond".split()
    ),
)
"""Functions that NumPy runs on the host."""


def function_of(path: str) -> Callable[..., Any]:
    """A function by its name in ``numpy``.

    >>> function_of("linalg.inv") is np.linalg.inv
    True
    """
    found: Any = np
    for name in path.split("."):
        found = getattr(found, name)
    return found


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


def call(given: RoutineCall) -> tuple[Any, ...]:
    """Call a function of NumPy.  Raises AssertionFailed.

    ``call``: the arguments, in which ``("operand", n)`` stands for an operand;
    ``results``: the dtypes of the results.

    >>> a = np.array([[4.0, 0.0], [0.0, 2.0]])
    >>> about = {"dtypes": "float64", "call": "[('operand', 0)], {}"}
    >>> about["results"] = "float64"
    >>> call(RoutineCall("numpy.linalg.inv", (a,), ("f64[]",), about))
    (array([[0.25, 0.  ],
           [0.  , 0.5 ]]),)
    """
    operands = _operands(given) if given.operands else []

    def decoded(data: Any) -> Any:
        match data:
            case ("operand", int() as number):
                return operands[number]
            case list():
                return [decoded(part) for part in cast("list[Any]", data)]
            case _:
                return data

    positional, named = ast.literal_eval(str(given.attributes["call"]))
    options = {name: decoded(data) for name, data in named.items()}
    try:
        function = function_of(given.name.removeprefix(PREFIX))
        made = function(*map(decoded, positional), **options)
    except (np.linalg.LinAlgError, ValueError, IndexError) as problem:
        message = f"{given.name}: {problem}"
        raise errors.AssertionFailed(given.location, message=message) from problem
    parts = cast("tuple[Any, ...]", made if isinstance(made, tuple) else (made,))
    kinds = str(given.attributes["results"]).split(",")
    return tuple(
        [
            np.ascontiguousarray(part, dtype=kind).reshape(np.shape(part))
            for part, kind in zip(parts, kinds, strict=True)
        ]
    )


def write(given: RoutineCall) -> tuple[()]:
    """``print``: the operands between the ``texts`` that stand before each of them."""
    texts = str(given.attributes["texts"]).split("\0")
    values = _operands(given) if given.operands else []
    formats = str(given.attributes["formats"]).split("\0")
    shown = [_text(*pair) for pair in zip(values, formats, strict=False)]
    pairs = zip(texts, [*shown, ""], strict=True)
    print("".join(text + value for text, value in pairs), end="")  # noqa: T201
    return ()


def _text(value: Any, spec: str) -> str:
    """A value in a format, which may begin with ``!r``, ``!s`` or ``!a``."""
    if spec.startswith("!"):
        value = {"r": repr, "s": str, "a": ascii}[spec[1]](value)
        return format(value, spec[2:])
    return format(value, spec) if spec else str(value)


NUMPY_ROUTINES: dict[str, Routine] = {
    **{PREFIX + path: call for path in FUNCTIONS_OF_NUMPY},
    "python.print": write,
}
"""The routines by the name of the operation."""
