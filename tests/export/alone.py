"""Runs a script where neither gpucodegen nor isl can be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

GUARD = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"gpucodegen", "islpy", "platformdirs"}:
            raise ImportError(f"{name} is absent")

sys.meta_path.insert(0, Absent())
"""
PYTEST = """
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir=.", "tests"]))
"""


def run(folder: Path, script: str = PYTEST, **variables: str) -> str:
    """What a script prints that runs in the folder of a package.

    AssertionError where it fails.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    words = [sys.executable, "-c", GUARD + script]
    done = subprocess.run(
        words,
        cwd=folder,
        env=kept | {"PYTHONPATH": str(folder)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout
