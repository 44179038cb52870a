"""A first call waits for the look-up of its winner: what that may do, counted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection

import pytest

from gpucodegen.tiling.tuning import lookup
from gpucodegen.tiling.tuning.database import reading
from gpucodegen.tiling.tuning.lookup import first_known
from gpucodegen.tiling.tuning.search import Status, Trial
from gpucodegen.tiling.tuning.store import TuningStore

KEYS = "exact", "bucket"


def filled(path: Path, key: str, timed: int, failed: int) -> TuningStore:
    """A store with trials of a key; those that failed come first in order."""
    store = TuningStore(path)
    trials = [Trial({"i": n}, Status.FAILED, reason="?") for n in range(1, failed + 1)]
    trials += [Trial({"j": n}, Status.OK, 1.0) for n in range(1, timed + 1)]
    rows = [
        (key, f'{{"{name}":{size}}}', t.status.value, t.seconds, t.reason, "", 0.0)
        for t in trials
        for name, size in t.point.items()
    ]
    with store.connection() as database:
        database.execute("begin")
        database.executemany("insert into trial values (?, ?, ?, ?, ?, ?, ?)", rows)
        database.execute("commit")
    assert len(store.trials(key)) == len(trials)
    return store


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each instruction of SQLite's machine that a look-up carries out."""
    made: list[int] = []

    @contextmanager
    def counted(path: Path) -> Generator[Connection, None, None]:
        with reading(path) as database:
            database.set_progress_handler(lambda: made.append(1), 1)
            yield database

    monkeypatch.setattr(lookup, "reading", counted)
    return made


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("wins", [False, True])
def test_a_look_up_does_the_same_whatever_is_stored(
    key: str, wins: bool, tmp_path: Path, steps: list[int]
) -> None:
    work: list[int] = []
    for timed, failed in ((1, 0), (1, 1000), (1000, 1000)):
        path = tmp_path / f"{timed}-{failed}.sqlite"
        store = filled(path, key, timed, failed)
        if wins:
            store.session(key).crown({"j": 1}, 2.0)
        steps.clear()
        found = first_known(path, KEYS)
        work.append(len(steps))
        assert found is not None
        assert found[0] == key
        assert (found[1] and found[1].point) == ({"j": 1} if wins else None)
    assert 0 < work[0] < 100
    assert len(set(work)) == 1


def test_what_only_failed_is_not_known(tmp_path: Path) -> None:
    filled(tmp_path / "t.sqlite", "exact", 0, 9)
    assert first_known(tmp_path / "t.sqlite", KEYS) is None
    filled(tmp_path / "t.sqlite", "bucket", 1, 9)
    assert first_known(tmp_path / "t.sqlite", KEYS) == ("bucket", None)


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    path.write_bytes(b"not a database at all" * 99)
    assert first_known(path, KEYS) is None
    assert path.with_name("t.sqlite.damaged").exists()


def test_a_look_up_loads_nothing_of_a_search(tmp_path: Path) -> None:
    filled(tmp_path / "t.sqlite", "exact", 3, 0)
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gpucodegen.tiling.tuning.lookup import first_known\n"
        "print(first_known(Path(sys.argv[1]), ['exact']))\n"
        "print(*(n for n in sys.modules if n.startswith('gpucodegen.tiling.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "t.sqlite")],
        capture_output=True,
        text=True,
        check=True,
    )
    found, modules = done.stdout.splitlines()
    assert found == "('exact', None)"
    assert {name.removeprefix("gpucodegen.tiling.") for name in modules.split()} == {
        "tuning",
        *(f"tuning.{name}" for name in ("database", "lookup")),
    }
