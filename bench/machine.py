"""The machine and the versions that stand beside every table."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PACKAGES = (
    "gpucodegen",
    "numpy",
    "numba",
    "llvmlite",
    "islpy",
    "scipy",
    "torch",
    "jax",
    "iree-base-compiler",
    "iree-base-runtime",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "numba-cuda",
    "triton",
)
ENVIRONMENT = re.compile(
    r"(GPUCODEGEN|NUMBA|OMP|OPENBLAS|MKL|KMP|GOMP|XLA|JAX|IREE|MALLOC)_\w+"
)
"""Variables that change what is measured."""
PRIVATE = "_DIR"
"""End of the variables that hold paths, which stay private."""


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


def caches() -> dict[str, str]:
    """Caches of the first core, with their sizes."""
    found: dict[str, str] = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = (
            (folder / name).read_text().strip() for name in ("type", "level", "size")
        )
        found[f"L{level} {kind.lower()}"] = size
    return found


def versions() -> dict[str, str]:
    """Installed packages that matter, with their versions."""
    from gpucodegen.commands.doctor import found_version

    found = {package: found_version(package) for package in PACKAGES}
    return {package: number for package, number in found.items() if number}


def facts() -> dict[str, Any]:
    """What stands at the head of a file of results."""
    from gpucodegen.runtime.processor import cpu

    host = cpu()
    return {
        "format": 1,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "processor": processor(),
            "target": host.name,
            "vector_bits": host.vector_bits,
            "cores": cores(),
            "caches": caches(),
            "system": platform.system(),
        },
        "versions": {"python": platform.python_version(), **versions()},
        "environment": {
            name: value
            for name, value in sorted(os.environ.items())
            if ENVIRONMENT.fullmatch(name) and not name.endswith(PRIVATE)
        },
    }


def describe() -> str:
    """Two lines for the head of a table."""
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        f"{processor()}, {cores()} cores, {platform.system()}\n"
        f"Python {platform.python_version()}, {packages}"
    )
