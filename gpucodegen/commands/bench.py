"""``gpucodegen bench``: runs the benchmark tables of this clone."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from gpucodegen import errors

CLONE = Path(__file__).parents[2]
"""The folder above the package: in a clone, the one with ``bench``."""
OPTIONS = {
    "--budget": "seconds for each line",
    "--threads": "numbers of threads of every contender, such as 1,2",
    "--clock": "wall (time that passes) or cpu (processor time)",
    "--out": "folder for JSON, Markdown and plot",
}
"""Options passed to ``python -m bench``, which validates them."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", nargs="?", help="one table; default: all")
    parser.add_argument("name", nargs="?", help="only lines whose names contain this")
    for option, meaning in OPTIONS.items():
        parser.add_argument(option, help=meaning)


def run(options: argparse.Namespace) -> int:
    """Measure in a subprocess; exit status 1 if a line failed."""
    if not _is_clone(CLONE):
        raise errors.NoBenchmarks(folder=CLONE)
    command = [sys.executable, "-m", "bench", *_words(options)]
    return subprocess.run(command, env=_environment(), check=False).returncode


def _is_clone(folder: Path) -> bool:
    parts = "pyproject.toml", "bench/__main__.py", "examples/catalogue.py"
    return all((folder / part).is_file() for part in parts)


def _words(options: argparse.Namespace) -> list[str]:
    """The given options as command-line words."""
    given = vars(options)
    words = [given[word] for word in ("table", "name") if given[word] is not None]
    for option in OPTIONS:
        value = given[option.removeprefix("--")]
        words += [] if value is None else [f"{option}={value}"]
    return words


def _environment() -> dict[str, str]:
    """An environment in which modules come from the clone, not the current folder."""
    path = os.environ.get("PYTHONPATH")
    folders = os.pathsep.join([str(CLONE), *([path] if path else [])])
    return {**os.environ, "PYTHONPATH": folders, "PYTHONSAFEPATH": "1"}
