"""The model of products against what a GPU took: bench/results/gpu."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import session
from gpucodegen.tiling.machine.gpu.devices import DEVICES
from gpucodegen.tiling.machine.gpu.product_plan import offered, plan_contraction
from gpucodegen.tiling.machine.gpu.product_tiles import WarpgroupTiles
from gpucodegen.tiling.machine.gpu.product_work import Product
from gpucodegen.tiling.machine.plan_space import point_of
from gpucodegen.tiling.tuning.calibration import rank_correlation

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


def convolution(extents: Mapping[str, int]) -> Product:
    """The rows are pixels; a line of terms is what lies side by side at a window's row.

    ``extents``: images B, rows and columns of the result H, channels C and F, taps R.
    """
    b, h, c, f, r = (extents[name] for name in "BHCFR")
    known: dict[str, Any] = {
        "widths": (8, 8),
        "plain": False,
        "result": 2,
        "read": b * (h + r - 1) ** 2 * c + r * r * c * f,
        "lines": (r * c, 0),
    }
    axes: dict[str, Any] = {"row_axes": (b, h, h), "term_axes": (r, r * c)}
    copies: dict[str, Any] = {"direct": (True, True), "boxes": True, "stores": True}
    sides = b * h * h, f, r * r * c
    fragments = Product(*sides, element=2, **copies, **axes, **known)
    return Product(*sides, fragments=fragments, **known)


def estimated(product: Product, wanted: Mapping[str, int]) -> float:
    """Clocks of the plan that fits: the cheapest, as the planner takes it."""
    device = DEVICES["H100"]
    plans, clocks = offered(product, splits=(1,), device=device, warpgroups=True)
    fitting = [
        clocks[plan]
        for plan in plans
        if wanted.items() <= point_of("product", plan).items()
    ]
    return min(fitting)


@pytest.mark.cases("row", MEASURED["plans"], parts=3)
def test_estimates_are_near_what_was_measured(row: Mapping[str, Any]) -> None:
    expected = estimated(product(row["element"]), row["plan"])
    assert 0.88 < row["best"] * 1e-6 * CLOCK / expected < 1.2


def rows_of(element: str, field: str) -> list[Mapping[str, Any]]:
    """Those whose plans are of the kind that has such a field."""
    of_element = (row for row in MEASURED["plans"] if row["element"] == element)
    return [row for row in of_element if f"product.{field}" in row["plan"]]


@pytest.mark.cases(
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
    clocks = [estimated(product(element), row["plan"]) for row in rows]
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


LAYERS: Sequence[Mapping[str, Any]] = MEASURED["convolutions"]
NAMES = [layer["row"] for layer in LAYERS]


@pytest.mark.parametrize("layer", LAYERS, ids=NAMES)
def test_estimates_of_convolutions(layer: Mapping[str, Any]) -> None:
    """The kernels of `mma.sync` are those that an estimate is furthest from."""
    image = convolution(layer["extents"])
    for row in layer["plans"]:
        ratio = row["best"] * 1e-6 * CLOCK / estimated(image, row["plan"])
        furthest = 1.26 if "product.consumers" in row["plan"] else 1.3
        assert 0.95 < ratio < furthest, row["plan"]


@pytest.mark.parametrize("layer", LAYERS, ids=NAMES)
def test_plans_of_convolutions_are_ranked_as_measured(layer: Mapping[str, Any]) -> None:
    """All of them, of warpgroups and not."""
    image = convolution(layer["extents"])
    rows = sorted(layer["plans"], key=lambda row: row["best"])
    clocks = [estimated(image, row["plan"]) for row in rows]
    assert clocks == sorted(clocks)


@pytest.mark.parametrize("layer", LAYERS, ids=NAMES)
def test_the_choice_for_a_convolution(layer: Mapping[str, Any]) -> None:
    """The fastest of those measured, with as few turns as let all blocks run at once.

    The layer of 64 channels was measured with four turns, which leave some
    multiprocessors twice the work of others.
    """
    image = convolution(layer["extents"])
    plan = plan_contraction(image, device=DEVICES["H100"], warpgroups=True)
    assert isinstance(plan, WarpgroupTiles)
    fastest = min(layer["plans"], key=lambda row: row["best"])
    turns = fastest["plan"]["product.turns"]
    same = {**fastest["plan"], "product.turns": plan.turns}
    assert same.items() <= point_of("product", plan).items()
    assert plan.turns == 3 <= turns


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "extents",
    [
        {"B": 32, "H": 56, "C": 8, "F": 8, "R": 3},
        {"B": 1, "H": 14, "C": 16, "F": 512, "R": 1},
    ],
    ids=["few channels", "few terms"],
)
def test_warpgroups_are_chosen_only_where_they_are_estimated_to_be_faster(
    extents: Mapping[str, int],
) -> None:
    image = convolution(extents)
    plans = {
        way: plan_contraction(image, device=DEVICES["H100"], warpgroups=way)
        for way in (False, True)
    }
    clocks = {
        way: estimated(image, point_of("product", plan)) for way, plan in plans.items()
    }
    assert clocks[True] <= clocks[False]
    assert not isinstance(plans[True], WarpgroupTiles)
