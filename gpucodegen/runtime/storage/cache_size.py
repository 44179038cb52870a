"""The size limit of the disk cache: least recently used entries are removed first.

`shrink` brings a folder within its limit and removes leftovers of killed processes. The
time of a marker file says when the folder was last checked.  Several processes may
check it at once: each removes unused files, and a file that another process removed is
no failure.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from threading import Lock

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.runtime.storage.private import NEW, Folder

VARIABLE = "GPUCODEGEN_CACHE_SIZE"
DEFAULT = 1 << 30
"""Bytes that the cache may take."""
KEPT = 0.75
"""The fraction of the limit that remains after a clean-up, so that clean-ups are rare.
"""
UNSEEN = 1 / 32
"""The fraction of the limit that a process writes between two checks."""
HOUR = 3600.0
STAMP = "looked-at"
_ENTRY = re.compile(r".*\.bin|k_[0-9a-f]+\.py")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE)
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}

Opened = Callable[..., AbstractContextManager[Folder]]
"""The folder of the cache, or a kind's in it; entering raises OSError."""


@dataclass(frozen=True, slots=True)
class File:
    """A file as its folder lists it; ``used``: the time of last use, in seconds."""

    name: str
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class Usage:
    """The files and bytes in the cache, or removed from it."""

    entries: int = 0
    size: int = 0

    def __str__(self) -> str:
        noun = "entry" if self.entries == 1 else "entries"
        return f"{self.entries} {noun}, {self.size / (1 << 20):.1f} MiB"


def limit() -> int:
    """The limit in bytes: ``GPUCODEGEN_CACHE_SIZE``, or 1 GiB.

    >>> parsed("500M"), parsed("1.5 GiB"), parsed("0"), parsed("many")
    (524288000, 1610612736, 0, None)
    """
    chosen = os.environ.get(VARIABLE, "").strip()
    if not chosen:
        return DEFAULT
    size = parsed(chosen)
    if size is None:
        errors.tell(errors.UnknownCacheSize(value=chosen))
        return DEFAULT
    return size


def parsed(text: str) -> int | None:
    """Bytes: a number with an optional suffix K, M, G or T."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    return int(float(found[1]) * (1 << _UNITS[(found[2] or "").upper()]))


class _Written:
    """Bytes that this process wrote since its last check."""

    size = 0
    turn = Lock()


def wrote(size: int, opened: Opened) -> None:
    """Records written bytes, and checks the size of the cache from time to time.

    That is once an hour, or when this process wrote a good part of the limit.
    """
    with _Written.turn:
        _Written.size += size
        is_much = _Written.size > limit() * UNSEEN
    with suppress(OSError), opened() as own:
        if is_much or time.time() - (own.used(STAMP) or 0.0) > HOUR:
            with _Written.turn:
                _Written.size = 0
            own.write(STAMP, b"")
            shrink(opened, limit())


def shrink(opened: Opened, most: int) -> Usage:
    """Removes leftovers, and entries until at most ``most`` bytes remain."""
    now = time.time()
    removed: list[File] = []
    with ExitStack() as stack:
        found = list(_files(opened, stack))
        for place, file in found:
            if file.name.startswith(NEW) and now - file.used > HOUR:
                place.remove(file.name)
        entries = [each for each in found if _ENTRY.fullmatch(each[1].name)]
        total = sum(file.size for _, file in entries)
        if total > most:
            for place, file in sorted(entries, key=lambda each: each[1].used):
                if total <= most * KEPT:
                    break
                total -= file.size
                if place.remove(file.name):
                    removed.append(file)
    return Usage(len(removed), sum(file.size for file in removed))


def usage(opened: Opened) -> Usage:
    """The contents of the cache.  Raises OSError where it cannot be used."""
    with ExitStack() as stack:
        files = [file for _, file in _files(opened, stack)]
    kept = [file.size for file in files if _ENTRY.fullmatch(file.name)]
    return Usage(len(kept), sum(kept))


def _files(opened: Opened, stack: ExitStack) -> Iterator[tuple[Folder, File]]:
    """The files of all kinds, with their folders, which the stack closes."""
    with opened() as own:
        kinds = [e.name for e in own.entries() if e.is_dir(follow_symlinks=False)]
    for kind in kinds:
        with suppress(OSError):  # not the user's alone: nothing of it is used
            place = stack.enter_context(opened(kind))
            for entry in place.entries():
                with suppress(FileNotFoundError):  # removed by another process
                    status = entry.stat(follow_symlinks=False)
                    if entry.is_file(follow_symlinks=False):
                        yield place, File(entry.name, status.st_size, status.st_mtime)
