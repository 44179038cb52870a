"""CI runs the suite twice: as a new user does, and what that leaves out with extras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import (
    FEW_EXAMPLES,
    Share,
    draw,
    on_a_device,
    pytest_pyfunc_call,
    take_a_share_of_examples,
    thin_out,
)
from tests.house import readme

CI = readme.ROOT / ".ci"
SCRIPT = (CI / "run").read_text(encoding="utf-8")
PROJECT = tomllib.loads((readme.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_the_script_can_be_run() -> None:
    assert os.access(CI / "run", os.X_OK)
    subprocess.run(["bash", "-n", CI / "run"], check=True)


def test_the_command_of_the_readme_comes_first_and_alone() -> None:
    steps = [line for line in SCRIPT.splitlines() if ".venv" in line]
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
    installed = re.search(r"fresh .venv-all .* -e '\.\[(.*)\]'", SCRIPT)
    assert installed is not None
    needs_a_gpu, of_dev = {"cuda12", "bench-gpu"}, {"test"}
    assert {*installed[1].split(",")} | needs_a_gpu | of_dev == set(EXTRAS)


def test_the_lowest_versions_are_the_bounds_of_the_project() -> None:
    done = subprocess.run(
        [sys.executable, CI / "lowest.py"], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(PROJECT["dependencies"]) + len(EXTRAS["test"])
    for line, bound in zip(lines, PROJECT["dependencies"], strict=False):
        assert line == bound.replace(">=", "==")
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f"fresh .venv-lowest python{lowest} " in SCRIPT


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("", "absent, as they should be: "),
        ("xdsl", "more than the extra test is installed: xdsl"),
        ("numba_cuda", "more than the extra test is installed: numba-cuda"),
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

    def iter_markers(self, name: str) -> Iterator[pytest.Mark]:
        return (mark for mark in self.marks if mark.name == name)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.added.append(mark.name)


def test_of_sampled_tests_one_of_each_n_cases_is_quick() -> None:
    mark = pytest.mark.sampled(3).mark
    cases = [Case(f"f.py::{name}[{i}]", mark) for i in range(5) for name in "ab"]
    others = [Case("f.py::c[0]"), Case("f.py::c[1]")]
    thin_out([*cases, *others])
    quick = [case.nodeid[6:] for case in (*cases, *others) if case.added != ["slow"]]
    assert quick == ["a[0]", "b[0]", "a[4]", "b[4]", "c[0]", "c[1]"]


def test_quick_and_slow_items_share_all_cases() -> None:
    cases = [*range(20)]
    shares = [
        Share(3, is_quick, n, 2).of(cases) for is_quick in (True, False) for n in (0, 1)
    ]
    assert sorted(shares[0] + shares[1]) == [0, 4, 8, 9, 13, 17, 18]
    assert sorted(chain(*shares)) == cases


def looped(test: Callable[[int], None]) -> None:
    """Run a test as `pytest.mark.cases("n", range(4))` does."""
    item = SimpleNamespace(
        iter_markers=lambda _: [pytest.mark.cases("n", lambda: range(4)).mark],
        funcargs={"n": Share(1, True, 0, 1)},
        _fixtureinfo=SimpleNamespace(argnames=("n",)),
        config=SimpleNamespace(getoption=lambda _: None),
        obj=test,
    )
    assert pytest_pyfunc_call(item)


def test_a_loop_reports_all_cases_that_fail_and_skips_at_its_end() -> None:
    seen: list[int] = []

    def fails(n: int) -> None:
        assert n % 2 == 0

    def skips(n: int) -> None:
        seen.append(n)
        if n == 1:
            pytest.skip("no peer")

    with pytest.raises(
        ExceptionGroup, match=r"2 of 4 cases failed:\n  1\n  3"
    ) as caught:
        looped(fails)
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["Case: 1"],
        ["Case: 3"],
    ]
    with pytest.raises(pytest.skip.Exception, match="no peer"):
        looped(skips)
    assert seen == [*range(4)]


@pytest.mark.slow
def test_a_quick_property_takes_a_share_of_its_examples() -> None:
    seen: list[int] = []

    @settings(max_examples=20, database=None)
    @given(st.integers())
    def holds(n: int) -> None:
        seen.append(n)

    for is_quick, count in ((True, 5), (False, 20), (True, 5)):
        seen.clear()
        take_a_share_of_examples(holds, Share(4, is_quick, 0, 1), takes_all=True)
        holds()
        assert len(seen) == count
    seen.clear()
    take_a_share_of_examples(holds, None, takes_all=False)
    holds()
    assert len(seen) == FEW_EXAMPLES


def test_of_slow_cases_some_are_drawn() -> None:
    slow, drawn = pytest.mark.slow.mark, pytest.mark.drawn(3).mark
    cases: Any = [Case(f"f.py::a[{i}]", drawn, *[slow] * (i > 1)) for i in range(9)]
    other: Any = Case("f.py::b", slow)
    items = [*cases, other]
    left_out = draw(items)
    assert len(left_out) == 4
    assert {*items} == {*cases, other} - {*left_out}
    assert {*cases[:2], other} <= {*items}
    assert draw([*cases, other]) == left_out


def test_tests_of_the_same_cases_may_draw_the_same_ones() -> None:
    marks = pytest.mark.slow.mark, pytest.mark.drawn(3, alike=True).mark
    items: Any = [Case(f"f.py::{t}[{i}]", *marks) for t in "ab" for i in range(9)]
    draw(items)
    chosen = {t: {i.nodeid[7:] for i in items if i.nodeid[6] == t} for t in "ab"}
    assert len(chosen["a"]) == 3
    assert chosen["a"] == chosen["b"]


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
