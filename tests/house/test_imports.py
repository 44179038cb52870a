from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.house.readme import ROOT

MEASURE = """
import time
start = time.perf_counter()
import gpucodegen
print(time.perf_counter() - start)
"""

HEAVY = """
import sys
import gpucodegen
print(sorted({"numba", "llvmlite", "islpy", "cupy"} & set(sys.modules)))
"""

SHADOWS = """
import sys
import gpucodegen.tiling, gpucodegen.kernels
print(sorted({"tiling", "kernels"} & set(sys.modules)))
"""


def python(code: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_import_takes_less_than_a_tenth_of_a_second(tmp_path: Path) -> None:
    python(MEASURE)  # the first import may have to compile
    assert min(float(python(MEASURE, tmp_path)) for _ in range(5)) < 0.1


def test_import_brings_in_nothing_heavy() -> None:
    assert python(HEAVY) == "[]"


def test_linked_folders_are_imported_by_their_long_names_only() -> None:
    assert python(SHADOWS) == "[]"
