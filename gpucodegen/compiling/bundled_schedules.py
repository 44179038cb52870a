"""Tuned schedules that installed packages bring along.

A package names, as an entry point of the group ``gpucodegen.tuned``, a function that
returns the text of ``gpucodegen tune export``::

    [project.entry-points."gpucodegen.tuned"]
    "my kernels" = "my_package:tuned"

The text is merged into the user's store when a folder of packages has changed.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpucodegen.runtime.storage.cache import Store, cache_directory, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.metadata import EntryPoint

    from gpucodegen.tiling.tuning.store import TuningStore

GROUP = "gpucodegen.tuned"
SEEN = Store("shipped")


def merge(store: Callable[[], TuningStore]) -> None:
    """Take over what packages bring, unless nothing was installed since the last time.

    ``store`` is asked for only where there is something.
    """
    _merge_once(store, cache_directory(), _stamp())


@cache
def _merge_once(store: Callable[[], TuningStore], place: Path, stamp: str) -> None:
    """In this process, and in others that share the cache's place."""
    del place
    if SEEN.get(stamp) is not None:
        return
    for point in _points():
        _merge(store, point)
    SEEN.put(stamp, b"seen")


def _stamp() -> str:
    """Changes when a package is installed or removed."""
    folders = [Path(name) for name in sys.path if name.endswith("-packages")]
    return digest([(str(f), f.stat().st_mtime_ns) for f in folders if f.is_dir()])


def _points() -> Iterable[EntryPoint]:
    """Functions of packages that give texts."""
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _merge(store: Callable[[], TuningStore], point: EntryPoint) -> None:
    """Add one text; a package that gives none of a store is a warning."""
    from gpucodegen import errors
    from gpucodegen.tiling.tuning.exchange import merged

    try:
        merged(store(), str(point.load()()))
    except Exception as problem:  # noqa: BLE001  (whatever a package raises)
        reason = str(problem) or type(problem).__name__
        errors.tell(errors.ShippedUnusable(name=point.name, reason=reason))
