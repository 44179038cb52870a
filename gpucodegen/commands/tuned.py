"""``gpucodegen tune show|export|import|plot|clear``: actions on stored tunings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpucodegen.compiling.stored_tunings import Stored
from gpucodegen.compiling.tuned_schedules import tuning_store
from gpucodegen.tuning.result import line

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.store import TuningStore

LEAST_OF_KEY = 6
"""Number of leading letters that identify a key."""
Action = Callable[["TuningStore", argparse.Namespace], int]


def run(options: argparse.Namespace) -> int:
    """Run the action named in place of the file."""
    return ACTIONS[options.file](tuning_store(), options)


def _show(store: TuningStore, options: argparse.Namespace) -> int:
    """Show all tunings, or all trials of a key or function."""
    from gpucodegen.tiling.tuning.exchange import exported

    chosen = _chosen(store, options.place)
    if options.json:
        print(exported(store, chosen))
        return 0
    for key, about in chosen.items():
        stored = Stored.of(store, key, about)
        print(f"{key[:12]}  @{about.get('function')}{stored}")
        if options.place:
            for trial in store.trials(key):
                print(f"  {line(trial, dict.fromkeys(trial.point, 0))}")
    if not chosen:
        print(f"{store.path}: nothing that was tuned fits", file=sys.stderr)
    return 0


def _export(store: TuningStore, options: argparse.Namespace) -> int:
    """Export the store as JSON, to a file or standard output."""
    from gpucodegen.tiling.tuning.exchange import exported

    text = exported(store)
    if options.place is None:
        print(text)
    else:
        Path(options.place).write_text(text + "\n", encoding="utf-8")
    return 0


def _import(store: TuningStore, options: argparse.Namespace) -> int:
    from gpucodegen.tiling.tuning.exchange import merged

    if options.place is None:
        print("tune import: name the file", file=sys.stderr)
        return 2
    try:
        count = merged(store, Path(options.place).read_text(encoding="utf-8"))
    except ValueError as problem:
        print(f"{options.place}: error: {problem}.", file=sys.stderr)
        return 1
    print(f"{store.path}: {count} tuned functions were read")
    return 0


def _plot(store: TuningStore, options: argparse.Namespace) -> int:
    """Plot each tuned function to the named file."""
    from gpucodegen.report.plots.picture import Tuned, plotted

    if options.place is None:
        print("tune plot: name the file, .svg or .png", file=sys.stderr)
        return 2
    found = {
        key: Stored.of(store, key, about)
        for key, about in store.subjects().items()
        if not options.entry or about.get("function") == options.entry
    }
    if not found:
        print(f"{store.path}: nothing that was tuned fits", file=sys.stderr)
        return 1
    titled = {
        f"@{stored.about.get('function')}{stored.call} ({key[:6]})": Tuned.of(stored)
        for key, stored in found.items()
    }
    try:
        plotted(titled, Path(options.place), options.kind)
    except ImportError:
        print("tune plot needs: pip install 'gpucodegen[plot]'", file=sys.stderr)
        return 1
    print(f"{options.place}: {len(titled)} tuned functions")
    return 0


def _clear(store: TuningStore, options: argparse.Namespace) -> int:
    """Delete all tunings, or those of a key or function."""
    chosen = _chosen(store, options.place)
    for key in chosen:
        store.forget(key)
    print(f"{store.path}: forgot {len(chosen)} tuned functions")
    return 0


ACTIONS: Mapping[str, Action] = {
    "show": _show,
    "export": _export,
    "import": _import,
    "plot": _plot,
    "clear": _clear,
}


def _chosen(store: TuningStore, wanted: str | None) -> dict[str, dict[str, Any]]:
    """The keys that a text selects: by function, or by key prefix."""
    subjects = store.subjects()
    named = {
        k: about for k, about in subjects.items() if about.get("function") == wanted
    }
    if named or not wanted:
        return named or subjects
    is_key = len(wanted) >= LEAST_OF_KEY
    return {
        k: about for k, about in subjects.items() if is_key and k.startswith(wanted)
    }
