"""Each ``.mlir`` file here is a test: its RUN lines (`tests.filecheck.runs`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


class MlirFile(pytest.File):
    """A file with RUN lines."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each RUN line."""
        from tests.filecheck.runs import lines

        for number, line in enumerate(lines(self.path.read_text("utf-8"))):
            item: RunLine = RunLine.from_parent(self, name=f"RUN-{number}")
            item.line = line
            yield item


class RunLine(pytest.Item):
    """A RUN line."""

    line: str

    def runtest(self) -> None:
        """Carry it out."""
        from tests.filecheck.runs import carry_out

        carry_out(self.line, self.path)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:
        """What failed, without the frames of this collector."""
        from tests.filecheck.runs import RunFailed

        if isinstance(excinfo.value, RunFailed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands, and its text."""
        return self.path, 0, self.line


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Files of MLIR in this folder."""
    if file_path.suffix != ".mlir":
        return None
    return MlirFile.from_parent(parent, path=file_path)
