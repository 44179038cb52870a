"""Types of the Python subset, and NumPy's promotion rules.

A number has a *kind*: ``bool``, ``int``, ``float`` and ``complex`` are Python's, which
are promoted with NumPy's as NEP 50 says; `Truth` is a bool of Python or of NumPy, known
only at a call; every other kind is a ``numpy.dtype``. Results have the type that NumPy
itself names for its function.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.types import (
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    ComplexType,
    MemRefType,
    Type,
)
from gpucodegen.records import dataclass

Kind = Any
"""``bool``, ``int``, ``float``, ``complex``, `Truth` or a ``numpy.dtype``."""


class Truth:
    """The kind of a bool that is Python's on one path and NumPy's on another.

    Operators that differ between the two (``~``, ``+``) refuse it.

    >>> Truth(1), joined(bool, np.dtype(bool)) is Truth
    (True, True)
    """

    def __new__(cls, number: object) -> Any:
        """A Python bool, since the other kinds convert numbers too."""
        return bool(number)


PYTHON: dict[Kind, Type] = {
    bool: I1,
    int: INDEX,
    float: F64,
    complex: ComplexType(F64),
    Truth: I1,
}
NUMPY: dict[str, Type] = {
    "bool": I1,
    **{f"{u}int8": I8 for u in ("", "u")},
    **{f"{u}int16": I16 for u in ("", "u")},
    **{f"{u}int32": I32 for u in ("", "u")},
    **{f"{u}int64": I64 for u in ("", "u")},
    "float16": F16,
    "float32": F32,
    "float64": F64,
    "complex64": ComplexType(F32),
    "complex128": ComplexType(F64),
}
SHORT = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}


def element(kind: Kind) -> Type:
    """The MLIR type of a kind.

    >>> print(element(int), element(float), element(np.dtype("uint8")))
    index f64 i8
    """
    return PYTHON[kind] if is_python(kind) else NUMPY[kind.name]


def is_python(kind: Kind) -> bool:
    """Whether a kind is Python's: ``float`` is not ``numpy.dtype("f8")``."""
    return isinstance(kind, type)


def equal(one: Kind, other: Kind) -> bool:
    """Whether two kinds are the same; NumPy calls ``float`` equal to its own.

    >>> float == np.dtype("f8"), equal(float, np.dtype("f8"))
    (True, False)
    """
    return one == other and is_python(one) == is_python(other)


def category(kind: Kind) -> str:
    """``b`` truth values, ``i`` and ``u`` integers, ``f`` floats, ``c`` complex.

    >>> category(int), category(np.dtype("u1")), category(np.dtype("f4"))
    ('i', 'u', 'f')
    """
    names = {bool: "b", Truth: "b", int: "i", float: "f", complex: "c"}
    return names[kind] if is_python(kind) else kind.kind


def dtype_of(kind: Kind) -> np.dtype[Any]:
    """The dtype of an array of such numbers.

    >>> dtype_of(int)
    dtype('int64')
    """
    return np.dtype(bool if kind is Truth else kind)


def described(kind: Kind) -> str:
    """A kind in Python's notation."""
    if kind is Truth:
        return "a bool of Python or NumPy"
    return kind.__name__ if is_python(kind) else f"numpy.{kind.name}"


def resolved(ufunc: np.ufunc, kinds: Sequence[Kind]) -> tuple[list[Kind], Kind]:
    """Kinds to which operands are converted, and the result's.  Raises TypeError.

    >>> resolved(np.add, [np.dtype("f4"), float])
    ([dtype('float32'), dtype('float32')], dtype('float32'))
    >>> resolved(np.true_divide, [int, int])
    ([<class 'float'>, <class 'float'>], <class 'float'>)
    """
    all_python = all(map(is_python, kinds))
    asked = [dtype_of(k) if all_python or k in (bool, Truth) else k for k in kinds]
    *operands, result = ufunc.resolve_dtypes((*asked, None))
    if all_python:
        names = {
            "b": Truth if Truth in kinds else bool,
            "i": int,
            "f": float,
            "c": complex,
        }
        return [names[d.kind] for d in operands], names[result.kind]
    return operands, result


def joined(one: Kind, other: Kind) -> Kind:
    """The kind of a variable that may have either kind.

    Raises TypeError.

    >>> joined(float, np.dtype("f4")), joined(int, float), joined(bool, bool)
    (dtype('float32'), <class 'float'>, <class 'bool'>)
    """
    if equal(one, other):
        return one
    truths = [category(kind) == "b" for kind in (one, other)]
    if all(truths):
        return Truth
    if any(truths):
        raise TypeError
    return resolved(np.add, [one, other])[1]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Arrays of a dtype; an extent is a number if it is static, else None.

    ``contiguous``: row-major without gaps; otherwise a call provides the strides.
    """

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    contiguous: bool = True

    @property
    def mlir(self) -> MemRefType:
        """The memref type of an argument."""
        layout = None
        if not self.contiguous:
            layout = StridedLayoutAttr((None,) * len(self.shape), None)
        return MemRefType(self.shape, element(self.dtype), layout)

    def __str__(self) -> str:
        shown = ", ".join(":" if n is None else str(n) for n in self.shape)
        return f"{self.dtype.name}[{shown}]"


@dataclass(frozen=True, slots=True)
class Static:
    """An argument that is known when the function is translated.

    It is a dtype, None or a text.
    """

    value: Any


ArgumentType = Any
"""A kind, an `ArrayType` or a `Static`."""


def is_dtype(value: Any) -> bool:
    """Whether a value names the type of an array's elements.

    >>> is_dtype(np.float32), is_dtype(np.dtype("i4")), is_dtype("i4")
    (True, True, False)
    """
    if isinstance(value, type):
        return value in (bool, int, float, complex) or issubclass(value, np.generic)
    return isinstance(value, np.dtype)


def of_argument(value: Any) -> ArgumentType | None:
    """The type of a call's argument; None if it has none.

    Extents of 1 belong to the type, since they are broadcast; others do not.

    >>> print(of_argument(np.zeros((3, 1), "f4")))
    float32[:, 1]
    """
    own = cast("Any", type(value))
    if own in PYTHON:
        return own
    dtype = _numpy_dtype(getattr(value, "dtype", None))
    if dtype is None or isinstance(value, np.generic):
        return dtype
    if own is np.matrix:  # its `*` is a product, its rows are matrices
        return None
    shape = tuple([1 if n == 1 else None for n in value.shape])
    return ArrayType(dtype, shape, _is_contiguous(value))


@functools.cache
def _numpy_dtype(dtype: object) -> np.dtype[Any] | None:
    """NumPy's dtype of a library's; None if there is none."""
    name = str(dtype).rpartition(".")[2]  # torch.float32
    return np.dtype(name) if name in NUMPY else None


def _is_contiguous(array: Any) -> bool:
    ask = getattr(array, "is_contiguous", None)
    if ask is not None:
        return bool(ask())
    flags = getattr(array, "flags", None)
    return bool(getattr(flags, "c_contiguous", True))


_NAMED = {"float": float, "int": int, "index": int, "bool": bool, "complex": complex}
_ARRAY = re.compile(r"(\w+)\[([^\]]*)\]")


def of_annotation(note: Any) -> ArgumentType | None:
    """The type that an annotation names; None if it names none.

    >>> print(of_annotation("f32[:, 4]"), of_annotation(np.int32))
    float32[:, 4] int32
    """
    if isinstance(note, str):
        found = _ARRAY.fullmatch(note.strip())
        if found is None:
            known = SHORT.get(note, note)
            return _NAMED.get(known) or (np.dtype(known) if known in NUMPY else None)
        name = SHORT.get(found[1], found[1])
        entries = [part.strip() for part in found[2].split(",")]
        if name not in NUMPY:
            return None
        shape = tuple(int(part) if part.isdigit() else None for part in entries)
        return ArrayType(np.dtype(name), shape)
    if note in (bool, int, float, complex):
        return note
    if not isinstance(note, type) or not issubclass(note, np.generic):
        return None
    found: Any = np.dtype(cast("Any", note))
    return found if found.name in NUMPY else None


def required(value: Any, name: str, function: str) -> ArgumentType:
    """The type of an argument.  Raises UntypedArgument."""
    found = of_argument(value)
    if found is not None:
        return found
    if is_dtype(value) or value is None or isinstance(value, str):
        return Static(value)
    dtype = getattr(value, "dtype", None)
    what = type(value).__name__ + (f" of {dtype}" if dtype is not None else "")
    hint = "Pass numbers, and arrays of bool, integers, float16 to float64 and complex"
    if isinstance(value, list | tuple):
        hint = "Pass numpy.array(...) of it, or its numbers one by one"
    if isinstance(value, np.matrix):
        hint = "Pass numpy.asarray(...) of it, and write `@` for its `*`"
    raise errors.UntypedArgument(name=name, function=function, actual=what, hint=hint)
