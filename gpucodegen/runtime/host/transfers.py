"""Asynchronous copies between host-visible buffers: performed at their wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.engines import Engine

End = tuple[Buffer, tuple[int, ...]]


@dataclass(slots=True)
class HostTransfers:
    """Transfers in flight by tag element, between buffers of one engine."""

    engine: Engine
    in_flight: dict[tuple[int, tuple[int, ...]], tuple[int, Callable[[], None]]] = (
        field(default_factory=dict[Any, Any])
    )

    def start(
        self,
        source: End,
        target: End,
        count: int,
        tag: End,
        stride: int | None,
        run: int | None,
        *,
        strided_source: bool = True,
    ) -> None:
        """Note a transfer; ``stride`` and ``run`` describe one side of it."""
        key = tag[0].pointer, tag[1]
        if key in self.in_flight:
            raise errors.UnfinishedTransfer(
                buffer="a buffer", problem=f"tag {tag[1]} is started again"
            )
        numbers = np.arange(count)
        apart = numbers if not run else numbers // run * (stride or run) + numbers % run
        sides = (apart, numbers) if strided_source else (numbers, apart)
        take = _first(*source) + sides[0]
        put = _first(*target) + sides[1]

        def move() -> None:
            taken = self.engine.contents(source[0]).flat[take]
            changed = self.engine.contents(target[0])
            changed.flat[put] = taken
            self.engine.assign(target[0], changed)

        self.in_flight[key] = count, move

    def wait(self, tag: End, count: int) -> None:
        """Perform the transfer of a tag element."""
        key = tag[0].pointer, tag[1]
        if key not in self.in_flight:
            raise errors.UnfinishedTransfer(
                buffer="a buffer", problem=f"tag {tag[1]} is waited for, not started"
            )
        started, move = self.in_flight.pop(key)
        if started != count:
            raise errors.UnfinishedTransfer(
                buffer="a buffer",
                problem=f"{started} elements are under way, {count} are waited for",
            )
        move()


def _first(buffer: Buffer, index: tuple[int, ...]) -> int:
    """The position of an element in row-major logical order."""
    position = 0
    for extent, i in zip(buffer.shape, index, strict=True):
        position = position * extent + i
    return position
