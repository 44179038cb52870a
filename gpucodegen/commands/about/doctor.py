"""``gpucodegen doctor``: what was found here and how to install the rest."""

from __future__ import annotations

import argparse
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version

from gpucodegen import errors
from gpucodegen.compiling.targets import find, names
from gpucodegen.debugging.settings import SETTINGS

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
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="a record for machines")


def run(options: argparse.Namespace) -> int:
    """Print one line per finding."""
    if options.json:
        print(json.dumps(record(), indent=2))
        return 0
    print(f"Python      {platform.python_version()} on {platform.platform()}")
    for name, remedy in PACKAGES:
        found = found_version(name)
        print(f"{name:<11} {found or f'not installed: {remedy}'}")
    for line in _devices():
        print(line)
    for name, value in _set().items():
        print(f"{name}={value}")
    return 0


def _set() -> dict[str, str]:
    """The variables that are set."""
    names = [setting.variable for setting in SETTINGS]
    return {name: os.environ[name] for name in names if name in os.environ}


def found_version(name: str) -> str:
    """The installed version of a package; empty if there is none."""
    for candidate in ALIASES.get(name, (name,)):
        try:
            return version(candidate)
        except PackageNotFoundError:
            continue
    return ""


def record() -> dict[str, object]:
    """All findings by name; packages that are not installed have no version.

    >>> sorted(record())
    ['cache', 'devices', 'packages', 'platform', 'python', 'settings', 'targets']
    """
    from gpucodegen.commands.about.cache import record as cache_record
    from gpucodegen.runtime.devices.inventory import describe

    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: found_version(name) or None for name, _ in PACKAGES},
        "devices": describe(),
        "targets": list(filter(_runs, names())),
        "cache": cache_record(),
        "settings": _set(),
    }


def _devices() -> list[str]:
    from gpucodegen.commands.about.cache import summary
    from gpucodegen.runtime.devices.inventory import describe

    usable = ", ".join(filter(_runs, names()))
    return [*describe(), f"targets     {usable}", f"cache       {summary()}"]


def _runs(name: str) -> bool:
    """Whether this machine has what a target needs.

    >>> _runs("cpu"), _runs("sim")
    (True, True)
    """
    try:
        find(name).require()
    except errors.NoDevice:
        return False
    return True
