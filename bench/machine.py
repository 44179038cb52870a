"""The machine and the versions that stand beside every table."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "gpucodegen",
    "numpy",
    "numba",
    "islpy",
    "scipy",
    "torch",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "numba-cuda",
)


def processor() -> str:
    """Name of the CPU model, as the kernel reports it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Installed packages that matter, with their versions."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def describe() -> str:
    """Two lines for the head of a table."""
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        f"{processor()}, {cores()} cores, {platform.system()}\n"
        f"Python {platform.python_version()}, {packages}"
    )
