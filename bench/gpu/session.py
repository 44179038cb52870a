"""``python -m bench gpu``: one call that checks, times and writes the results."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from bench import machine
from bench.gpu import launches
from bench.gpu.device import Gpu, Target
from bench.gpu.kernels import KERNELS
from bench.gpu.measuring import (
    Check,
    Lost,
    Measured,
    calibration,
    checks,
    first_line,
    measure,
)
from bench.gpu.results import line, write

NO_GPU = (
    "bench gpu needs a CUDA device and CuPy, and found none: {reason}.\n"
    "On a machine with a GPU: pip install 'gpucodegen[bench-gpu]', then run it again."
    " What a GPU would do is estimated without one: gpucodegen report"
)


def run(options: Namespace, out: Path) -> int:
    """Measure on the GPU of this machine; 1 if a row failed, 2 without a GPU."""
    try:
        device = Gpu()
    except Exception as error:
        print(NO_GPU.format(reason=first_line(error)), file=sys.stderr)
        return 2
    return measured(device, options.name, options.budget, out)


def measured(device: Target, wanted: str, budget: float, out: Path) -> int:
    """Check all, time the kernels with ``wanted`` in their names, write the results."""
    facts = machine.facts()
    about: dict[str, Any] = {
        "format": facts["format"],
        "date": facts["date"],
        "device": device.facts(),
        "versions": facts["versions"],
        "environment": facts["environment"],
    }
    for known in (about["device"], about["versions"]):
        print(", ".join(f"{name} {value}" for name, value in known.items()))
    chosen = {name: k for name, k in KERNELS.items() if wanted in name}
    found: list[Check] = []
    for check in checks(device, chosen, wanted):
        found.append(check)
        print(f"{check.name:<22}{_verdict(check)}", flush=True)
    rows: list[Measured | Lost] = []
    for kernel in chosen.values():
        try:
            rows.append(measure(device, kernel, kernel.large, budget))
        except Exception as error:
            rows.append(Lost(kernel.name, first_line(error)))
        print(line(rows[-1]), flush=True)
    if isinstance(device, Gpu) and wanted in launches.NAME:
        rows.append(launches.launch(device, budget))
        print(line(rows[-1]), flush=True)
    classes = calibration(rows)
    for kind, each in classes.items():
        print(
            f"{kind}: {each['ratio']:.2f} times the estimate, median of {each['rows']}"
        )
    about["device after"] = device.facts()
    for path in write(about, found, rows, classes, out):
        print(path)
    lost = [row for row in rows if isinstance(row, Lost)]
    return int(bool(lost) or any(check.reason for check in found))


def _verdict(check: Check) -> str:
    return f"FAILED: {check.reason}" if check.reason else "right"
