"""Device memory through CuPy, and kernels on CuPy's current stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpucodegen import errors
from gpucodegen.runtime.buffers import CPU, Buffer
from gpucodegen.runtime.cuda import CudaKernel
from gpucodegen.runtime.engines import (
    Launcher,
    Maker,
    Shape,
    Ways,
    contents_of,
    storage,
)
from gpucodegen.runtime.spec import KernelSpec


@dataclass(slots=True)
class CupyEngine:
    """The engine of the target ``cuda``; NumPy arguments travel there and back."""

    wants_numpy: bool = False

    def alloc(self, shape: Shape, dtype: str) -> Buffer:
        """Memory from CuPy's pool."""
        import cupy

        try:
            return Buffer.of(cupy.empty(shape, storage(dtype)), dtype)
        except cupy.cuda.memory.OutOfMemoryError as problem:
            raise errors.OutOfMemory(size=problem) from problem

    def dealloc(self, buffer: Buffer) -> None:
        """CuPy's pool takes memory back when the last array dies."""

    def read(self, buffer: Buffer, index: Shape) -> Any:
        """One element; waits for the kernels before."""
        return buffer.array[index].get()[()]

    def view(self, buffer: Buffer, offset: int, shape: Shape, strides: Shape) -> Buffer:
        """A strided view."""
        import cupy

        array = buffer.array
        size = array.itemsize
        memory = array.data + offset * size
        in_bytes = tuple(stride * size for stride in strides)
        made = cupy.ndarray(shape, array.dtype, memory, in_bytes)
        return Buffer.of(made, buffer.dtype)

    def constant(self, value: Any) -> Buffer:
        """A copy on the device."""
        import cupy

        contents, dtype = contents_of(value)
        return Buffer.of(cupy.asarray(contents), dtype)

    def launcher(self, spec: KernelSpec) -> Launcher:
        """A kernel that is loaded on the device where it is first launched."""
        return CudaKernel(spec).launch

    def kernel(
        self, spec: KernelSpec, grid: Shape | None, block: Shape | None
    ) -> Callable[..., None]:
        """A kernel as a function of addresses and numbers."""
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
        import cupy

        resident = list(values)
        inbound: list[tuple[Buffer, Buffer]] = []
        outbound: list[tuple[Buffer, Buffer]] = []
        for i, value in enumerate(values):
            if isinstance(value, Buffer) and value.device == CPU:
                there = Buffer.of(
                    cupy.empty(value.shape, value.array.dtype), value.dtype
                )
                resident[i] = there
                if not any(overwritten[i : i + 1]):
                    inbound.append((value, there))
                if written[i]:
                    outbound.append((value, there))
        arrays = [v for v in values if isinstance(v, Buffer)]
        self.wants_numpy = bool(inbound or outbound) or not arrays

        def to_device() -> Sequence[Any]:
            for here, there in inbound:
                there.array.set(_contiguous(here.array))
            return resident

        def from_device() -> None:
            for here, there in outbound:
                here.array[...] = there.array.get()

        return to_device, from_device

    def array(self, buffer: Buffer) -> Any:
        """The CuPy array, or a NumPy copy where the caller passed NumPy arrays."""
        return buffer.array.get() if self.wants_numpy else buffer.array

    def maker(self, shape: Shape, dtype: str) -> Maker:
        """Memory from CuPy's pool, which takes it back when the array dies."""

        def make() -> tuple[int, Any]:
            buffer = self.alloc(shape, dtype)
            return buffer.pointer, buffer.array

        return make

    shown = array


def _contiguous(array: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(array)
