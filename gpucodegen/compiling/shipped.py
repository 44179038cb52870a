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
    from collections.abc import Callable

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
    for text in _texts():
        _merge(store(), text)
    SEEN.put(stamp, b"seen")


def _stamp() -> str:
    """Changes when a package is installed or removed."""
    folders = [Path(name) for name in sys.path if name.endswith("-packages")]
    return digest([(str(f), f.stat().st_mtime_ns) for f in folders if f.is_dir()])


def _texts() -> list[tuple[str, str]]:
    """The name of each entry point and the text that it gives."""
    from importlib.metadata import entry_points

    return [(point.name, str(point.load()())) for point in entry_points(group=GROUP)]


def _merge(store: TuningStore, named: tuple[str, str]) -> None:
    """Add one text; one that is not of a store is a warning."""
    from gpucodegen import errors
    from gpucodegen.tiling.tuning.exchange import merged

    name, text = named
    try:
        merged(store, text)
    except ValueError as problem:
        errors.tell(errors.ShippedUnusable(name=name, reason=str(problem)))
