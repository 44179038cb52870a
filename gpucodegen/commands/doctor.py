"""``gpucodegen doctor``: what was found here and how to install the rest."""

from __future__ import annotations

import argparse
import os
import platform
from importlib.metadata import PackageNotFoundError, version

from gpucodegen import errors
from gpucodegen.compiling.targets import find, names

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
SETTINGS = (
    "GPUCODEGEN_TARGET",
    "GPUCODEGEN_DEVICE",
    "GPUCODEGEN_DIRECT",
    "GPUCODEGEN_CACHE_DIR",
    "GPUCODEGEN_CACHE_SIZE",
    "GPUCODEGEN_CACHES",
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """No options."""
    del parser


def run(options: argparse.Namespace) -> int:
    """Print one line per finding."""
    del options
    print(f"Python      {platform.python_version()} on {platform.platform()}")
    for name, remedy in PACKAGES:
        found = _version(name)
        print(f"{name:<11} {found or f'not installed: {remedy}'}")
    for line in _devices():
        print(line)
    for name in SETTINGS:
        if name in os.environ:
            print(f"{name}={os.environ[name]}")
    return 0


def _version(name: str) -> str:
    for candidate in ALIASES.get(name, (name,)):
        try:
            return version(candidate)
        except PackageNotFoundError:
            continue
    return ""


def _devices() -> list[str]:
    from gpucodegen.commands.cache import summary
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
