"""A pytest plugin for a suite that is run twice: bare first, then with all extras.

``--ran FILE`` keeps the names of the tests that passed; ``--but-not FILE`` leaves these
out of a later run; with ``--no-skips MARKS`` a test that is skipped fails, unless it
has one of the marks.  So two runs that end well have run all tests but the marked ones.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("two runs")
    group.addoption(
        "--ran", type=Path, metavar="FILE", help="keep the names of tests that passed"
    )
    group.addoption(
        "--but-not", type=Path, metavar="FILE", help="leave these tests out"
    )
    group.addoption(
        "--no-skips",
        metavar="MARKS",
        help="a skipped test fails unless it has one of these marks, as in gpu,other",
    )


def pytest_configure(config: pytest.Config) -> None:
    """With workers, the process that started them hears of every test."""
    path = config.getoption("ran")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Ran(path))


@dataclass(slots=True)
class _Ran:
    """Writes what passed when the run ends."""

    path: Path
    names: list[str] = field(default_factory=list[str])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        as_expected = report.passed or hasattr(report, "wasxfail")
        if report.when == "call" and as_expected:
            self.names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        lines = (f"{name}\n" for name in self.names)
        self.path.write_text("".join(lines), encoding="utf-8")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out what an earlier run has run."""
    path = config.getoption("but_not")
    if path is None:
        return
    earlier = set(path.read_text(encoding="utf-8").splitlines())
    config.hook.pytest_deselected(items=[i for i in items if i.nodeid in earlier])
    items[:] = [item for item in items if item.nodeid not in earlier]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that no run has run has failed."""
    report = yield
    allowed = item.config.getoption("no_skips")
    is_skipped = report.skipped and not hasattr(report, "wasxfail")
    if allowed is not None and is_skipped and not _has_one(item, allowed.split(",")):
        report.outcome = "failed"
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else ""
        report.longrepr = f"no run has run this test: {reason}"
    return report


def _has_one(item: pytest.Item, marks: list[str]) -> bool:
    return any(item.get_closest_marker(mark) for mark in marks)
