"""Tuned schedules bundled with installed packages.

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
    """Merge the bundled schedules, unless nothing was installed since the last merge.

    ``store`` is opened only if there are bundled schedules.
    """
    _merge_once(store, cache_directory(), _stamp())


@cache
def _merge_once(store: Callable[[], TuningStore], place: Path, stamp: str) -> None:
    """Merge once per process, and once for all processes that share the cache."""
    del place
    if SEEN.get(stamp) is not None:
        return
    for point in _points():
        _merge(store, point)
    SEEN.put(stamp, b"seen")


def _stamp() -> str:
    """A stamp that changes when a package is installed or removed."""
    folders = [Path(name) for name in sys.path if name.endswith("-packages")]
    return digest([(str(f), f.stat().st_mtime_ns) for f in folders if f.is_dir()])


def _points() -> Iterable[EntryPoint]:
    """Entry points of packages that bundle schedules."""
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _merge(store: Callable[[], TuningStore], point: EntryPoint) -> None:
    """Merge one text; a package without a valid one causes a warning."""
    from gpucodegen import errors
    from gpucodegen.tiling.tuning.exchange import merged

    try:
        merged(store(), str(point.load()()))
    except Exception as problem:  # noqa: BLE001  (whatever a package raises)
        reason = str(problem) or type(problem).__name__
        errors.tell(errors.ShippedUnusable(name=point.name, reason=reason))
