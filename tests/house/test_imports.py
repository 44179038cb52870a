from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.readme import ROOT

LOADED = """
import sys
before = set(sys.modules)
import gpucodegen
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(loaded - sys.stdlib_module_names), len(set(sys.modules) - before) < 100)
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


def test_import_brings_in_little_of_the_standard_library_alone() -> None:
    assert python(LOADED) == "['gpucodegen'] True"


@pytest.mark.slow
def test_linked_folders_are_imported_by_their_long_names_only() -> None:
    assert python(SHADOWS) == "[]"
