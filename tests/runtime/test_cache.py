"""The disk cache: private to the user, within its size, and nothing but data."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpucodegen import cli, errors
from gpucodegen.compiling import tuned_schedules
from gpucodegen.runtime.storage import cache, cache_size

posix = pytest.mark.skipif(os.name != "posix", reason="folders have no modes")
STORE = cache.Store("object")
KEY, OTHER = cache.digest("a"), cache.digest("b")


@pytest.fixture(autouse=True)
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the user names; it does not exist."""
    place = tmp_path / "named"
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(place))
    return place


def entry(key: str = KEY) -> Path:
    return STORE.path(f"{key}.bin")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_what_is_put_is_there() -> None:
    assert STORE.get(KEY) is None
    assert STORE.put(KEY, b"code")
    assert STORE.get(KEY) == b"code"
    assert STORE.get(OTHER) is None


@posix
def test_only_folders_that_are_made_get_a_mode(named: Path) -> None:
    named.mkdir()
    named.chmod(0o755)
    assert STORE.put(KEY, b"code")
    assert mode(named) == 0o755
    assert mode(cache.cache_directory()) == mode(entry().parent) == 0o700
    assert mode(entry()) == 0o600
    assert [path.name for path in named.iterdir()] == [cache.OWN]


PLACES: dict[str, Callable[[Path], Path]] = {
    "named": lambda named: named,
    "own": lambda _: cache.cache_directory(),
    "kind": lambda _: entry().parent,
}


@posix
@pytest.mark.parametrize("others", [0o020, 0o002], ids=oct)
@pytest.mark.parametrize("place", PLACES)
def test_a_folder_that_others_may_write_to_is_neither_read_nor_written(
    named: Path, place: str, others: int
) -> None:
    STORE.put(KEY, b"code")
    chosen = PLACES[place](named)
    chosen.chmod(0o700 | others)
    with pytest.warns(errors.CacheUnusable, match="others than you may write") as told:
        found = STORE.get(KEY), STORE.put(OTHER, b"code")
    assert found == (None, False)
    assert len(told) == 1
    assert str(chosen) in str(told[0].message)
    assert mode(chosen) == 0o700 | others
    assert not entry(OTHER).exists()


@posix
@pytest.mark.parametrize("place", [*PLACES, "entry"])
def test_what_belongs_to_somebody_else_is_refused(
    named: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    STORE.put(KEY, b"code")
    foreign = (entry() if place == "entry" else PLACES[place](named)).stat()
    status = os.fstat

    def told(descriptor: int) -> os.stat_result:
        found = status(descriptor)
        if (found.st_ino, found.st_dev) == (foreign.st_ino, foreign.st_dev):
            return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))
        return found

    monkeypatch.setattr(os, "fstat", told)
    with pytest.warns(errors.CacheUnusable, match="belongs to user"):
        assert STORE.get(KEY) is None


@posix
@pytest.mark.parametrize("place", [*PLACES, "entry"])
def test_no_link_is_followed(named: Path, place: str) -> None:
    STORE.put(KEY, b"code")
    chosen = entry() if place == "entry" else PLACES[place](named)
    chosen.rename(elsewhere := named.with_name("elsewhere"))
    chosen.symlink_to(elsewhere)
    with pytest.warns(errors.CacheUnusable, match="is a link"):
        assert STORE.get(KEY) is None


@posix
def test_a_link_above_is_the_systems_affair(
    named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named.mkdir()
    (link := named.with_name("link")).symlink_to(named)
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(link / "inner"))
    assert STORE.put(KEY, b"code")
    assert STORE.get(KEY) == b"code"


@posix
def test_a_file_that_others_may_change_is_refused() -> None:
    STORE.put(KEY, b"code")
    entry().chmod(0o666)
    with pytest.warns(errors.CacheUnusable):
        assert STORE.get(KEY) is None
    assert STORE.put(KEY, b"again")
    assert STORE.get(KEY) == b"again"


@posix
def test_a_pipe_is_no_entry() -> None:
    STORE.put(OTHER, b"code")
    os.mkfifo(entry())
    with pytest.warns(errors.CacheUnusable, match="is no file"):
        assert STORE.get(KEY) is None


def test_the_digest_is_that_of_one_key_of_one_kind() -> None:
    STORE.put(KEY, b"code")
    entry(OTHER).write_bytes(entry().read_bytes())
    assert STORE.get(OTHER) is None
    assert not entry(OTHER).exists()
    another = cache.Store("text")
    another.put(OTHER, b"text")
    another.path(f"{KEY}.bin").write_bytes(entry().read_bytes())
    assert another.get(KEY) is None
    assert STORE.get(KEY) == b"code"


@pytest.mark.parametrize("name", ["x" * 300, "a\nb"], ids=["long", "two lines"])
def test_any_name_of_a_folder_is_used_or_warned_of(
    named: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(named / name))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert STORE.put(KEY, b"code") == (not told)
    assert {w.category for w in told} <= {errors.CacheUnusable}


# Size.


def filled(count: int, size: int = 1000, age: float = 0.0) -> list[str]:
    """Entries, the first one used longest ago."""
    keys = [cache.digest(number) for number in range(count)]
    for number, key in enumerate(keys):
        STORE.put(key, bytes(size))
        used = time.time() - age - (count - number)
        os.utime(entry(key), (used, used))
    return keys


def present(keys: list[str]) -> list[bool]:
    return [entry(key).exists() for key in keys]


def test_what_was_not_used_for_longest_goes_first() -> None:
    keys = filled(8)
    removed = cache_size.shrink(cache.cache_folder, 5500)
    assert removed.entries == 5
    assert present(keys) == [False] * 5 + [True] * 3


def test_an_entry_that_is_used_is_young_again() -> None:
    keys = filled(4, age=2 * 24 * 3600.0)
    assert STORE.get(keys[0]) is not None
    cache_size.shrink(cache.cache_folder, 2200)
    assert present(keys) == [True, False, False, False]


def test_the_limit_holds_while_a_process_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_SIZE", "20K")
    for number in range(100):
        STORE.put(cache.digest("limit", number), bytes(1000))
        assert cache_size.usage(cache.cache_folder).size <= 20 << 10
    assert not STORE.put(KEY, bytes(21 << 10))


def test_several_may_write_and_remove_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_SIZE", "20K")

    def work(worker: int) -> set[bytes | None]:
        keys = [cache.digest(worker, number % 7) for number in range(40)]
        return {STORE.put(key, bytes(900)) and STORE.get(key) for key in keys}

    with ThreadPoolExecutor(4) as pool:
        found = set[bytes | None]().union(*pool.map(work, range(4)))
    assert found <= {bytes(900), None}


def test_a_limit_of_nothing_keeps_and_reads_nothing(
    named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.environ.get("GPUCODEGEN_CACHE_SIZE", "")
    monkeypatch.setenv("GPUCODEGEN_CACHE_SIZE", "0")
    assert not STORE.put(KEY, b"code")
    assert not named.exists()
    monkeypatch.setenv("GPUCODEGEN_CACHE_SIZE", before)
    assert STORE.put(KEY, b"code")
    monkeypatch.setenv("GPUCODEGEN_CACHE_SIZE", "0")
    assert STORE.get(KEY) is None


def test_a_size_that_is_none_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_SIZE", "much")
    with pytest.warns(errors.UnknownCacheSize, match="such as 500M"):
        assert cache_size.limit() == 1 << 30


def test_leftovers_of_killed_processes_go_once_an_hour() -> None:
    STORE.put(KEY, b"code")
    old, young = (entry().with_name(f".new-{name}") for name in ("old", "young"))
    for path, age in ((old, 7200.0), (young, 0.0)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    STORE.put(OTHER, b"code")
    assert old.exists()
    os.utime(cache.cache_directory() / cache_size.STAMP, (0, 0))
    STORE.put(OTHER, b"code")
    assert not old.exists()
    assert young.exists()
    assert STORE.get(KEY) == b"code"


def test_only_entries_are_removed() -> None:
    filled(2)
    mine = [cache.cache_directory() / "mine.bin", entry().with_name("notes.txt")]
    for path in mine:
        path.write_text("mine")
    assert cache_size.shrink(cache.cache_folder, 0).entries == 2
    assert all(path.exists() for path in mine)


# What users see and ask for.


def test_doctor_and_the_command_tell_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keys = filled(3)
    assert cli.main(["doctor"]) == 0
    told = capsys.readouterr().out
    assert f"{cache.cache_directory()}: 3 entries, 0.0 MiB of 1024" in told
    tuned_schedules.tuning_store()
    assert cli.main(["cache", "clear"]) == 0
    told = capsys.readouterr().out
    assert "removed 3 entries" in told
    assert "tuned schedules stay" in told
    assert not any(present(keys))
    assert tuned_schedules.is_there()
    assert cli.main(["cache", "clear", "--tuned"]) == 0
    assert "and the tuned schedules" in capsys.readouterr().out
    assert not tuned_schedules.is_there()
    assert cli.main(["cache"]) == 0
    assert "empty" in capsys.readouterr().out


def test_there_may_be_nothing_to_remove(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cache", "show"]) == cli.main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.count("empty") == 1


@posix
def test_a_folder_of_others_is_neither_shown_nor_cleared(
    named: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named.mkdir()
    named.chmod(0o777)
    assert cli.main(["doctor"]) == 0
    assert "not used, since others than you" in capsys.readouterr().out
    assert cli.main(["cache", "clear"]) == 1
    assert "nothing can be kept" in capsys.readouterr().err


@posix
def test_schedules_that_others_could_have_tuned_are_not_used() -> None:
    assert not tuned_schedules.is_there()
    assert mode(tuned_schedules.tuning_store().path) == 0o600
    assert tuned_schedules.is_there()
    tuned_schedules.tuning_path().chmod(0o666)
    with pytest.warns(errors.CacheUnusable):
        assert not tuned_schedules.is_there()
    with pytest.raises(errors.CacheRefused, match="others than you"):
        tuned_schedules.tuning_store()
