"""macOS and Windows, simulated by `tests.runtime.other_platform`.

A simulation shows that nothing asks for what is not there.  It does not show that
machine code runs there, whose calls are still Linux's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.readme import ROOT
from tests.house.test_doctests import EXTRAS
from tests.runtime.other_platform import SYSTEMS

SCRIPT = Path(__file__).with_name("other_platform.py")


@pytest.mark.slow
@pytest.mark.parametrize(
    "jobs",
    [
        ("interp", "sim"),
        pytest.param(("modules",), marks=pytest.mark.slow),
        pytest.param(("cpu",), marks=pytest.mark.slow),
        pytest.param(("commands",), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.drawn(3)
def test_everything_imports_and_runs(
    system: str, jobs: tuple[str, ...], tmp_path: Path
) -> None:
    variables = {"GPUCODEGEN_CACHE_DIR": str(tmp_path)}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, SCRIPT, system, *jobs],
        env=os.environ | variables | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    if jobs == ("modules",):
        (line,) = told
        _, _, *absent = line.split()
        assert {*absent} <= EXTRAS
    elif jobs != ("commands",):
        assert told == [*jobs]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("system", SYSTEMS)
def test_what_a_system_lacks_is_gone(system: str) -> None:
    code = f"""
from tests.runtime.other_platform import SYSTEMS, become
system = SYSTEMS[{system!r}]
become(system)
import os, platform, sys
assert (sys.platform, os.name) == (system.platform, system.name)
assert platform.system() == system.kernel
for module, names in system.missing.items():
    assert not any(hasattr(module, name) for name in names.split())
for name in system.modules:
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(name)
try:
    open("/proc/self/status")
except FileNotFoundError:
    print("gone")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "gone\n", done.stderr
