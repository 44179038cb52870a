"""What a terminal shows on standard error; rich may be missing."""

from __future__ import annotations

import re
import sys
import time
from types import SimpleNamespace

import pytest

from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.debugging import display
from gpucodegen.ir.locations import FileLoc

ERROR = errors.UnknownType(FileLoc("f.mlir", 1, 4), name="f33").with_source("%a: f33")
PLAIN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@pytest.fixture
def _watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error is a terminal of colours, whatever runs the tests."""
    pytest.importorskip("rich")
    monkeypatch.setattr(display, "is_watched", lambda: True)
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    display._console.cache_clear()
    yield
    display._console.cache_clear()


@pytest.mark.usefixtures("_watched")
def test_colours_change_no_letter(capsys: pytest.CaptureFixture[str]) -> None:
    display.tell(ERROR)
    told = capsys.readouterr().err
    assert "\x1b[1;31merror:" in told
    assert "\x1b[1;32m" in told.split("\n")[2]
    assert PLAIN.sub("", told) == f"{ERROR}\n"


@pytest.mark.usefixtures("_watched")
def test_brackets_of_mlir_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    text = "f.mlir:1:1: error: [bold] of %A[%i] and :smile:"
    display.tell(text)
    assert PLAIN.sub("", capsys.readouterr().err) == f"{text}\n"


@pytest.mark.usefixtures("_watched")
def test_what_is_quick_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with display.at_work("compiling f"):
        pass
    assert "compiling" not in capsys.readouterr().err


@pytest.mark.usefixtures("_watched")
def test_what_is_long_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "SILENCE", 0.0)
    shown, deadline = "", time.monotonic() + 30
    with display.at_work("compiling f"):
        while "compiling f" not in shown and time.monotonic() < deadline:
            shown += capsys.readouterr().err
    assert "compiling f" in shown


def test_pipes_get_plain_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["opt", "/no/such/file.mlir"]) == 1
    display.tell(ERROR)
    assert "\x1b" not in capsys.readouterr().err


def test_rich_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(display.importlib.util, "find_spec", {}.get)
    assert not display.is_watched()
