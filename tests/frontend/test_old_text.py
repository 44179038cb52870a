"""The page on old text says what the parser does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpucodegen.parser import parse_module

PAGE = Path(__file__).parents[2] / "docs" / "old-text.md"
PAIRS = re.findall(
    r"```mlir old\n(.*?)```\s*```mlir today\n(.*?)```", PAGE.read_text(), re.DOTALL
)


@pytest.mark.parametrize(("old", "today"), PAIRS)
def test_old_text_prints_as_today(old: str, today: str):
    assert f"{parse_module(old)}\n" == today
    assert f"{parse_module(today)}\n" == today


def test_page_has_its_pairs():
    assert len(PAIRS) == 2
