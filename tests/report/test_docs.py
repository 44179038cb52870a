"""The pictures of the documentation are what the command draws today.

``pytest tests/report --update-golden`` draws them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gpucodegen.cli import main
from tests.house.readme import ROOT

FOLDER = ROOT / "docs" / "pictures"
JUDGED = ROOT / "docs" / "how-a-nest-is-judged.md"
PAGES = (JUDGED, ROOT / "docs" / "how-a-nest-becomes-a-grid.md")
RECIPES = dict(
    line.split(": ", 1)
    for line in (FOLDER / "pictures.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)


@pytest.mark.sampled(3, long=("matmul-kernel",))
@pytest.mark.parametrize("name", RECIPES)
def test_picture_is_up_to_date(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
):
    file, *options = RECIPES[name].split()
    drawn = tmp_path / "drawn.svg"
    source = str((FOLDER / file).resolve())
    assert main(["explain", source, "--svg", *options, "-o", str(drawn)]) == 0
    kept = FOLDER / f"{name}.svg"
    text = drawn.read_text(encoding="utf-8")
    if request.config.getoption("--update-golden", default=False):
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8")


def test_every_picture_has_a_recipe_and_is_shown():
    drawn = {path.stem for path in FOLDER.glob("*.svg")}
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert drawn == set(RECIPES)
    assert [name for name in RECIPES if f"](pictures/{name}.svg)" not in shown] == []


@pytest.mark.cases("path", sorted(FOLDER.glob("*.mlir")), ids=lambda p: p.stem)
def test_the_page_shows_what_is_drawn(path: Path):
    page = JUDGED.read_text(encoding="utf-8").splitlines()
    shown = "\n".join(line.removeprefix("... ") for line in page)
    assert path.read_text(encoding="utf-8") in shown
