"""The plans that the GPU's planners choose among are what tuning may ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.compiling.targets.registry import check_plan
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from gpucodegen.tiling.machine.gpu.product_tiles import CANDIDATES, THREE_QUARTERS
from gpucodegen.tiling.machine.plan_space import point_of
from gpucodegen.tuning.schedules import Schedules, schedules
from tests.made.tuned import PROGRAMS, Tuned

KINDS = {
    "relu": {"stream"},
    "row sum": {"parts", "rows"},
    "transpose": {"turned"},
    "column sum": {"parts", "columns"},
    "steps": {"team"},
    "jacobi": {"time"},
    "convolution": {"product"},
    "matmul f32": {"product"},
}


def found(program: Tuned) -> Schedules:
    compiled = gcg.compile(program.text, target="sim", **program.options)
    return schedules(compiled, "f", program.arguments())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", list(KINDS))
def test_each_kind_of_kernel_reports_the_fields_of_its_plans(name: str) -> None:
    knob = found(PROGRAMS[name]).knob
    assert knob.option == "plan"
    assert {field.partition(".")[0] for field in knob.values} == KINDS[name]
    assert all(0 in values for values in knob.values.values())
    check_plan((field, 1) for field in knob.values)


def test_the_candidates_of_the_planner_are_the_space() -> None:
    knob = found(PROGRAMS["matmul f32"]).knob
    fields = "tile_rows", "tile_columns", "thread_rows", "thread_columns"
    wanted, sometimes = (
        {
            tuple(point_of("product", plan)[f"product.{name}"] for name in fields)
            for plan in plans
        }
        for plans in (CANDIDATES, THREE_QUARTERS)
    )
    (menu,) = knob.menus
    on_offer = {
        tuple(point[f"product.{name}"] for name in fields) for point in menu.points
    }
    assert wanted <= on_offer <= wanted | sometimes
    assert menu.clocks[menu.nearest({})] == min(menu.clocks)


def test_what_no_plan_has_is_illegal_and_never_compiled() -> None:
    space = found(PROGRAMS["matmul f32"]).space
    default = dict.fromkeys(space.dimensions, 0)
    point = {**default, "product.tile_rows": 128, "product.thread_rows": 2}
    assert "product.thread_rows=2" in str(space.objection(point))
    assert space.objection({**default, "product.tile_rows": 128}) is None


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", list(KINDS))
def test_the_plans_least_like_the_default_leave_its_numbers(name: str) -> None:
    program = PROGRAMS[name]
    knob = found(program).knob
    for point in (knob.ranked()[0], knob.ranked()[-1]):
        plan = {field: size for field, size in point.items() if size}
        given = program.arguments()
        made = gcg.compile(program.text, target="sim", plan=plan, **program.options)
        made.f(*given)
        np.testing.assert_allclose(given[-1], program.expected(), rtol=2e-3)


def test_a_plan_is_an_option_of_the_pass_that_maps() -> None:
    program = PROGRAMS["relu"]
    compiled = gcg.compile(program.text, target="sim", plan={"stream.width": 2})
    compiled.f(*program.arguments())
    stages = compiled.stages("f")
    at = next(n for n, (name, _) in enumerate(stages) if name == "map-gpu")
    text = "map-gpu{plan=[stream.width,2]}"
    (pass_,) = parse_pipeline(text)
    assert str(pass_) == text
    before = gcg.parse(stages[at - 1][1])
    assert str(run_pipeline(before, [pass_])).strip() == stages[at][1].strip()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "value": ({"stream.width": 3}, "It may be 1, 2, 4"),
    "together": ({"stream.width": 1, "stream.columns": 2}, "It may be|together"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_plan_that_is_not_on_offer_is_an_error(case: str) -> None:
    plan, remedy = REFUSED[case]
    program = PROGRAMS["relu"]
    made = gcg.compile(program.text, target="sim", plan=plan)
    with pytest.raises(errors.InvalidPassOption, match=remedy):
        made.f(*program.arguments())


@pytest.mark.parametrize("target", ["cpu", "sim", "auto"])
@pytest.mark.cases(
    ("name", "near"),
    [
        ("stream.widht", "stream.width"),
        ("tiem0", "time0.tiled"),
        ("time0.stesp", "time0.steps"),
        ("ordre3", "order0"),
        ("qqq", "Fields are those of bulk"),
    ],
)
def test_a_name_that_no_target_has_is_refused_with_near_ones(
    name: str, near: str, target: str
) -> None:
    with pytest.raises(errors.InvalidOption, match=near):
        gcg.compile(PROGRAMS["relu"].text, target=target, plan={name: 2})


def test_the_cpu_allows_plans_of_a_gpu() -> None:
    program = PROGRAMS["relu"]
    given = program.arguments()
    gcg.compile(program.text, target="cpu", plan={"stream.width": 2}).f(*given)
    np.testing.assert_allclose(given[-1], program.expected())


@pytest.mark.parametrize("plan", [{"stream.width": -1}, {"stream.width": "4"}, 7])
def test_a_plan_is_names_and_numbers(plan: object) -> None:
    with pytest.raises(errors.InvalidOption, match="plan"):
        gcg.compile(PROGRAMS["relu"].text, target="sim", plan=plan)


def test_a_stored_plan_that_is_not_on_offer_becomes_the_nearest_one() -> None:
    """A winner of other extents in its bucket may be one."""
    program = PROGRAMS["relu"]
    compiled = gcg.compile(program.text, target="sim", plan={"stream.width": 4})
    compiled.f(*program.arguments())
    stages = compiled.stages("f")
    at = next(n for n, (name, _) in enumerate(stages) if name == "map-gpu")
    before, wanted = gcg.parse(stages[at - 1][1]), "stream.width,4,stream.groups,64"
    (pass_,) = parse_pipeline(f"map-gpu{{plan=[{wanted}],strict=false}}")
    assert str(run_pipeline(before, [pass_])).strip() == stages[at][1].strip()
