"""Counts of the kernels that an H100 was measured with, beside their times.

``COUNTS`` names their file.  ``python -m tests.report.measured_counts`` makes one anew
for new times: kernels of today need not be those that were measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench import session
from bench.gpu import texts
from bench.gpu.kernel import GpuKernel
from bench.gpu.kernels import KERNELS
from bench.gpu.measuring import reported
from gpucodegen.report.gpu import kernel_report
from gpucodegen.report.gpu.expected_time import expected_time
from gpucodegen.tiling.machine.gpu.devices import DEVICES, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import Work

ARCHITECTURE, DEVICE = "sm_90a", "H100"
FOLDER = Path(session.__file__).parent / "results" / "gpu"
PAGE, PLANS, COUNTS = (
    FOLDER / name
    for name in (
        "h100-2026-11-27.md",
        "plans-h100-2026-11-27.json",
        "counts-h100-2026-11-27.json",
    )
)
_ROW = re.compile(r"^\| ([^|]+) \| ([\d.]+) (us|ms) \|", re.MULTILINE)
_PRODUCTS = {"f16": "f16 4096", "f32": "f32 4096", "f16>f32": "bf16 4096"}


def measured() -> Iterator[tuple[str, Mapping[str, Any], float]]:
    """Each row of the pages: its kernel, the plan if it had one, and microseconds."""
    for name, number, unit in _ROW.findall(PAGE.read_text(encoding="utf-8")):
        if name in KERNELS:
            yield name, {}, float(number) * (1000 if unit == "ms" else 1)
    plans = json.loads(PLANS.read_text(encoding="utf-8"))
    for row in plans["plans"]:
        yield row["element"], row["plan"], row["best"]
    for layer in plans["convolutions"]:
        for row in layer["plans"]:
            yield layer["row"], row["plan"], row["best"]


def kernel_of(name: str, plan: Mapping[str, Any]) -> GpuKernel:
    """The kernel of a row, with the row's plan."""
    kernel = KERNELS[_PRODUCTS.get(name, name)]
    if name == "f16>f32":
        made = partial(texts.product, element="f16", result="f32")
        kernel = replace(kernel, source=made)
    if not plan:
        return kernel
    is_synchronous = "product.warp_rows" in plan
    more = {"arch": "sm_90"} if is_synchronous else {}
    return replace(kernel, options={**kernel.options, **more, "plan": plan})


def counts(kernel: GpuKernel) -> Sequence[Mapping[str, Any]]:
    """The launches of a kernel: how often, blocks of a multiprocessor, and work."""
    found: list[dict[str, Any]] = []

    def kept(device: GpuDevice, resident: int, work: Work) -> float | None:
        used = {name: n for name, n in asdict(work).items() if n}
        found.append({"resident": resident, "work": used})
        return expected_time(device, resident, work)

    with patch.object(kernel_report, "expected_time", kept):
        made = reported(kernel, kernel.large, ARCHITECTURE, DEVICE)
    for launch, one in zip(found, made.kernels, strict=True):
        launch["launches"] = one.launch.launches
    return found


def expected(launches: Sequence[Mapping[str, Any]]) -> float | None:
    """Microseconds of a row's launches, in the middle of the interval."""
    total = 0.0
    for launch in launches:
        counted: dict[str, Any] = {"instructions": 0, **launch["work"]}
        work = Work(**counted)
        each = expected_time(DEVICES[DEVICE], launch["resident"], work)
        if each is None:
            return None
        total += each * launch["launches"] / 1000
    return total


def label(row: Mapping[str, Any]) -> str:
    """A row's name, with its plan."""
    shown = (f"{k.removeprefix('product.')} {v}" for k, v in row["plan"].items())
    return ", ".join((row["name"], *shown))


def main() -> None:
    rows = [
        {
            "name": name,
            "plan": plan,
            "microseconds": time,
            "launches": counts(kernel_of(name, plan)),
        }
        for name, plan, time in measured()
    ]
    lines = ",\n".join(map(json.dumps, rows))
    COUNTS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
