"""CI runs the suite twice: as a new user does, and what that leaves out with extras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import on_a_device, thin_out
from tests.house import readme

CI = readme.ROOT / ".ci"
SCRIPT = (CI / "run").read_text(encoding="utf-8")
PROJECT = tomllib.loads((readme.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_the_script_can_be_run() -> None:
    assert os.access(CI / "run", os.X_OK)
    subprocess.run(["bash", "-n", CI / "run"], check=True)


def test_the_command_of_the_readme_comes_first_and_alone() -> None:
    steps = [line for line in SCRIPT.splitlines() if "venv" in line]
    assert steps[0] == "rm -rf .venv"
    assert SCRIPT.index('bash -euc "$command"') < SCRIPT.index(steps[1])
    read = re.search(r"command=\$\(python3 -c '(.*)'\)", SCRIPT)
    assert read is not None
    printed = subprocess.run(
        [sys.executable, "-c", read[1]],
        cwd=readme.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout == f"{readme.TESTS}\n"


def test_the_second_environment_has_every_extra() -> None:
    installed = re.search(r"install -e '\.\[(.*)\]'", SCRIPT)
    assert installed is not None
    needs_a_gpu = {"cuda12", "bench-gpu"}
    assert {*installed[1].split(",")} | needs_a_gpu == set(EXTRAS)


def test_the_lowest_versions_are_the_bounds_of_the_project() -> None:
    done = subprocess.run(
        [sys.executable, CI / "lowest.py"], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(PROJECT["dependencies"]) + len(EXTRAS["dev"])
    for line, bound in zip(lines, PROJECT["dependencies"], strict=False):
        assert line == bound.replace(">=", "==")
    assert f"python{PROJECT['requires-python'].removeprefix('>=')} -m venv" in SCRIPT


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("", "absent, as they should be: "),
        ("xdsl", "more than the extra dev is installed: xdsl"),
        ("numba_cuda", "more than the extra dev is installed: numba-cuda"),
    ],
)
def test_what_a_new_user_has_not_is_found(
    package: str, told: str, tmp_path: Path
) -> None:
    if package:
        about = tmp_path / f"{package}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\n")
    code = (
        "import sys, runpy; sys.path[:] = [p for p in sys.path if 'site-' not in p];"
        f"runpy.run_path({str(CI / 'nothing_else.py')!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith(told), done.stdout + done.stderr
    assert done.returncode == bool(package)


SUITE = """
import pytest

def test_passes(): pass

@pytest.mark.slow
def test_takes_long(): pass

@pytest.mark.skipif("not config.getoption('but_not')", reason="no peer")
def test_with_a_peer(): pass

@pytest.mark.xfail(strict=True)
def test_is_known_to_fail(): assert False

@pytest.mark.gpu
def test_on_a_gpu(): pytest.skip("no device")
"""
NEVER_RUN = """
@pytest.mark.skip(reason="nobody has this package")
def test_never(): pass
"""
SETTINGS = """[pytest]
addopts = -m "not slow"
markers =
  slow
  gpu
"""


def suite(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit status and output of a run of the suite in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "two_runs", "-rfs", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(CI), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "workers", ["-n0", pytest.param("-n2", marks=pytest.mark.slow)]
)
def test_two_runs_run_everything_but_what_needs_a_gpu(
    workers: str, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    (tmp_path / "test_all.py").write_text(SUITE)
    ran = f"{tmp_path}/ran"
    status, printed = suite(tmp_path, workers, f"--ran={ran}")
    assert status == 0, printed
    assert sorted(Path(ran).read_text().split()) == [
        "test_all.py::test_is_known_to_fail",
        "test_all.py::test_passes",
    ]
    second = (workers, "-m", "", f"--but-not={ran}", "--no-skips=gpu")
    status, printed = suite(tmp_path, *second)
    assert status == 0, printed
    assert "2 passed, 1 skipped" in printed
    (tmp_path / "test_all.py").write_text(SUITE + NEVER_RUN)
    status, printed = suite(tmp_path, *second)
    assert status == 1
    assert "no run has run this test: Skipped: nobody has this package" in printed


class Case:
    """What `thin_out` asks of a test."""

    def __init__(self, nodeid: str, *marks: pytest.Mark) -> None:
        self.nodeid, self.marks, self.added = nodeid, marks, []

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.added.append(mark.name)


def test_of_sampled_tests_every_nth_case_is_quick() -> None:
    mark = pytest.mark.sampled(3).mark
    cases = [Case(f"f.py::{name}[{i}]", mark) for i in range(5) for name in "ab"]
    others = [Case("f.py::c[0]"), Case("f.py::c[1]")]
    thin_out([*cases, *others])
    quick = [case.nodeid[6:] for case in (*cases, *others) if case.added != ["slow"]]
    assert quick == ["a[0]", "b[0]", "a[3]", "b[3]", "c[0]", "c[1]"]


@pytest.mark.cases(
    ("name", "target", "left_out"),
    [
        ("test_rows.py", "sim", True),
        ("test_rows.py", "cpu", False),
        ("test_rows.py", None, False),
        ("test_gpu_warps.py", None, True),
        ("test_gpu_reductions.py", "cpu", False),
    ],
)
def test_another_processor_needs_no_tests_of_devices(
    name: str, target: str | None, left_out: bool
) -> None:
    params = {} if target is None else {"target": target}
    item: Any = SimpleNamespace(
        path=Path(name), callspec=SimpleNamespace(params=params)
    )
    assert on_a_device(item) == left_out
