"""Element types: how each MLIR element is stored in memory and carried in a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.number_formats import NARROW, SMALL
from gpucodegen.records import dataclass


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of contiguous memory, in elements.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


@dataclass(frozen=True, slots=True)
class Element:
    """One element type.

    ``storage`` is NumPy's name of an element in memory, ``carrier`` Numba's name of a
    value in a kernel.  Narrow floats are stored as bits and carried as float32.
    """

    name: str
    storage: str
    carrier: str
    size: int
    is_float: bool = False

    @property
    def pointee(self) -> str:
        """Numba's name of the elements that a kernel's pointer points to."""
        return f"uint{8 * self.size}" if self.name in NARROW else self.carrier


_INTEGERS = {
    f"{prefix}i{bits}": Element(
        f"{prefix}i{bits}",
        f"{'uint' if prefix == 'u' else 'int'}{bits}",
        f"int{bits}",
        bits // 8,
    )
    for prefix in ("", "s", "u")
    for bits in (8, 16, 32, 64)
}
_SMALL_FLOATS = {
    name: Element(name, "uint8", "float32", 1, is_float=True) for name in sorted(SMALL)
}

ELEMENTS: dict[str, Element] = {
    "f16": Element("f16", "float16", "float32", 2, is_float=True),
    "bf16": Element("bf16", "uint16", "float32", 2, is_float=True),
    "f32": Element("f32", "float32", "float32", 4, is_float=True),
    "f64": Element("f64", "float64", "float64", 8, is_float=True),
    "i1": Element("i1", "bool", "boolean", 1),
    "index": Element("index", "int64", "int64", 8),
    "tag": Element("tag", "int64", "int64", 8),
    "complex<f32>": Element("complex<f32>", "complex64", "complex64", 8),
    "complex<f64>": Element("complex<f64>", "complex128", "complex128", 16),
    **_INTEGERS,
    **_SMALL_FLOATS,
}

TAG_WORDS = 8
"""A tag element is a descriptor of so many 64-bit words on the CPU."""


def element(name: str) -> Element:
    """The element type of an MLIR name.

    >>> element("f16").carrier
    'float32'
    """
    return ELEMENTS[name]
