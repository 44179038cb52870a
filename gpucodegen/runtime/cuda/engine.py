"""The engine of the target ``cuda``: memory and kernels of the device of a call.

NumPy arguments travel there and back.  Their copies keep extents and strides, since a
kernel may be made for these, and bring along what overlaps within them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.runtime.cuda.kernel import CudaKernel
from gpucodegen.runtime.devices import choice
from gpucodegen.runtime.devices.protocol import Device
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import (
    Launcher,
    Maker,
    Shape,
    Ways,
    contents_of,
    storage,
)
from gpucodegen.runtime.host.spec import KernelSpec

Contents = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class CudaEngine:
    """Memory and kernels of one device.

    ``chosen``: that device, or None for the current one.  ``wants_numpy``: the caller
    passed NumPy arrays, and gets results as such.
    """

    chosen: Device | None = None
    wants_numpy: bool = False

    @property
    def device(self) -> Device:
        """The device of the call."""
        return self.chosen or choice.current()

    @property
    def memory(self) -> object:
        """That of the device."""
        return self.chosen

    def for_call(self, values: Sequence[Any]) -> CudaEngine:
        """The engine of a call: its device is that of the arguments."""
        arrays = [v for v in values if isinstance(v, Buffer)]
        devices = {
            number: choice.device_of(value.array)
            for number, value in enumerate(values)
            if isinstance(value, Buffer) and value.device != CPU
        }
        device = next(iter(devices.values()), None) or choice.current()
        for number, other in devices.items():
            if other is not device:
                raise errors.WrongDevice(
                    function="the call", argument=number, actual=other, expected=device
                )
        wants_numpy = len(devices) < len(arrays) or not arrays
        return CudaEngine(device, wants_numpy)

    def alloc(self, shape: Shape, dtype: str) -> Buffer:
        """Memory that is given back when its last array dies."""
        return Buffer.of(self.device.empty(shape, storage(dtype)), dtype)

    def dealloc(self, buffer: Buffer) -> None:
        """Memory goes back when the last array dies."""

    def read(self, buffer: Buffer, index: Shape) -> Any:
        """One element; waits for the kernels before."""
        return self.device.download(self._element(buffer, index).array)[()]

    def write(self, buffer: Buffer, index: Shape, value: Any) -> None:
        """One element changed."""
        number = np.asarray(value)[()]
        self.device.fill(self._element(buffer, index).array, number)

    def fill(self, buffer: Buffer, value: Any) -> None:
        """Every element changed."""
        self.device.fill(buffer.array, value)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """One buffer's contents to another."""
        self.device.copy(target.array, source.array)

    def contents(self, buffer: Buffer) -> Contents:
        """A copy in main memory."""
        return self.device.download(buffer.array)

    def assign(self, buffer: Buffer, contents: Any) -> None:
        """Contents from here or from there, whatever the strides of both sides."""
        device, there = self.device, buffer.array
        if choice.is_device_array(contents):
            device.copy(there, contents)
            return
        order = np.argsort([-abs(stride) for stride in there.strides], kind="stable")
        shape = tuple(there.shape[axis] for axis in order)
        row = contiguous(contents.astype(there.dtype, copy=False).transpose(order))
        strides = tuple(there.strides[axis] for axis in order)
        if strides == row.strides or 0 in shape:
            place = there.data.ptr
            in_order = device.view(there, place, shape, row.strides, there.dtype)
            device.upload(in_order, row)
            return
        straight = device.empty(contents.shape, there.dtype)
        device.upload(straight, contiguous(contents.astype(there.dtype, copy=False)))
        device.copy(there, straight)

    def _element(self, buffer: Buffer, index: Shape) -> Buffer:
        steps = zip(index, buffer.strides, strict=True)
        return self.view(buffer, sum(i * step for i, step in steps), (), ())

    def view(self, buffer: Buffer, offset: int, shape: Shape, strides: Shape) -> Buffer:
        """A strided view; it must stay inside the allocation."""
        array, device = buffer.array, self.device
        size = array.itemsize
        in_bytes = tuple(stride * size for stride in strides)
        address = buffer.pointer + offset * size
        made = device.view(array, address, shape, in_bytes, array.dtype)
        view = Buffer.of(made, buffer.dtype)
        start, end = view.byte_range
        first, after = device.allocation(array)
        if start < end and not first <= start <= end <= after:
            raise errors.IndexOutOfBounds(
                index=offset, buffer=f"a view of shape {shape}", shape=buffer.shape
            )
        return view

    def constant(self, value: Any) -> Buffer:
        """A copy on the device."""
        contents, dtype = contents_of(value)
        buffer = self.alloc(contents.shape, dtype)
        self.assign(buffer, contents)
        return buffer

    def launcher(self, spec: KernelSpec) -> Launcher:
        """A kernel that is loaded on the device."""
        return CudaKernel.on(self.device, spec).launch

    def kernel(
        self, spec: KernelSpec, grid: Shape | None, block: Shape | None
    ) -> Callable[..., None]:
        """A kernel as a function of its arguments."""
        launch = self.launcher(spec)
        return lambda *args: launch(grid, block, args)

    def address(self, spec: KernelSpec) -> int:
        """None: the driver launches kernels."""
        del spec
        return 0

    def transfers(
        self,
        values: Sequence[Any],
        written: Sequence[bool],
        overwritten: Sequence[bool] = (),
    ) -> Ways:
        """NumPy arguments get device memory now, and their contents at each call.

        What is overwritten does not travel there, what is not written does not travel
        back.
        """
        resident = list(values)
        inbound: list[tuple[Buffer, Buffer]] = []
        outbound: list[tuple[Buffer, Buffer]] = []
        for i, value in enumerate(values):
            if isinstance(value, Buffer) and value.device == CPU:
                there = self._like(value)
                resident[i] = there
                if not any(overwritten[i : i + 1]):
                    inbound.append((value, there))
                if written[i]:
                    outbound.append((value, there))

        def to_device() -> Sequence[Any]:
            for here, there in inbound:
                self.assign(there, here.array)
            return resident

        def from_device() -> None:
            for here, there in outbound:
                here.array[...] = self.contents(there)

        return to_device, from_device

    def _like(self, buffer: Buffer) -> Buffer:
        """Memory for a copy with the extents and strides of a buffer."""
        start, end = buffer.byte_range
        array, device = buffer.array, self.device
        memory = device.empty((end - start,), np.dtype(np.uint8))
        address = memory.data.ptr + buffer.pointer - start
        strides = array.strides
        made = device.view(memory, address, buffer.shape, strides, array.dtype)
        return Buffer.of(made, buffer.dtype)

    def array(self, buffer: Buffer) -> Any:
        """The device's array, or a NumPy copy where the caller passed NumPy arrays."""
        return self.contents(buffer) if self.wants_numpy else buffer.array

    def shown(self, buffer: Buffer) -> Any:
        """The same for functions of the caller."""
        return self.array(buffer)

    def taken_back(self, buffer: Buffer, shown: Any) -> None:
        """What a function of the caller wrote into a copy."""
        if self.wants_numpy:
            self.assign(buffer, shown)

    def maker(self, shape: Shape, dtype: str) -> Maker:
        """Memory that is given back when the array dies."""

        def make() -> tuple[int, Any]:
            buffer = self.alloc(shape, dtype)
            return buffer.pointer, buffer.array

        return make


def contiguous(array: Contents) -> Contents:
    """The contents of an array in a row, with its shape.

    >>> contiguous(np.zeros((3, 4))[:, ::2]).strides, contiguous(np.zeros(())).shape
    ((16, 8), ())
    """
    return np.ascontiguousarray(array).reshape(array.shape)
