"""Variables, options and flags are one to one, and docs/settings.md lists them."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

from gpucodegen.cli import main
from gpucodegen.debugging.levels import VARIABLES, Debug, debug
from gpucodegen.debugging.settings import SETTINGS, Setting, table
from gpucodegen.options import Options

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "settings.md"


def test_the_page_has_the_table_of_the_code(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text("utf-8")
    made = "\n".join(table())
    if request.config.getoption("update_golden"):
        pattern = r"(?s)(<!-- settings -->\n).*?(?=\n\nA flag)"
        PAGE.write_text(re.sub(pattern, lambda m: f"{m[1]}\n{made}", text), "utf-8")
        text = PAGE.read_text("utf-8")
    assert made in text


def test_the_page_has_every_option_of_compile() -> None:
    text = PAGE.read_text("utf-8").partition("<!-- options -->")[2]
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", text, re.MULTILINE)
    options = Options()
    expected = {f.name: getattr(options, f.name) for f in fields(Options)}
    assert {name: eval(default) for name, default in rows} == expected


def test_every_variable_of_the_sources_is_listed() -> None:
    files = (ROOT / "gpucodegen").rglob("*.py")
    texts = [file.read_text("utf-8") for file in files]
    used = {
        name for text in texts for name in re.findall(r"\bGPUCODEGEN_[A-Z_]+", text)
    }
    listed = {one.variable for one in SETTINGS}
    assert used - listed == set()
    assert {name for name in listed if name.startswith("GPUCODEGEN")} <= used


@pytest.mark.cases(
    "setting", [one for one in SETTINGS if one.python], ids=lambda one: one.variable
)
def test_options_are_there(setting: Setting) -> None:
    found = re.fullmatch(r"(\w+)\((\w+)=?\)", setting.python)
    assert found is not None
    parameters = inspect.signature(debug).parameters
    known = {"compile": [f.name for f in fields(Options)], "debug": [*parameters]}
    assert found[2] in known[found[1]]


def test_flags_and_fields_of_the_ladder_are_one_to_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in ("emit", "run"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
    text = capsys.readouterr().out
    for setting in SETTINGS:
        assert not setting.flag or setting.flag in text
    assert [f.name for f in fields(Debug)] == [*VARIABLES]
    assert {one.variable for one in SETTINGS} >= set(VARIABLES.values())
