"""The recipes of the documentation, carried out on a copy of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.readme import ROOT
from tests.house.recipes import PAGES, carry_out, copied, steps

TOUCHED = 3
"""Files of the package and its documentation that a recipe may change or add."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("GPUCODEGEN_TARGET", raising=False)
    (tmp_path / "copy").mkdir()
    return copied(tmp_path / "copy")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_stranger_can_follow_a_recipe(name: str, folder: Path) -> None:
    assert "python" in carry_out(PAGES[name].read_text("utf-8"), folder)


@pytest.mark.cases("name", PAGES)
def test_a_recipe_needs_few_places(name: str) -> None:
    text, _, _ = PAGES[name].read_text("utf-8").partition("\n## Run it\n")
    assert 1 <= len({step.path for step in steps(text)}) <= TOUCHED


def test_the_index_names_every_recipe() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert [name for name in PAGES if f"(recipes/{name}.md)" not in index] == []
