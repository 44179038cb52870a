"""Asynchronous copies on the CPU: recorded by the start, performed by the wait.

A tag is a descriptor of eight words: element size in bytes (0: no transfer in flight),
source and target address, count, and (stride, run) of both sides.  Element ``e`` of a
side lies at ``e // run * stride + e % run``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba.core.extending import register_jitable

from gpucodegen.intrinsics.cpu.memory import address_of, copy_bytes
from gpucodegen.intrinsics.framework.elements import TAG_WORDS, element


@register_jitable
def _finish(tag: Any, tag_index: int) -> None:
    """Copy what the tag's transfer covers, run by run, and clear the tag."""
    first = tag_index * TAG_WORDS
    size = tag[first]
    if size == 0:
        return
    source, target, count = tag[first + 1], tag[first + 2], tag[first + 3]
    source_stride, source_run = tag[first + 4], max(1, tag[first + 5])
    target_stride, target_run = tag[first + 6], max(1, tag[first + 7])
    tag[first] = 0
    done = 0
    while done < count:
        source_rest, target_rest = done % source_run, done % target_run
        source_at = done // source_run * source_stride + source_rest
        target_at = done // target_run * target_stride + target_rest
        length = min(count - done, source_run - source_rest, target_run - target_rest)
        copy_bytes(target + target_at * size, source + source_at * size, length * size)
        done += length


@cache
def dma_start(
    name: str,
    source_space: str = "global",
    target_space: str = "shared",
    width: int = 0,
) -> Any:
    """Note a transfer in its tag.

    ``dma_start(src, src_off, dst, dst_off, tag, tag_idx, count, src_stride, src_run,
    dst_stride, dst_run)``.  A transfer still in flight on the tag is finished first.
    """
    del source_space, target_space, width
    size = element(name).size
    locate = address_of(name)

    @register_jitable
    def start(
        src: Any,
        src_off: int,
        dst: Any,
        dst_off: int,
        tag: Any,
        tag_idx: int,
        count: int,
        src_stride: int,
        src_run: int,
        dst_stride: int,
        dst_run: int,
    ) -> None:
        _finish(tag, tag_idx)
        first = tag_idx * TAG_WORDS
        tag[first] = size
        tag[first + 1] = locate(src, src_off)
        tag[first + 2] = locate(dst, dst_off)
        tag[first + 3] = count
        tag[first + 4], tag[first + 5] = src_stride, src_run
        tag[first + 6], tag[first + 7] = dst_stride, dst_run

    return start


@cache
def dma_wait(name: str, pending: int = 0) -> Any:
    """``dma_wait(tag, tag_idx, count)``: perform the tag's transfer, if any."""
    del name, pending

    @register_jitable
    def wait(tag: Any, tag_idx: int, count: int) -> None:  # noqa: ARG001
        _finish(tag, tag_idx)

    return wait
