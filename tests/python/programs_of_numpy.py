"""Functions of texts, and comparisons with NumPy's results."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.python.results import is_tuple

HEAD = "import math\nimport numpy as np\nimport gpucodegen as gcg\n"


def function_of(text: str) -> Callable[..., Any]:
    """The function `f` of a text, whose lines can be read."""
    filename = f"<program {abs(hash(text))}>"
    source = HEAD + textwrap.dedent(text)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), names)
    return names["f"]


def same(actual: Any, expected: Any, tolerance: float) -> None:
    """The same types and shapes, and the same numbers up to rounding."""
    if is_tuple(expected):
        assert is_tuple(actual)
        for one, other in zip(actual, expected, strict=True):
            same(one, other, tolerance)
        return
    one, other = np.asarray(actual), np.asarray(expected)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
