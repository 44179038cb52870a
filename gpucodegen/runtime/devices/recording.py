"""Operations of a device that are noted, to be done again and again as one graph.

Comes in: what a host program asks of its device.  Goes out: what does it all.
A program whose next step depends on what the device computed cannot be noted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from gpucodegen import errors
from gpucodegen.runtime.devices.protocol import (
    Device,
    LaunchLimits,
    PackedArguments,
    Shape,
    Stream,
    TensorForm,
    Triple,
)

if TYPE_CHECKING:
    import numpy as np


class Recording:
    """A device that notes launches, copies and fills, and does what is no operation.

    It keeps the arrays that it makes as long as its graph.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._operations: list[Callable[[], None]] = []
        self._arrays: list[Any] = []

    def recorded(self) -> Callable[[], None]:
        """All that was noted, as one operation of the device."""
        return partial(_replayed, self.device.graph(self._operations), self._arrays)

    @property
    def limits(self) -> LaunchLimits:
        """Those of the device."""
        return self.device.limits

    @property
    def compute_capability(self) -> tuple[int, int]:
        """That of the device."""
        return self.device.compute_capability

    @property
    def architecture(self) -> str:
        """That of the device."""
        return self.device.architecture

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        """An array on the device."""
        self._arrays.append(self.device.empty(shape, dtype))
        return self._arrays[-1]

    def view(
        self, array: Any, address: int, shape: Shape, strides: Shape, dtype: Any
    ) -> Any:
        """Another array over the memory of one."""
        return self.device.view(array, address, shape, strides, dtype)

    def allocation(self, array: Any) -> tuple[int, int]:
        """Where the allocation of an array lies."""
        return self.device.allocation(array)

    def upload(self, array: Any, contents: np.ndarray[Any, Any]) -> NoReturn:
        """Contents of main memory are not those of a later run."""
        del array, contents
        raise errors.NotRecordable(operation="a copy from main memory")

    def fetch(self, array: Any) -> NoReturn:
        """The program would wait for what is only noted."""
        del array
        raise errors.NotRecordable(operation="a copy to main memory")

    def copy(self, target: Any, source: Any) -> None:
        """Note a copy."""
        self._operations.append(partial(self.device.copy, target, source))

    def fill(self, array: Any, value: Any) -> None:
        """Note a fill."""
        self._operations.append(partial(self.device.fill, array, value))

    def tensor_map(self, form: TensorForm, encoded: Callable[..., Any]) -> Any:
        """A map that is made now: a graph is of arrays that stay where they are."""
        self._arrays.append(self.device.tensor_map(form, encoded))
        return self._arrays[-1]

    def load(self, name: str, code: bytes, *, cooperative: bool = False) -> Any:
        """A kernel on the device."""
        return self.device.load(name, code, cooperative=cooperative)

    def launch(
        self,
        kernel: Any,
        grid: Triple,
        block: Triple,
        arguments: PackedArguments,
        shared: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Note a launch, in whichever stream the graph runs."""
        del stream
        given = kernel, grid, block, arguments, shared
        self._operations.append(partial(self.device.launch, *given))

    def stream(self, given: object) -> Stream:
        """A stream of the device."""
        return self.device.stream(given)

    def new_stream(self) -> Stream:
        """A stream of the device."""
        return self.device.new_stream()

    def on(self, stream: Stream) -> AbstractContextManager[object]:
        """Of no effect on what is noted: a graph runs in one stream."""
        return self.device.on(stream)

    def graph(self, operations: Sequence[Callable[[], None]]) -> NoReturn:
        """A graph within one is not noted."""
        del operations
        raise errors.NotRecordable(operation="a graph")

    def synchronize(self) -> NoReturn:
        """The program would wait for what is only noted."""
        raise errors.NotRecordable(operation="a synchronisation")


def _replayed(graph: Callable[[], None], arrays: Sequence[Any]) -> None:
    """Run a graph whose arrays live as long as this is bound to them."""
    del arrays
    graph()
