"""docs/layout.md is the plan of the house: it names every folder, once."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.house import import_graph as house
from tests.house.readme import ROOT

PAGE = (ROOT / "docs" / "layout.md").read_text("utf-8").splitlines()
FOLDERS = [path for path in house.folders() if path != house.PRODUCT]
MOST = 12
"""Entries of a folder."""
LARGE = {
    "": "the architecture itself, a row of the page for each",
    "dialects": "one folder for each dialect",
}


def test_the_page_fits_a_screen() -> None:
    assert len(PAGE) <= 70
    assert max(map(len, PAGE)) <= 110


def test_the_page_names_every_folder_once() -> None:
    named = Counter(house.planned_folders())
    there = {f"{path.relative_to(house.PRODUCT).as_posix()}/" for path in FOLDERS}
    assert {name for name, count in named.items() if count > 1} == set()
    assert set(named) - there == set()
    assert there - set(named) == set()


def test_no_folder_has_more_than_a_dozen_entries() -> None:
    found = {
        path.relative_to(house.PRODUCT).as_posix().strip("."): house.entries(path)
        for path in house.folders()
    }
    assert {name for name, names in found.items() if len(names) > MOST} == set(LARGE)


def test_no_folder_has_a_single_module() -> None:
    """A dialect may: its folder is where others look for it."""
    dialects = house.PRODUCT / "dialects"
    lonely = [path for path in FOLDERS if len(house.entries(path)) < 2]
    assert [path for path in lonely if path.parent != dialects] == []


@pytest.mark.parametrize(
    "folder", FOLDERS, ids=lambda path: path.relative_to(house.PRODUCT).as_posix()
)
def test_a_package_lists_its_rooms(folder: house.Path) -> None:
    """Its docstring names all modules and folders in it, as `name`."""
    names = [entry.removesuffix("/") for entry in house.entries(folder)]
    text = (folder / "__init__.py").read_text("utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    if len(names) > 2:
        assert [name for name in names if f"`{name}`" not in docstring] == []
