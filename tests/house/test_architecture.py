"""The architecture page names files and definitions that exist."""

from __future__ import annotations

import re

import pytest

from tests.house.readme import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROWS = [row for row in PAGE.splitlines() if row.startswith("| ") and "`" in row]
NAMED = [path for path in re.findall(r"`([\w/]+\.py)`", PAGE) if "/" in path]


@pytest.mark.parametrize("path", sorted(set(NAMED)))
def test_a_named_file_exists(path: str) -> None:
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:40])
def test_the_answer_to_a_question_defines_its_names(row: str) -> None:
    names = set(re.findall(r"`([A-Za-z_]+)`", row)) - {"Refusal", "tile_sizes"}
    paths = [path for path in re.findall(r"`([\w/]+\.py)`", row) if "/" in path]
    texts = "\n".join((ROOT / path).read_text("utf-8") for path in paths)
    for name in names:
        pattern = rf"^(?:def|class) {name}\b|^{name}\b.* = "
        assert re.search(pattern, texts, re.MULTILINE), name
