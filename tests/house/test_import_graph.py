"""Modules import rows of docs/layout.md that are above their own, without cycles."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.house import import_graph as house
from tests.house.readme import ROOT

FLOORS = house.floors()
ORDER = list(FLOORS)


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Of the product: parsed once, and not while tests are collected."""
    return house.trees()


@pytest.fixture(scope="module")
def graph(trees: dict[str, ast.Module]) -> house.Graph:
    return house.graph(trees)


def test_the_page_names_every_folder_once() -> None:
    named = Counter(house.planned_folders())
    folders = {path.relative_to(house.PRODUCT).as_posix() for path in house.folders()}
    assert {name for name, count in named.items() if count > 1} == set()
    assert set(named) == {f"{folder}/" for folder in folders - {"."}}


def contracts() -> list[dict[str, object]]:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return tomllib.loads(text)["tool"]["importlinter"]["contracts"]


@pytest.mark.slow
def test_no_circle_of_modules(graph: house.Graph) -> None:
    assert house.cycles(graph) == []


@pytest.mark.slow
def test_no_arrow_up(graph: house.Graph) -> None:
    """A row imports rows above it on the page; the package itself stands on all."""
    place = {name: number for number, name in enumerate(ORDER)}
    place |= {"": len(ORDER), "__main__": len(ORDER)}
    up = {
        (module, target)
        for module, targets in graph.items()
        for target in targets
        if place[house.row(module)] < place[house.row(target)]
    }
    assert up == set()


@pytest.mark.slow
def test_no_arrow_up_inside_passes(graph: house.Graph) -> None:
    """A folder of passes imports those that stand above it on the page."""
    names = [name.split("/")[1] for _, name in house.ROWS if name.startswith("passes/")]
    place = {name: number for number, name in enumerate(dict.fromkeys(names))}

    def folder(module: str) -> int:
        parts = module.split(".")
        return place[parts[2]] if parts[1:2] == ["passes"] and len(parts) > 3 else -1

    up = {
        (module, target)
        for module, targets in graph.items()
        for target in targets
        if -1 < folder(module) < folder(target)
    }
    assert up == set()


def test_the_page_has_a_row_for_everything_at_the_top() -> None:
    top = [entry.removesuffix("/") for entry in house.entries(house.PRODUCT)]
    assert sorted(ORDER) == sorted(top)
    assert all(low <= high for low, high in pairwise(FLOORS.values()))


def test_the_contract_of_layers_has_the_order_of_the_page() -> None:
    (layers,) = (c["layers"] for c in contracts() if c["type"] == "layers")
    assert isinstance(layers, list)
    named = [re.findall(r"\w+", str(layer)) for layer in layers]
    assert [name for layer in reversed(named) for name in layer] == ORDER
    assert not [layer for layer in layers if ":" in str(layer)]


def drawn(tmp_path: Path, **texts: str) -> house.Graph:
    (tmp_path / "__init__.py").touch()
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    return house.graph(house.trees(tmp_path))


def test_every_import_counts(tmp_path: Path) -> None:
    name = tmp_path.name
    graph = drawn(
        tmp_path,
        a=f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n from {name} import b",
        b=f"def f():\n    from {name}.c import g",
        c=f"import {name}.a",
        d=f"from {name}.a import b",
    )
    circle = [f"{name}.{letter}" for letter in "abc"]
    assert house.cycles(graph) == [circle]
    assert graph[f"{name}.d"] == {f"{name}.a"}


def relative(tree: ast.Module) -> bool:
    statements = house.statements(tree.body)
    return any(isinstance(n, ast.ImportFrom) and n.level for n in statements)


@pytest.mark.slow
def test_imports_are_absolute(trees: dict[str, ast.Module]) -> None:
    """So that the graph need not resolve others."""
    assert relative(ast.parse("from .a import b"))
    assert [name for name, tree in trees.items() if relative(tree)] == []
