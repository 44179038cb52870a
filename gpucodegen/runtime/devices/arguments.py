"""Kernel arguments as bytes: each at its natural alignment, as CUDA lays them out.

Comes in: the parameters of a kernel and the values of a launch.  Goes out: packed bytes
with the offset of each part.  A complex number is two parts.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.counting import MAX_OFFSET
from gpucodegen.intrinsics.framework.elements import element
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


@dataclass(frozen=True, slots=True)
class ArgumentLayout:
    """How the arguments of one kernel are packed."""

    kernel: str
    params: tuple[Param, ...]
    form: struct.Struct
    offsets: tuple[int, ...]

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
        return cls(spec.name, spec.params, struct.Struct(f"@{parts}"), offsets)

    def pack(self, values: Sequence[Any]) -> bytes:
        """The arguments as bytes; numbers that do not fit are `IndexTooLarge`."""
        parts: list[Any] = []
        for param, value in zip(self.params, values, strict=True):
            self._put(param, value, parts)
        try:
            return self.form.pack(*parts)
        except (struct.error, OverflowError) as problem:
            raise self._too_large(values) from problem

    def _put(self, param: Param, value: Any, parts: list[Any]) -> None:
        if param.kind == "pointer":
            parts.append(self._address(param, value))
        elif param.dtype == "index":
            parts.append(int(value))
        else:
            carrier = element(param.dtype).carrier.replace("boolean", "bool")
            number = np.dtype(carrier).type(value)
            if isinstance(number, np.complexfloating):
                parts += (float(number.real), float(number.imag))
            else:
                parts.append(number.item())

    def _address(self, param: Param, value: Any) -> int:
        assert isinstance(value, Buffer)
        start, end = value.byte_range
        size = value.array.itemsize
        if (end - start) // size > MAX_OFFSET:
            raise errors.ResourceLimit(
                what=f"{self.kernel}: the extent in elements of {param.name}",
                needed=(end - start) // size,
                limit=MAX_OFFSET,
            )
        if start % size:
            raise errors.MisalignedAccess(
                align=size, buffer=param.name, index=f"address {start:#x}"
            )
        return value.pointer

    def _too_large(self, values: Sequence[Any]) -> errors.IndexTooLarge:
        pairs = zip(self.params, values, strict=True)
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
