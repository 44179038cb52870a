"""Modules import rows of docs/layout.md that are above their own, without cycles."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from graphlib import TopologicalSorter
from itertools import pairwise

import pytest

from tests.house import import_graph as house
from tests.house.readme import ROOT

FLOORS = house.floors()
ORDER = list(FLOORS)


@pytest.fixture(scope="module")
def graph() -> house.Graph:
    """Of the product: made once, and not while tests are collected."""
    return house.graph()


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
    TopologicalSorter(graph).prepare()  # raises a CycleError that names the modules


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


@pytest.mark.slow
def test_every_import_counts(graph: house.Graph) -> None:
    """One in a function, and one for type checkers only."""
    found = graph["gpucodegen.api"]
    assert {"gpucodegen.program", "gpucodegen.checking"} <= found
