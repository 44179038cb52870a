"""Memory of emulated kernels, and the copies that they start and wait for."""

from __future__ import annotations

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.sim import machine as machine_module
from gpucodegen.intrinsics.sim.machine import Pointer, private_memory, shared_memory
from gpucodegen.intrinsics.sim.transfers import Transfer
from gpucodegen.intrinsics.sim.twins import Twin


def _storage(name: str) -> np.dtype:
    return np.dtype(element(name).storage)


def shared(n: int, name: str) -> Twin:
    """``shared()``."""
    return lambda: shared_memory(n, _storage(name), "shared")


def local(n: int, name: str) -> Twin:
    """``local()``; the tags of transfers are the block's, which executes these once."""
    if name == "tag":
        return lambda: shared_memory(n, _storage(name), name)
    return lambda: private_memory(n, _storage(name))


def heap(name: str) -> Twin:
    """A GPU kernel allocates no memory while it runs."""
    del name
    raise errors.UnsupportedOperation(operation="memref.alloc", target="sim")


heap_free = heap


def _sides(count: int, off: int, stride: int, run: int) -> list[int]:
    return [off + e // run * stride + e % run for e in range(count)]


def dma_start(
    name: str,
    source_space: str = "global",
    target_space: str = "shared",
    width: int = 0,
) -> Twin:
    """Start a transfer, or join the one that other threads started.

    ``dma_start(src, src_off, dst, dst_off, tag, tag_idx, count, src_stride, src_run,
    dst_stride, dst_run)``.
    """
    del source_space, target_space
    size = element(name).size

    def call(
        src: Pointer,
        src_off: int,
        dst: Pointer,
        dst_off: int,
        tag: Pointer,
        tag_idx: int,
        count: int,
        *sides: int,
    ) -> None:
        source = _sides(count, src_off, *sides[:2])
        target = _sides(count, dst_off, *sides[2:])
        step = max(1, width // size)
        for i in range(0, count, step):
            src.check_aligned(source[i], width)
            dst.check_aligned(target[i], width)
        running = machine_module.machine
        transfer = Transfer(
            src.memory, dst.memory, source, target, _tag(tag, tag_idx), running.phase
        )
        running.transfers.start(tag.memory.key(tag_idx), transfer, running.thread)

    return call


def dma_wait(name: str, pending: int = 0) -> Twin:
    """``dma_wait(tag, tag_idx, count)``."""
    del name, pending

    def call(tag: Pointer, tag_idx: int, count: int) -> None:
        running = machine_module.machine
        running.transfers.wait(
            tag.memory.key(tag_idx),
            _tag(tag, tag_idx),
            count,
            running.thread,
            running.threads,
        )

    return call


def _tag(tag: Pointer, index: int) -> str:
    return f"{tag.memory.name}[{index}]"
