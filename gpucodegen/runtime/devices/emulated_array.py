"""Arrays in the memory of an emulated device, with the interface of `cupy.ndarray`.

As with CuPy, nothing reads them by accident: `get` copies the contents to main memory,
and NumPy refuses them.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpucodegen.intrinsics.framework.elements import row_major
from gpucodegen.records import dataclass
from gpucodegen.runtime.devices.protocol import Device, Shape


@dataclass(eq=False)
class Allocation:
    """Bytes of a device's memory, freed when the last array on them dies.

    ``memory`` is a `gpucodegen.ptx.Memory`; ``owner``: an object that frees them
    instead.
    """

    device: Device
    memory: Any
    address: int
    size: int
    owner: object = None

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self.owner is None and not is_finalizing():  # then modules may be gone
            self.memory.free(self.address)


class DevicePointer(NamedTuple):
    """An address in a device's memory, and the number of the device."""

    ptr: int
    device_id: int


class Flags(NamedTuple):
    """Whether an array is contiguous in C or Fortran order."""

    c_contiguous: bool
    f_contiguous: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmulatedArray:
    """A strided array over an allocation, which lives as long as its arrays."""

    allocation: Allocation
    data: DevicePointer
    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]

    @property
    def device(self) -> Device:
        return self.allocation.device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def flags(self) -> Flags:
        return Flags(self._is_row(), self._is_row(-1))

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> EmulatedArray:  # noqa: N802 - its name everywhere
        return self._with(self.data.ptr, self.shape[::-1], self.strides[::-1])

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.data.ptr, False),
            "strides": None if self._is_row() else self.strides,
            "version": 3,
        }

    def __array__(self, *_: object, **__: object) -> npt.NDArray[Any]:
        raise TypeError("an array of the emulated device is brought here by .get()")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[EmulatedArray]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return operator.index(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __repr__(self) -> str:
        return f"EmulatedArray(shape={self.shape}, dtype={self.dtype})"

    def get(self) -> npt.NDArray[Any]:
        """Copies the contents to main memory, after earlier kernels in the stream."""
        return self.device.fetch(self)()

    def set(self, contents: npt.NDArray[Any]) -> None:
        """Copies from main memory; both sides are contiguous, as CuPy requires."""
        either = self.flags.c_contiguous and contents.flags.c_contiguous
        both = self.flags.f_contiguous and contents.flags.f_contiguous
        if contents.dtype != self.dtype or contents.shape != self.shape:
            raise TypeError(f"{contents.dtype}{contents.shape} into {self!r}")
        if not (either or both):
            raise RuntimeError("a contiguous array is set from a contiguous one")
        self.device.touch("a copy from main memory", writes=[self])
        self.cells()[...] = contents

    def __getitem__(self, index: Any) -> EmulatedArray:
        parts: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
        if not any(part is Ellipsis for part in parts):
            parts = (*parts, ...)  # an element is an array without dimensions
        cells = self.cells()
        found = self._viewed(cells, cells[parts])
        if found is None:
            raise TypeError("arrays of the emulated device are indexed by slices")
        return found

    def _viewed(
        self, cells: npt.NDArray[Any], found: npt.NDArray[Any]
    ) -> EmulatedArray | None:
        """A view of the cells as an array of the device; None for a copy of them."""
        if found.size and not np.may_share_memory(found, cells):
            return None
        offset = _address(found) - _address(cells) if found.size else 0
        return self._with(self.data.ptr + offset, found.shape, found.strides)

    def _arranged(
        self, arrange: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    ) -> EmulatedArray:
        """The elements rearranged by NumPy: a view where that is possible."""
        cells = self.cells()
        found = self._viewed(cells, arrange(cells))
        if found is not None:
            return found
        made = self.device.empty(arrange(cells).shape, self.dtype)
        self.device.touch("a copy", [self], [made])
        made.cells()[...] = arrange(cells)
        return made

    def __setitem__(self, index: Any, value: EmulatedArray | complex) -> None:
        """Accepts numbers and arrays of this device only, as CuPy does."""
        if isinstance(value, np.ndarray):
            raise TypeError("arrays in main memory come here by .set()")
        is_array = isinstance(value, EmulatedArray)
        sources = [value] if isinstance(value, EmulatedArray) else []
        self.device.touch("a copy", sources, [self[index]])
        here: Any = value.cells() if is_array else value
        self.cells()[index] = here

    def fill(self, value: complex) -> None:
        self[...] = value

    def reshape(self, *shape: Any, order: Any = "C") -> EmulatedArray:
        """A new shape, in which one extent may be -1."""
        return self._arranged(lambda cells: cells.reshape(*shape, order=order))

    def ravel(self, order: Any = "C") -> EmulatedArray:
        """The elements in one dimension: a view if they are contiguous."""
        return self.reshape(-1, order=order)

    def flatten(self, order: Any = "C") -> EmulatedArray:
        """A copy of the elements in one dimension."""
        return self.copy().reshape(-1, order=order)

    def transpose(self, *axes: Any) -> EmulatedArray:
        """A view with the dimensions in another order; by default reversed."""
        return self._arranged(lambda cells: cells.transpose(*axes))

    def swapaxes(self, one: int, other: int) -> EmulatedArray:
        """A view with two dimensions exchanged."""
        return self._arranged(lambda cells: cells.swapaxes(one, other))

    def squeeze(self, axis: Any = None) -> EmulatedArray:
        """A view without dimensions of extent 1."""
        return self._arranged(lambda cells: cells.squeeze(axis))

    def astype(self, dtype: Any, *, copy: bool = True) -> EmulatedArray:
        """The elements in another type; without ``copy``, itself if it has the type."""
        kind = np.dtype(dtype)
        if kind == self.dtype:
            return self.copy() if copy else self
        made = self.device.empty(self.shape, kind)
        self.device.touch("a conversion", [self], [made])
        made.cells()[...] = self.cells()
        return made

    def item(self, *index: Any) -> Any:
        """One element as a number of Python."""
        return self.get().item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of numbers of Python."""
        return self.get().tolist()

    def copy(self, order: str = "C") -> EmulatedArray:
        """A copy in C order, or in the present order for ``"K"``."""
        if order == "K" and self.flags.f_contiguous:
            return self.T.copy().T
        made = self.device.empty(self.shape, self.dtype)
        made[...] = self
        return made

    def view(self, dtype: Any) -> EmulatedArray:
        """The same bits as another type of that size."""
        kind = np.dtype(dtype)
        assert kind.itemsize == self.itemsize
        place = self.data
        return EmulatedArray(self.allocation, place, self.shape, self.strides, kind)

    def cells(self) -> npt.NDArray[Any]:
        """The device's memory as a NumPy array: for the device alone."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        low, high = self.reach()
        memory = self.allocation.memory.bytes(self.data.ptr + low, high - low)
        return np.ndarray(self.shape, self.dtype, memory, -low, self.strides)

    def touched(self) -> tuple[int, npt.NDArray[np.bool_]]:
        """The address of its lowest byte, and which bytes from there on it holds."""
        if 0 in self.shape:
            return self.data.ptr, np.zeros(0, np.bool_)
        low, high = self.reach()
        held = np.zeros(high - low, np.bool_)
        shape, strides = (*self.shape, self.itemsize), (*self.strides, 1)
        np.ndarray(shape, np.bool_, held, -low, strides)[...] = True
        return self.data.ptr + low, held

    def reach(self) -> tuple[int, int]:
        """Offsets of the lowest byte and of the end, from the first element."""
        ends = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low = sum(end for end in ends if end < 0)
        return low, sum(end for end in ends if end > 0) + self.itemsize

    def _with(self, address: int, shape: Shape, strides: Shape) -> EmulatedArray:
        place = DevicePointer(address, self.data.device_id)
        return EmulatedArray(self.allocation, place, shape, strides, self.dtype)

    def _is_row(self, step: int = 1) -> bool:
        """Whether it is contiguous, with the last or first dimension fastest."""
        shape, strides = self.shape[::step], self.strides[::step]
        rows = zip(shape, strides, row_major(shape), strict=True)
        is_row = all(n == 1 or s == m * self.itemsize for n, s, m in rows)
        return is_row or 0 in shape


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


EmulatedArray.__module__ = "gpucodegen.runtime.devices.emulated_cupy"
"""Where the functions for such arrays are, as CuPy's arrays say."""
