"""Tensor maps: what ``cuTensorMapEncodeTiled`` writes for tensor copies on sm_90."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpucodegen.ptx.memory import BASE, Memory
from gpucodegen.ptx.types import Array

_BYTES = 128
"""Size and least alignment of an encoded map, and of a copy's destination."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor in global memory and the box of it that one copy brings.

    Extents and the box count elements of ``size`` bytes, the innermost dimension first;
    ``strides`` are in bytes, of all dimensions but the innermost.  ``swizzle`` is 0 or
    the span in bytes within which pieces of 16 bytes are permuted: 32, 64 or 128.
    Copies read zeros outside the tensor.

    >>> TensorMap(0, 4, (60, 8), (240,), (32, 8), 128).nbytes
    1024
    """

    address: int
    size: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0

    def __post_init__(self) -> None:
        row = self.box[0] * self.size
        wrong = (
            row % 16
            or (self.swizzle and row > self.swizzle)
            or self.swizzle not in (0, 32, 64, 128)
            or max(self.box) > 256
            or any(stride % 16 for stride in self.strides)
            or not len(self.extents) == len(self.box) == len(self.strides) + 1
        )
        if wrong:
            raise ValueError(f"no driver encodes {self}")

    @property
    def nbytes(self) -> int:
        """Bytes of a box."""
        return int(np.prod(self.box)) * self.size

    @property
    def alignment(self) -> int:
        """What a box's place in shared memory must be a multiple of."""
        return max(_BYTES, 8 * self.swizzle)

    def encode(self, memory: Memory) -> int:
        """Put the map into device memory; kernels take the address of it."""
        address = memory.allocate(_BYTES)
        memory.descriptors[address] = self
        return address

    def bytes_at(self, corner: tuple[int, ...]) -> Array:
        """Where each byte of the box at a corner lies in the arena; -1: outside."""
        index = np.indices(self.box[::-1])[::-1]
        start = np.full(self.box[::-1], self.address - BASE)
        inside = np.ones(self.box[::-1], bool)
        strides = (self.size, *self.strides)
        for i, first, extent, stride in zip(
            index, corner, self.extents, strides, strict=True
        ):
            inside &= (i + first >= 0) & (i + first < extent)
            start = start + (i + first) * stride
        first = np.where(inside, start, -1).reshape(-1, 1)
        each = np.where(first < 0, -1, first + np.arange(self.size))
        return each.reshape(-1)

    def places(self, address: int) -> Array:
        """Where in shared memory each byte goes, from an address of the box on."""
        at = address + np.arange(self.nbytes)
        return swizzled(at, self.swizzle) - address if self.swizzle else at - address


def swizzled(addresses: Array, span: int) -> Array:
    """Addresses whose bits of 16-byte pieces are crossed with those of the row.

    >>> swizzled(np.array([0, 128, 256]), 128).tolist()
    [0, 144, 288]
    """
    return addresses ^ ((addresses >> 3) & (span - 16))
