"""The stream that a caller names for a call, and calls on it.

Comes in: an object of CuPy, PyTorch or another library, or a driver's pointer.  Goes
out: a call during which that stream is the current one of the call's device.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from gpucodegen import errors
from gpucodegen.runtime.devices.protocol import Device, Stream


@dataclass(frozen=True, slots=True)
class Place:
    """A stream of a device."""

    device: Device
    stream: Stream

    def current(self) -> AbstractContextManager[object]:
        """Make it the current one."""
        return self.device.on(self.stream)

    def of(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """A call that makes it the current one."""

        def on_stream() -> Any:
            with self.device.on(self.stream):
                return call()

        return on_stream


def device_of(runtime: Any, target: str, option: str) -> Device:
    """The device of a call's runtime.  Raises NoStreams where its target has none."""
    device = runtime.device
    if device is None:
        raise errors.NoStreams(target=target, option=option)
    return device


def place_of(runtime: Any, target: str, stream: object) -> Place | None:
    """Where a call on a stream works; None where none is named."""
    if stream is None:
        return None
    device = device_of(runtime, target, "stream")
    return Place(device, device.stream(stream))


def current(place: Place | None) -> AbstractContextManager[object]:
    """Make the stream of a place the current one, if there is one."""
    return nullcontext() if place is None else place.current()
