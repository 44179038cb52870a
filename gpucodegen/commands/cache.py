"""``gpucodegen cache``: shows and clears the disk cache."""

from __future__ import annotations

import argparse
import json
from typing import Any

from gpucodegen import errors
from gpucodegen.commands.inputs import add_json_option

Record = dict[str, Any]
ACTIONS = ("show", "clear")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="show")
    parser.add_argument(
        "--tuned", action="store_true", help="with clear: tuned schedules too"
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Show the cache, or clear it."""
    shows = options.action == "show"
    found = record() if shows else cleared(tuned=options.tuned)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print(summary(found) if shows else _told(found))
    return 0


def record() -> Record:
    """The folder, its entries and bytes, and the size limit.

    ``unused_since``: the reason, if the folder is not used.

    >>> sorted(record())
    ['bytes', 'entries', 'folder', 'limit', 'unused_since']
    """
    from gpucodegen.runtime.storage.cache import cache_directory, cache_folder
    from gpucodegen.runtime.storage.cache_size import Usage, limit, usage

    used, reason = Usage(), None
    try:
        used = usage(cache_folder)
    except FileNotFoundError:
        pass
    except OSError as problem:
        reason = problem.strerror or str(problem)
    return {
        "folder": str(cache_directory()),
        "limit": limit(),
        "entries": used.entries,
        "bytes": used.size,
        "unused_since": reason,
    }


def summary(found: Record) -> str:
    place = found["folder"]
    if found["unused_since"]:
        return f"{place}: not used, since {found['unused_since']}"
    if not found["entries"]:
        return f"{place}: empty"
    most = found["limit"] / (1 << 20)
    return (
        f"{place}: {_usage(found)} of {most:.0f} MiB;"
        " 'gpucodegen cache clear' empties it"
    )


def _usage(found: Record) -> str:
    from gpucodegen.runtime.storage.cache_size import Usage

    return str(Usage(found["entries"], found["bytes"]))


def cleared(*, tuned: bool) -> Record:
    """Remove all entries (with ``tuned`` also tuned schedules); tell their number.

    Raises CacheRefused.
    """
    from gpucodegen.compiling.tuned_schedules import DATABASE
    from gpucodegen.runtime.storage.cache import cache_directory, cache_folder
    from gpucodegen.runtime.storage.cache_size import Usage, shrink

    place = cache_directory()
    removed, kept = Usage(), list[str]()
    try:
        removed = shrink(cache_folder, 0)
        with cache_folder() as folder:
            names = [entry.name for entry in folder.entries()]
            kept = [name for name in names if name.startswith(DATABASE)]
            for name in kept if tuned else ():
                folder.remove(name)
    except FileNotFoundError:
        pass
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise errors.CacheRefused(path=place, reason=reason) from problem
    return {
        "folder": str(place),
        "entries": removed.entries,
        "bytes": removed.size,
        "tuned": "removed" if kept and tuned else "kept" if kept else None,
    }


SCHEDULES = {
    None: "",
    "removed": ", and the tuned schedules",
    "kept": "; tuned schedules stay, 'cache clear --tuned' removes them",
}
"""Messages about the tuned schedules."""


def _told(found: Record) -> str:
    if not found["entries"] and not found["tuned"]:
        return f"{found['folder']}: nothing to remove"
    return f"{found['folder']}: removed {_usage(found)}{SCHEDULES[found['tuned']]}"
