"""``gpucodegen cache``: what is kept on disk, and how to remove it."""

from __future__ import annotations

import argparse
import json

from gpucodegen import errors

ACTIONS = ("show", "clear")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="show")
    parser.add_argument(
        "--tuned", action="store_true", help="with clear: tuned schedules too"
    )
    parser.add_argument("--json", action="store_true", help="with show: a record")


def run(options: argparse.Namespace) -> int:
    """Show what there is, or remove it."""
    if options.action == "show":
        print(json.dumps(record(), indent=2) if options.json else summary())
        return 0
    print(cleared(tuned=options.tuned))
    return 0


def summary() -> str:
    """The folder, the entries in it and the limit, or why it is not used."""
    from gpucodegen.runtime.storage.cache import cache_directory, cache_folder
    from gpucodegen.runtime.storage.cache_size import limit, usage

    place = cache_directory()
    try:
        found = usage(cache_folder)
    except FileNotFoundError:
        return f"{place}: empty"
    except OSError as problem:
        return f"{place}: not used, since {problem.strerror or problem}"
    most = limit() / (1 << 20)
    return f"{place}: {found} of {most:.0f} MiB; 'gpucodegen cache clear' empties it"


def record() -> dict[str, object]:
    """The folder, entries and bytes in it, and the most bytes that it may hold.

    >>> sorted(record())
    ['bytes', 'entries', 'folder', 'limit']
    """
    from gpucodegen.runtime.storage.cache import cache_directory, cache_folder
    from gpucodegen.runtime.storage.cache_size import limit, usage

    found: dict[str, object] = {"folder": str(cache_directory()), "limit": limit()}
    try:
        used = usage(cache_folder)
    except OSError:
        return {**found, "entries": 0, "bytes": 0}
    return {**found, "entries": used.entries, "bytes": used.size}


def cleared(*, tuned: bool) -> str:
    """Remove all entries, with ``tuned`` also tuned schedules; what was removed.

    Raises CacheRefused.
    """
    from gpucodegen.compiling.winners import DATABASE
    from gpucodegen.runtime.storage.cache import cache_directory, cache_folder
    from gpucodegen.runtime.storage.cache_size import shrink

    place = cache_directory()
    try:
        removed = shrink(cache_folder, 0)
        with cache_folder() as folder:
            names = [entry.name for entry in folder.entries()]
            kept = [name for name in names if name.startswith(DATABASE)]
            for name in kept if tuned else ():
                folder.remove(name)
    except FileNotFoundError:
        return f"{place}: nothing to remove"
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise errors.CacheRefused(path=place, reason=reason) from problem
    schedules = "" if not kept else ", and the tuned schedules"
    if kept and not tuned:
        schedules = "; tuned schedules stay, 'cache clear --tuned' removes them"
    return f"{place}: removed {removed}{schedules}"
