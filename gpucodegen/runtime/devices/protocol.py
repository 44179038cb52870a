"""What the runtime asks of a device, and what hardware allows.

A device has memory and executes kernels in order.  A fault of a kernel comes up at a
later call of a method of its device, at the latest when it is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gpucodegen import errors
from gpucodegen.tiling.machine.gpu.limits import GRID

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int, ...]
Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LaunchLimits:
    """Largest launches: blocks and threads by dimension, threads and bytes of a block.

    ``shared`` is what every kernel may declare, in bytes.
    """

    grid: Triple = GRID
    block: Triple = (1024, 1024, 64)
    threads: int = 1024
    shared: int = 48 * 1024

    def problem(self, grid: Sequence[int], block: Sequence[int]) -> str:
        """What a launch has too much of, or nothing.

        >>> LaunchLimits().problem((1, 70000, 1), (32, 8, 1))
        'its grid of 1 x 70000 x 1 blocks exceeds 2147483647 x 65535 x 65535'
        >>> LaunchLimits().problem((1, 1, 1), (1024, 2, 1))
        'its blocks of 2048 threads exceed 1024'
        """
        if any(n > most for n, most in zip(grid, self.grid, strict=True)):
            return f"its grid of {_by(grid)} blocks exceeds {_by(self.grid)}"
        if any(n > most for n, most in zip(block, self.block, strict=True)):
            return f"its blocks of {_by(block)} threads exceed {_by(self.block)}"
        threads = block[0] * block[1] * block[2]
        if threads > self.threads:
            return f"its blocks of {threads} threads exceed {self.threads}"
        return ""


def _by(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


class DeviceArray(Protocol):
    """An array in a device's memory: what CuPy's arrays and ours have in common."""

    @property
    def shape(self) -> Shape:
        """Extents."""
        ...

    @property
    def strides(self) -> Shape:
        """Bytes between neighbours of each dimension."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        ...

    @property
    def data(self) -> Any:
        """Where it lies: ``data.ptr`` is the address of its first element."""
        ...


class Device(Protocol):
    """One device: memory, kernels, faults.

    ``form`` of the kernels it loads: "ptx" or "cubin".  Devices are equal when they are
    the same one.
    """

    form: str
    limits: LaunchLimits

    @property
    def compute_capability(self) -> tuple[int, int]:
        """(major, minor)."""
        ...

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        """An array of its own, uninitialised; `OutOfMemory`."""
        ...

    def view(
        self, array: Any, address: int, shape: Shape, strides: Shape, dtype: Any
    ) -> Any:
        """Another array over the memory of one; ``strides`` count bytes."""
        ...

    def allocation(self, array: Any) -> tuple[int, int]:
        """First address and end of the allocation that an array lies in."""
        ...

    def upload(self, array: Any, contents: np.ndarray[Any, Any]) -> None:
        """Contents from main memory; both sides are contiguous."""
        ...

    def download(self, array: Any) -> np.ndarray[Any, Any]:
        """The contents in main memory; waits for the kernels before."""
        ...

    def copy(self, target: Any, source: Any) -> None:
        """One array's contents to another of its shape, whatever their strides."""
        ...

    def fill(self, array: Any, value: Any) -> None:
        """One number to every element."""
        ...

    def load(self, name: str, code: bytes) -> Any:
        """A kernel of a module in this device's ``form``."""
        ...

    def launch(
        self,
        kernel: Any,
        grid: Triple,
        block: Triple,
        arguments: bytes,
        offsets: Sequence[int],
    ) -> None:
        """Start a kernel; ``arguments`` are packed, each at its offset in bytes."""
        ...

    def synchronize(self) -> None:
        """Wait for all kernels; raises what went wrong in them."""
        ...


def failure(kernels: Sequence[str], reason: object, hint: str) -> errors.LaunchFailed:
    """The error of kernels that ran, or could not; the last of them comes last."""
    names = " or ".join(dict.fromkeys(kernels)) or "(none)"
    return errors.LaunchFailed(kernel=names, reason=reason, hint=hint)
