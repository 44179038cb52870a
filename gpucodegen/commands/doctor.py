"""``gpucodegen doctor``: reports the installation and how to complete it."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gpucodegen import errors
from gpucodegen.commands import cache
from gpucodegen.commands.inputs import add_json_option
from gpucodegen.compiling.targets import find, names
from gpucodegen.debugging.settings import SETTINGS
from gpucodegen.debugging.version import __version__
from gpucodegen.runtime.devices import inventory

PACKAGES: tuple[tuple[str, str], ...] = (
    ("gpucodegen", ""),
    ("numpy", "pip install gpucodegen"),
    ("numba", "pip install gpucodegen"),
    ("islpy", "pip install gpucodegen"),
    ("llvmlite", "pip install gpucodegen"),
    ("cupy", "pip install 'gpucodegen[cuda13]'"),
    ("rich", "pip install 'gpucodegen[cli]'"),
    ("matplotlib", "pip install 'gpucodegen[plot]'"),
)
"""Distribution and the command that installs it."""

ALIASES = {"cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy")}


def configure(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print one line per finding."""
    found = record()
    print(json.dumps(found, indent=2) if options.json else "\n".join(_lines(found)))
    return 0


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"Python      {found['python']} on {found['platform']}"
    for name, remedy in PACKAGES:
        yield f"{name:<11} {found['packages'][name] or f'not installed: {remedy}'}"
    yield from inventory.lines(found["devices"])
    yield f"targets     {', '.join(found['targets'])}"
    yield f"cache       {cache.summary(found['cache'])}"
    for name, value in found["settings"].items():
        yield f"{name}={value}"


def _set() -> dict[str, str]:
    """The environment variables that are set."""
    names = [setting.variable for setting in SETTINGS]
    return {name: os.environ[name] for name in names if name in os.environ}


def found_version(name: str) -> str:
    """The installed version of a package; empty if there is none."""
    if name == "gpucodegen":
        return __version__
    for candidate in ALIASES.get(name, (name,)):
        try:
            return version(candidate)
        except PackageNotFoundError:
            continue
    return ""


def record() -> dict[str, Any]:
    """All findings by name; packages that are not installed have no version.

    >>> sorted(record())
    ['cache', 'devices', 'packages', 'platform', 'python', 'settings', 'targets']
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: found_version(name) or None for name, _ in PACKAGES},
        "devices": inventory.record(),
        "targets": list(filter(_runs, names())),
        "cache": cache.record(),
        "settings": _set(),
    }


def _runs(name: str) -> bool:
    """Whether this machine can run a target.

    >>> _runs("cpu"), _runs("sim")
    (True, True)
    """
    try:
        find(name).require()
    except errors.NoDevice:
        return False
    return True
