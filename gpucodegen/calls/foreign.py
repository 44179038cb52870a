"""What ready-made operations ask of arrays of any library.

Comes in: an element type of NumPy, or an object that offers its memory.  Goes out: the
name that MLIR has for the type; the same memory as an array of NumPy or CuPy.
"""

from __future__ import annotations

from typing import Any

from gpucodegen.runtime.host.buffers import NUMPY_NAMES, Expected, as_array

AMBIGUOUS = frozenset({"bf16", "index", "tag"})
"""MLIR's types whose elements other types of NumPy than their own hold, too."""
MLIR_NAMES: dict[str, str] = {
    name: mlir
    for mlir, names in NUMPY_NAMES.items()
    if mlir not in AMBIGUOUS and mlir[0] not in "su"
    for name in (names[:1] if mlir[0] == "f" else names)
} | {"bfloat16": "bf16"}
"""MLIR's name of each element type of NumPy, signed or not."""


def memory_of(value: object, *, function: str, argument: str) -> Any:
    """The NumPy or CuPy array of an object's memory, without a copy.

    >>> import numpy as np
    >>> x = np.zeros(3)
    >>> memory_of(x, function="f", argument="x") is x
    True
    >>> MLIR_NAMES["uint8"], MLIR_NAMES["float8_e4m3fn"]
    ('i8', 'f8E4M3FN')
    """
    return as_array(value, Expected(argument, "f32", ()), function)
