"""The device protocol: memory, streams, kernels and limits that the runtime relies on.

A device performs the operations of one stream in order, and those of several streams in
any order that their events allow.  An operation without a stream goes to the thread's
current one.  A fault of a kernel is raised by a later call of a method of its device,
at the latest by a synchronisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import GRID, STATIC_SHARED, most_shared

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int, ...]
Triple = tuple[int, int, int]
Extents = tuple[Triple, Triple]
"""Blocks of a grid, and threads of a block."""
MAP_WORDS = 16
"""A tensor map has 128 bytes, which lie at a multiple of 64."""
MOST_MAPS = 1024
"""Tensor maps that a device caches before it clears the cache."""


@dataclass(frozen=True, slots=True)
class LaunchLimits:
    """Largest launches: blocks and threads by dimension, threads and bytes of a block.

    ``shared``: the static shared memory that every kernel may declare, in bytes,
    ``most_shared`` the maximum including the dynamic shared memory of a launch.
    """

    grid: Triple = GRID
    block: Triple = (1024, 1024, 64)
    threads: int = 1024
    shared: int = STATIC_SHARED
    most_shared: int = STATIC_SHARED

    @classmethod
    def of(cls, compute_capability: tuple[int, int]) -> LaunchLimits:
        """The limits of an architecture.

        >>> LaunchLimits.of((9, 0)).most_shared
        232448
        """
        return cls(most_shared=most_shared(compute_capability))

    def problem(
        self, grid: Sequence[int], block: Sequence[int], shared: int = 0
    ) -> str:
        """The limit that a launch exceeds, or an empty text; ``shared`` in bytes.

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
        if shared > self.most_shared:
            most = self.most_shared
            return f"its blocks of {shared} bytes of shared memory exceed {most}"
        return ""


def _by(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


class TensorForm(NamedTuple):
    """A tensor in global memory, and the box of it that one copy moves.

    ``extents`` and ``box`` count elements of ``size`` bytes, the last dimension first;
    ``strides`` are bytes, of all dimensions but that one.  ``swizzle`` is 0 or the span
    in bytes within which a copy permutes, ``promotion`` the bytes that caches fetch.
    """

    address: int
    element: str
    size: int
    extents: Shape
    strides: Shape
    box: Shape
    swizzle: int = 0
    promotion: int = 0


class Event(Protocol):
    """A point in the order of a stream."""

    def synchronize(self) -> None:
        """Waits for the operations before it in its stream."""
        ...


class Stream(Protocol):
    """The common interface of CuPy's streams and ours: operations in order."""

    @property
    def ptr(self) -> int:
        """Its number for the driver; 0 is the default stream."""
        ...

    def record(self) -> Any:
        """An `Event` after the operations so far."""
        ...

    def wait_event(self, event: Any) -> None:
        """Orders later operations after an event of any stream."""
        ...

    def synchronize(self) -> None:
        """Waits for the operations so far."""
        ...


class PackedArguments(Protocol):
    """Packed arguments of a kernel, as a driver takes them."""

    @property
    def pointers(self) -> int:
        """The address of the row of addresses of the parts."""
        ...

    @property
    def offsets(self) -> Sequence[int]:
        """The byte offset of each part in ``contents``."""
        ...

    @property
    def contents(self) -> bytes:
        """The parts."""
        ...


class Device(Protocol):
    """One device: memory, kernels, streams, faults.

    Equal objects are the same device.
    """

    @property
    def limits(self) -> LaunchLimits: ...

    @property
    def compute_capability(self) -> tuple[int, int]:
        """(major, minor)."""
        ...

    @property
    def architecture(self) -> str:
        """The architecture whose specific features kernels may use; "": none."""
        ...

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        """A new uninitialised array; raises `OutOfMemory`."""
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
        """Copies from main memory, which may change after this returns.

        Both sides are contiguous.  The device may still be busy with the copy.
        """
        ...

    def fetch(self, array: Any) -> Callable[[], np.ndarray[Any, Any]]:
        """Starts a copy to main memory; the returned function waits for it."""
        ...

    def copy(self, target: Any, source: Any) -> None:
        """Copies an array to another of its shape, with any strides."""
        ...

    def fill(self, array: Any, value: Any) -> None:
        """Stores one number in every element."""
        ...

    def tensor_map(
        self, form: TensorForm, encoded: Callable[[TensorForm], np.ndarray[Any, Any]]
    ) -> Any:
        """An array of 128 bytes that holds a tensor map; ``encoded``: by the driver.

        Maps are read-only: calls and streams may share one per form.
        """
        ...

    def load(self, name: str, code: bytes, *, cooperative: bool = False) -> Any:
        """A kernel of a PTX module.

        ``cooperative``: its blocks wait for each other, so a launch starts all at once,
        and is refused where the device does not hold so many.
        """
        ...

    def launch(
        self,
        kernel: Any,
        extents: Extents,
        arguments: PackedArguments,
        shared: int = 0,
        /,
        *,
        stream: Stream | None = None,
    ) -> None:
        """Starts a kernel; ``shared``: dynamic shared memory of a block in bytes."""
        ...

    def stream(self, given: object) -> Stream:
        """The stream that a caller names: an object of some library, or its pointer.

        Raises UnknownStream.
        """
        ...

    def new_stream(self) -> Stream:
        """A stream that is ordered with the default stream only."""
        ...

    def on(self, stream: Stream) -> AbstractContextManager[object]:
        """Makes a stream the thread's current one."""
        ...

    def graph(self, operations: Sequence[Callable[[], None]]) -> Callable[[], None]:
        """Operations of this device as one operation, run in the current stream.

        Each is a launch, a copy between its arrays or a fill; none runs now.
        """
        ...

    def synchronize(self) -> None:
        """Waits for all kernels; raises their faults."""
        ...


def stream_pointer(given: object) -> int | None:
    """The driver's number of a stream of CuPy, PyTorch or another library, or None.

    >>> stream_pointer(7), stream_pointer("7")
    (7, None)
    """
    if type(given) is int:
        return given
    for name in ("ptr", "cuda_stream"):
        found = getattr(given, name, None)
        if type(found) is int:
            return found
    tell = getattr(given, "__cuda_stream__", None)
    return None if tell is None else int(tell()[1])


def failure(kernels: Sequence[str], reason: object, hint: str) -> errors.LaunchFailed:
    """The error for kernels that failed; the last of them comes last."""
    names = " or ".join(dict.fromkeys(kernels)) or "(none)"
    return errors.LaunchFailed(kernel=names, reason=reason, hint=hint)
