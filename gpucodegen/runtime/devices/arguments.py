"""Kernel arguments in memory: each at its natural alignment, as CUDA lays them out.

Comes in: the parameters of a kernel and the words of a launch: addresses and numbers.
Goes out: packed bytes, and the address of each part in them.  A complex number is two
parts.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.ir.number_formats import MAX_OFFSET
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec, Param

_FORMATS = {
    "boolean": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "float32": "f",
    "float64": "d",
    "complex64": "ff",
    "complex128": "dd",
}
"""Format of `struct` by the carrier of a number."""
_POINTER = struct.calcsize("@P")


@dataclass(frozen=True, slots=True)
class Packed:
    """Parts of one launch's arguments, and before them a row of their addresses."""

    memory: ctypes.Array[ctypes.c_char]
    pointers: int
    offsets: tuple[int, ...]

    @property
    def contents(self) -> bytes:
        """The parts; each begins at its offset."""
        return self.memory.raw[_POINTER * len(self.offsets) :]


@dataclass(frozen=True, slots=True)
class ArgumentLayout:
    """How the arguments of one kernel are packed.

    ``form``: the row of addresses, then the arguments at their ``offsets``.
    ``index_bits``: how far the kernel counts.
    ``converted``: where words are not what `struct` takes, how they become that.
    """

    kernel: str
    params: tuple[Param, ...]
    form: struct.Struct
    offsets: tuple[int, ...]
    memory: type[ctypes.Array[ctypes.c_char]]
    converted: tuple[tuple[int, Callable[[Any], Any]], ...]
    index_bits: int = 32

    @classmethod
    def of(cls, spec: KernelSpec) -> ArgumentLayout:
        """The layout of a kernel's parameters.

        >>> params = Param("a", "pointer", "f32"), Param("n", "scalar", "index")
        >>> ArgumentLayout.of(KernelSpec("k", "", (*params, params[0]))).offsets
        (0, 8, 16)
        """
        parts = "".join(map(_format, spec.params))
        sizes = (struct.calcsize(f"={part}") for part in parts)
        ends = (struct.calcsize(f"@{parts[: n + 1]}") for n in range(len(parts)))
        offsets = tuple(end - size for end, size in zip(ends, sizes, strict=True))
        form = struct.Struct("@" + "P" * len(parts) + parts)
        converted = ((n, _conversion(p)) for n, p in enumerate(spec.params))
        return cls(
            spec.name,
            spec.params,
            form,
            offsets,
            ctypes.c_char * form.size,
            tuple((n, convert) for n, convert in converted if convert is not None),
            spec.index_bits,
        )

    def pack(self, values: Sequence[Any]) -> Packed:
        """Buffers and numbers in memory.

        Raises MisalignedAccess, and IndexTooLarge for extents and numbers that do not
        fit the indices of the kernel.
        """
        return self.pack_words(
            [
                value if param.kind != "pointer" else self._address(param, value)
                for param, value in zip(self.params, values, strict=True)
            ]
        )

    def pack_words(self, words: Sequence[Any]) -> Packed:
        """The same of addresses and numbers; only the numbers are checked.

        >>> params = Param("a", "pointer", "f32"), Param("n", "scalar", "i8")
        >>> packed = ArgumentLayout.of(KernelSpec("k", "", params)).pack_words((64, -1))
        >>> packed.contents.hex(" ", 8), packed.offsets
        ('40 00000000000000ff', (0, 8))
        """
        memory = self.memory()
        start = ctypes.addressof(memory)
        first = start + _POINTER * len(self.offsets)
        parts: Sequence[Any] = words
        if self.converted:
            parts = self._converted(words)
        places = [first + offset for offset in self.offsets]
        try:
            self.form.pack_into(memory, 0, *places, *parts)
        except (struct.error, OverflowError) as problem:
            raise self._too_large(words) from problem
        return Packed(memory, start, self.offsets)

    def _converted(self, words: Sequence[Any]) -> list[Any]:
        parts = list(words)
        for n, convert in self.converted:
            parts[n] = convert(words[n])
        if any(len(_format(param)) > 1 for param in self.params):
            parts = list(chain.from_iterable(map(_real_parts, parts)))
        return parts

    def _address(self, param: Param, value: Any) -> int:
        assert isinstance(value, Buffer)
        self.check_extent(value, param.name)
        start, size = value.byte_range[0], value.array.itemsize
        if start % size:
            raise errors.MisalignedAccess(
                align=size, buffer=param.name, index=f"address {start:#x}"
            )
        return value.pointer

    def check_extent(self, buffer: Buffer, name: str = "an argument") -> None:
        """Raise IndexTooLarge for a buffer that indices of 32 bits do not reach."""
        if self.index_bits > 32:
            return
        start, end = buffer.byte_range
        elements = max((end - start) // buffer.array.itemsize, prod(buffer.shape))
        if elements > MAX_OFFSET:
            name = f"the extent in elements of {name}"
            raise errors.IndexTooLarge(kernel=self.kernel, name=name, value=elements)

    def _too_large(self, words: Sequence[Any]) -> errors.IndexTooLarge:
        pairs = zip(self.params, words, strict=True)
        name, value = next(
            (p.name, v)
            for p, v in pairs
            if p.dtype == "index" and p.kind == "scalar" and abs(int(v)) > MAX_OFFSET
        )
        return errors.IndexTooLarge(kernel=self.kernel, name=name, value=value)


def _format(param: Param) -> str:
    if param.kind == "pointer":
        return "Q"
    return "i" if param.dtype == "index" else _FORMATS[element(param.dtype).carrier]


def _conversion(param: Param) -> Callable[[Any], Any] | None:
    """How a number becomes one of a parameter's type; None where `struct` does it."""
    if param.kind == "pointer" or param.dtype in ("index", "f64"):
        return None
    carrier = element(param.dtype).carrier
    if carrier in _WRAPPED:
        return partial(_wrapped, _WRAPPED[carrier])
    return partial(_rounded, np.dtype(carrier.replace("boolean", "bool")).type)


_WRAPPED = {
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
}


def _wrapped(kind: Callable[[int], Any], value: Any) -> int:
    return kind(int(value)).value


def _rounded(kind: Callable[[Any], np.generic], value: Any) -> Any:
    return kind(value).item()


def _real_parts(part: Any) -> tuple[float, ...]:
    if isinstance(part, complex):
        return part.real, part.imag
    return (part,)
