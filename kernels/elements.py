"""Element types: names in NumPy and MLIR, and accumulator types."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.foreign_arrays import MLIR_NAMES
from gpucodegen.records import dataclass


@dataclass(frozen=True)
class Element:
    """An element type: ``kind`` is f(loat), i(nteger), u(nsigned), b(ool), c(omplex).

    >>> element_of("uint8"), element_of("bfloat16").kind
    (Element(dtype='uint8', mlir='i8', kind='u', bits=8), 'f')
    """

    dtype: str
    mlir: str
    kind: str
    bits: int

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The type of NumPy or ml_dtypes."""
        return _dtype(self.dtype)

    @property
    def computed(self) -> Element:
        """The type of single operations: f32 for floats of 16 bits and less."""
        return F32 if self.kind == "f" and self.bits < 32 else self

    @property
    def summed(self) -> Element:
        """The accumulator type of sums of products, before the final rounding.

        >>> [element_of(name).summed.mlir for name in ("float16", "int8", "bool")]
        ['f32', 'i32', 'i32']
        """
        is_small = self.kind in "iub" and self.bits < 32
        return I32 if is_small else self.computed

    @property
    def totalled(self) -> Element:
        """NumPy's result type of sums: 64 bits for integers and bools."""
        return {"i": I64, "b": I64, "u": U64}.get(self.kind, self)

    @property
    def averaged(self) -> Element:
        """NumPy's result type of means: f64 for integers and bools."""
        return F64 if self.kind in "iub" else self

    @property
    def part(self) -> Element:
        """The type of the parts of a complex type."""
        return F32 if self.bits == 64 else F64


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


_KINDS = {"float": "f", "bfloat": "f", "int": "i", "uint": "u", "bool": "b"}


def _element(name: str, mlir: str) -> Element:
    stem = name.rstrip("0123456789")
    if stem == "complex":
        return Element(name, mlir, "c", int(name[len(stem) :]))
    if stem in _KINDS:
        return Element(name, mlir, _KINDS[stem], int(name[len(stem) :] or 1))
    return Element(name, mlir, "f", int(name.partition("_")[0][len("float") :]))


ELEMENTS = {name: _element(name, mlir) for name, mlir in MLIR_NAMES.items()}
"""Every element type by its name in NumPy or ml_dtypes."""
BOOL, I32, I64 = ELEMENTS["bool"], ELEMENTS["int32"], ELEMENTS["int64"]
U64, F32, F64 = ELEMENTS["uint64"], ELEMENTS["float32"], ELEMENTS["float64"]
INDEX = Element("int64", "index", "i", 64)
REAL = "fiub"
"""Kinds of ordered numbers."""


def element_of(
    dtype: object, *, function: str = "", argument: str = "", kinds: str = "fiubc"
) -> Element:
    """The element of a NumPy type, which must be of these kinds. Raises WrongDtype."""
    name = str(dtype)
    found = ELEMENTS.get(name)
    if found is None or found.kind not in kinds:
        known = [each.dtype for each in ELEMENTS.values() if each.kind in kinds]
        raise errors.WrongDtype(
            function=function,
            argument=argument,
            expected=f"one of {', '.join(known)}",
            actual=name,
        )
    return found


def wished(dtype: object) -> Element:
    """The element of a dtype option, as NumPy reads it."""
    try:
        return element_of(np.dtype(dtype))  # type: ignore[call-overload]
    except (TypeError, errors.WrongDtype):
        hint = f"Pass one of {', '.join(ELEMENTS)}"
        raise errors.InvalidOption(name="dtype", value=dtype, hint=hint) from None
