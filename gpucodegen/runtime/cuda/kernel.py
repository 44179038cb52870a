"""A kernel that is loaded where it is launched, and its launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from gpucodegen import errors
from gpucodegen.intrinsics.framework.counting import MOST_THREADS
from gpucodegen.runtime.cuda.compilation import compile_cubin, compile_ptx
from gpucodegen.runtime.devices.arguments import ArgumentLayout
from gpucodegen.runtime.devices.protocol import Device
from gpucodegen.runtime.host.spec import KernelSpec


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel on one device."""

    device: Device
    name: str
    layout: ArgumentLayout
    loaded: Any

    @classmethod
    def on(cls, device: Device, spec: KernelSpec) -> CudaKernel:
        """Compile a kernel for a device, or take it from the disk, and load it."""
        cc = device.compute_capability
        if device.form == "ptx":
            code = compile_ptx(spec, cc).encode()
        else:
            code = compile_cubin(spec, cc).code
        return cls(
            device, spec.name, ArgumentLayout.of(spec), device.load(spec.name, code)
        )

    def launch(
        self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]
    ) -> None:
        """Start it; an empty grid launches nothing."""
        if not all(grid):
            return
        blocks, threads = _triple(grid), _triple(block)
        problem = self.device.limits.problem(blocks, threads)
        if max(map(mul, blocks, threads)) > MOST_THREADS:
            problem = "it has more threads along a dimension than 32 bits count"
        if problem:
            raise errors.LaunchFailed(
                kernel=self.name,
                reason=problem,
                hint="Use smaller arrays, blocks or tiles",
            )
        layout = self.layout
        packed = layout.pack(args)
        self.device.launch(self.loaded, blocks, threads, packed, layout.offsets)


def _triple(extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = extents
    return int(x), int(y), int(z)
