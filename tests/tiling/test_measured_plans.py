"""The model of products against what a GPU took: bench/results/gpu."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench import session
from gpucodegen.tiling.machine.gpu.devices import DEVICES
from gpucodegen.tiling.machine.gpu.products.plan import _priced, plan_contraction
from gpucodegen.tiling.machine.gpu.products.product_work import Product
from gpucodegen.tiling.machine.menu import point_of
from gpucodegen.tiling.tuning.ranks import rank_correlation

RESULTS = Path(session.__file__).parent / "results" / "gpu"
MEASURED: Mapping[str, Any] = json.loads(
    (RESULTS / "plans-h100-2026-11-27.json").read_text(encoding="utf-8")
)
CLOCK = 1.8e9
"""Hertz, about: 1.63e9 under the fastest kernel, 1.98e9 under those of f32."""


def product(element: str) -> Product:
    sides: Any = MEASURED["extents"]
    if element == "f32":
        direct = {"widths": (4, 4), "direct": (False, True), "result": 4}
        return Product(*sides, turned=(True, False), plain=True, **direct)
    halves: dict[str, Any] = {"widths": (8, 8), "turned": (True, False), "plain": True}
    halves["result"] = 4 if element.endswith("f32") else 2
    fragments = Product(
        *sides, element=2, direct=(True, True), boxes=True, stores=True, **halves
    )
    return Product(*sides, fragments=fragments, **halves)


def estimated(element: str, wanted: Mapping[str, int]) -> float:
    """Clocks of the plan that fits: the cheapest, as the planner takes it."""
    plans = _priced(
        product(element), splits=(1,), device=DEVICES["H100"], warpgroups=True
    )
    fitting = [
        clocks
        for plan, clocks in plans.items()
        if wanted.items() <= point_of("product", plan).items()
    ]
    return min(fitting)


PAIRS = [
    pytest.param(
        estimated(row["element"], row["plan"]),
        row["best"] * 1e-6 * CLOCK,
        id=" ".join(map(str, (row["element"], *row["plan"].values()))),
    )
    for row in MEASURED["plans"]
]


@pytest.mark.parametrize(("expected", "measured"), PAIRS)
def test_estimates_are_near_what_was_measured(expected: float, measured: float) -> None:
    assert 0.88 < measured / expected < 1.2


def rows_of(element: str, field: str) -> list[Mapping[str, Any]]:
    """Those whose plans are of the kind that has such a field."""
    of_element = (row for row in MEASURED["plans"] if row["element"] == element)
    return [row for row in of_element if f"product.{field}" in row["plan"]]


@pytest.mark.parametrize(
    ("element", "field"),
    [
        ("f16", "consumers"),
        ("f16>f32", "consumers"),
        ("f16", "warp_rows"),
        ("f32", "thread_rows"),
    ],
)
def test_plans_are_ranked_as_measured(element: str, field: str) -> None:
    rows = rows_of(element, field)
    clocks = [estimated(element, row["plan"]) for row in rows]
    correlation = rank_correlation(clocks, [row["best"] for row in rows])
    assert correlation is not None
    assert correlation > 0.9
    cheapest = clocks.index(min(clocks))
    assert rows[cheapest]["best"] < 1.01 * min(row["best"] for row in rows)


@pytest.mark.parametrize(
    ("element", "field"),
    [("f16", "consumers"), ("f16>f32", "consumers"), ("f16", "warp_rows")],
)
def test_the_choice_is_the_fastest_of_those_measured(element: str, field: str) -> None:
    """With the warpgroups of sm_90a, and without."""
    plan = plan_contraction(
        product(element), device=DEVICES["H100"], warpgroups=field == "consumers"
    )
    fastest = min(rows_of(element, field), key=lambda row: row["best"])
    assert fastest["plan"].items() <= point_of("product", plan).items()
