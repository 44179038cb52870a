"""Asynchronous copies in the emulator: poison at the start, data at the wait.

From its start until the barrier after its wait a transfer owns its target, which holds
garbage, and shares its source with readers only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gpucodegen import errors


class Watched(Protocol):
    """Elements that transfers read and write, as `machine` has them."""

    name: str
    cells: np.ndarray

    def check(self, index: int) -> None:
        """Refuse an index outside."""

    def key(self, index: int) -> int:
        """The address of an element."""
        ...

    def note_read(self, index: int) -> None:
        """Watch a read by the running thread."""

    def note_write(self, index: int) -> None:
        """Watch a write by the running thread."""

    def touched_now(self, index: int, *, writes_only: bool) -> bool:
        """Whether the running phase touched an element."""
        ...


@dataclass(slots=True)
class Transfer:
    """One transfer in flight; ``phase`` is that of its start."""

    source: Watched
    target: Watched
    source_indices: list[int]
    target_indices: list[int]
    tag: str
    phase: int
    starters: set[int] = field(default_factory=set)
    waiters: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Transfers:
    """The transfers in flight in the running block."""

    by_tag: dict[int, Transfer] = field(default_factory=dict)
    targets: dict[int, Transfer] = field(default_factory=dict)
    sources: dict[int, int] = field(default_factory=dict)
    """How many transfers read an address."""

    def check_read(self, memory: Watched, index: int, key: int) -> None:
        """Refuse to read a target in flight."""
        transfer = self.targets.get(key)
        if transfer is not None:
            raise errors.UnfinishedTransfer(
                buffer=memory.name,
                problem=f"element {index} is read before the wait for {transfer.tag}",
            )

    def check_write(self, memory: Watched, index: int, key: int) -> None:
        """Refuse to write a target or a source in flight."""
        transfer = self.targets.get(key)
        if transfer is None and key not in self.sources:
            return
        side = "source" if transfer is None else "target"
        raise errors.UnfinishedTransfer(
            buffer=memory.name,
            problem=f"element {index}, a transfer's {side}, is written before its wait",
        )

    def start(self, key: int, new: Transfer, thread: int) -> None:
        """A thread starts a transfer, or joins one that others of its block started."""
        running = self.by_tag.get(key)
        if running is None:
            self._begin(key, new)
            running = new
        elif not _is_joined(running, new, thread):
            raise errors.UnfinishedTransfer(
                buffer=new.target.name,
                problem=f"{new.tag} is started again before its wait",
            )
        running.starters.add(thread)

    def _begin(self, key: int, new: Transfer) -> None:
        for memory, indices, writes_only in (
            (new.source, new.source_indices, True),
            (new.target, new.target_indices, False),
        ):
            for index in indices:
                memory.check(index)
                if memory.touched_now(index, writes_only=writes_only):
                    raise errors.SharedRace(
                        buffer=memory.name,
                        index=index,
                        first="an access",
                        second=f"the start of the transfer of {new.tag}",
                    )
        for index in new.source_indices:
            new.source.note_read(index)
            source_key = new.source.key(index)
            self.sources[source_key] = self.sources.get(source_key, 0) + 1
        for index in new.target_indices:
            new.target.note_write(index)
            self.targets[new.target.key(index)] = new
        _poison(new.target.cells, new.target_indices)
        self.by_tag[key] = new

    def wait(self, key: int, tag: str, count: int, thread: int, threads: int) -> None:
        """A thread waits; the only thread of a block sees the data at once."""
        transfer = self.by_tag.get(key)
        if transfer is None:
            raise errors.UnfinishedTransfer(
                buffer=tag, problem="it is waited for but not in flight"
            )
        if count != len(transfer.target_indices):
            raise errors.UnfinishedTransfer(
                buffer=transfer.target.name,
                problem=f"{len(transfer.target_indices)} elements are under way,"
                f" {count} are waited for",
            )
        transfer.waiters.add(thread)
        if threads == 1:
            self.complete(1)

    def complete(self, threads: int) -> None:
        """Make visible what all threads have waited for."""
        for key, transfer in list(self.by_tag.items()):
            if not transfer.waiters:
                continue
            for what, members in (
                ("wait for", transfer.waiters),
                ("start", transfer.starters),
            ):
                if len(members) != threads:
                    raise errors.UnfinishedTransfer(
                        buffer=transfer.target.name,
                        problem=f"only {len(members)} of {threads} threads {what}"
                        f" {transfer.tag}",
                    )
            self._finish(key, transfer)

    def _finish(self, key: int, transfer: Transfer) -> None:
        del self.by_tag[key]
        for index in transfer.target_indices:
            self.targets.pop(transfer.target.key(index), None)
        for index in transfer.source_indices:
            source_key = transfer.source.key(index)
            self.sources[source_key] -= 1
            if not self.sources[source_key]:
                del self.sources[source_key]
        moved = transfer.source.cells[transfer.source_indices]
        transfer.target.cells[transfer.target_indices] = moved

    def end_block(self, threads: int) -> None:
        """Refuse to end while a transfer is in flight."""
        self.complete(threads)
        for transfer in self.by_tag.values():
            raise errors.UnfinishedTransfer(
                buffer=transfer.target.name, problem=f"no wait for {transfer.tag}"
            )


def _is_joined(running: Transfer, new: Transfer, thread: int) -> bool:
    """Whether a thread makes the start that others of its block made in this phase."""
    return (
        running.phase == new.phase
        and thread not in running.starters
        and running.source_indices == new.source_indices
        and running.target_indices == new.target_indices
        and running.source is new.source
        and running.target is new.target
    )


def _poison(cells: Any, indices: list[int]) -> None:
    garbage = np.nan if cells.dtype.kind in "fc" else cells.dtype.type(0x5A)
    cells[indices] = garbage
