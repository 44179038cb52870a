"""A kernel that is loaded where it is launched, and its launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import Any

from gpucodegen import errors
from gpucodegen.ir.number_formats import MOST_THREADS
from gpucodegen.runtime.cuda.compilation import (
    Capability,
    compile_ptx,
    stated_capability,
)
from gpucodegen.runtime.devices.arguments import ArgumentLayout
from gpucodegen.runtime.devices.protocol import Device, Triple
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec
from gpucodegen.tiling.machine.gpu.devices import BULK_COPIES, has_warpgroups


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel on one device.

    ``static``: bytes of shared memory that it declares; ``dynamic``: those that each of
    its launches has to give.
    """

    device: Device
    name: str
    layout: ArgumentLayout
    loaded: Any
    static: int = 0
    dynamic: int = 0

    @classmethod
    def on(cls, device: Device, spec: KernelSpec) -> CudaKernel:
        """Compile a kernel for a device, or take it from the disk, and load it."""
        cc: Capability = device.compute_capability
        if (
            spec.specific
            and device.architecture
            and not has_warpgroups(device.architecture)
        ):
            raise errors.LaunchFailed(
                kernel=spec.name,
                reason=f"it uses what sm_90a alone has, and {device} is"
                f" {device.architecture}",
                hint="Leave out arch= and plan=, or name this architecture",
            )
        if spec.bulk and cc < BULK_COPIES:
            raise errors.LaunchFailed(
                kernel=spec.name,
                reason=f"it uses what devices have from sm_90 on, and {device} is"
                f" sm_{cc[0]}{cc[1]}",
                hint="Leave out arch=, or name this architecture",
            )
        if not device.architecture:  # it runs PTX of any
            cc = stated_capability(spec)
        code = compile_ptx(spec, cc).encode()
        loaded = device.load(spec.name, code, cooperative=spec.cooperative)
        shared = spec.shared_bytes, 0
        static, dynamic = shared[::-1] if spec.dynamic_shared else shared
        layout = ArgumentLayout.of(spec)
        return cls(device, spec.name, layout, loaded, static, dynamic)

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        shared: int = 0,
    ) -> None:
        """Start it; an empty grid, or blocks without threads, launch nothing."""
        if not all((*grid, *block)):
            return
        blocks, threads = self._extents(grid, block, shared)
        packed, given = self.layout.pack(args), self.dynamic + shared
        self.device.launch(self.loaded, blocks, threads, packed, given)

    def repeated(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        values: Sequence[Any],
        otherwise: Callable[..., None],
    ) -> Callable[..., None]:
        """Such launches as a function of addresses and numbers.

        ``values``: buffers of one such call, whose extents are checked now.
        ``otherwise`` gets the words in which a number does not fit the indices.
        """
        if not all((*grid, *block)):
            return _nothing
        blocks, threads = self._checked(grid, block, values)
        launch, pack = self.device.launch, self.layout.pack_words
        loaded, shared = self.loaded, self.dynamic

        def start(*words: Any) -> None:
            try:
                packed = pack(words)
            except errors.IndexTooLarge:
                otherwise(*words)
                return
            launch(loaded, blocks, threads, packed, shared)

        return start

    def prepared(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        words: Sequence[Any],
        values: Sequence[Any],
    ) -> Callable[..., None]:
        """One launch whose arguments are packed now; it takes a stream by its name."""
        if not all((*grid, *block)):
            return _nothing
        blocks, threads = self._checked(grid, block, values)
        packed = self.layout.pack_words(words)
        given = self.loaded, blocks, threads, packed, self.dynamic
        return partial(self.device.launch, *given)

    def _checked(
        self, grid: Sequence[int], block: Sequence[int], values: Sequence[Any]
    ) -> tuple[Triple, Triple]:
        """Blocks and threads, if the indices reach all elements of the buffers."""
        for value in values:
            if isinstance(value, Buffer):
                self.layout.check_extent(value)
        return self._extents(grid, block, 0)

    def _extents(
        self, grid: Sequence[int], block: Sequence[int], shared: int
    ) -> tuple[Triple, Triple]:
        """Blocks and threads, if the device can launch so many."""
        blocks, threads = _triple(grid), _triple(block)
        problem = self.device.limits.problem(
            blocks, threads, self.static + self.dynamic + shared
        )
        most = max(map(mul, blocks, threads))
        if most > MOST_THREADS and self.layout.index_bits == 32:
            what = "the number of threads along a dimension"
            raise errors.IndexTooLarge(kernel=self.name, name=what, value=most)
        if problem:
            raise errors.LaunchFailed(
                kernel=self.name,
                reason=problem,
                hint="Use smaller arrays, blocks or tiles",
            )
        return blocks, threads


def _nothing(*_: object, **__: object) -> None:
    """A launch of no block."""


def _triple(extents: Sequence[int]) -> Triple:
    x, y, z = extents
    return int(x), int(y), int(z)
