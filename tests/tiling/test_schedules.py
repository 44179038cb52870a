from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from schedule_oracle import assert_equivalent, nest_of
from stencils import FDTD, SEIDEL, SEIDEL_9, STENCILS, sweeps
from tiling_nests import nests, scops
from tiling_samples import MATMUL, TRIANGULAR_SOLVE, nest

from gpucodegen.tiling.model.isl import Limits
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Scop, statements
from gpucodegen.tiling.proof.dependences import dependences
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.isl_ast import generate
from gpucodegen.tiling.schedule.isl_scheduler import find_schedule, schedule_steps
from gpucodegen.tiling.schedule.schedule import Schedule, Unit, UnitNest
from gpucodegen.tiling.schedule.skewing import SkewedBand, find_band, skewed, wavefront

SIZES = ({"T": 5, "N": 6}, {"T": 3, "N": 9})


def check(
    scop: Scop, schedule: Schedule | Refusal, found: UnitNest, *sizes: dict
) -> None:
    assert isinstance(schedule, Schedule), schedule
    nodes = generate(found, schedule)
    assert nodes is not None
    for size in sizes:
        assert_equivalent(scop, schedule, nodes, **size)


def tiled(
    scop: Scop, sizes: tuple[int, ...], chains: int = 0
) -> tuple[UnitNest, Schedule | Refusal]:
    found = nest_of(scop)
    band = find_band(found)
    assert isinstance(band, SkewedBand), band
    return found, wavefront(found, band, sizes, chains)


@pytest.mark.slow
@pytest.mark.cases(
    ("sizes", "chains"), [((2, 3), 0), ((2, 3, 4), 2), ((1, 1), 3), ((1, 2), 1)]
)
@pytest.mark.cases("name", STENCILS)
def test_wavefronts_run_every_instance_in_order(
    name: str, sizes: tuple[int, ...], chains: int
):
    scop = STENCILS[name]
    if name == "jacobi-1d":
        sizes = sizes[:2]
    found, schedule = tiled(scop, sizes, chains)
    check(scop, schedule, found, *SIZES)


@pytest.mark.parametrize("name", STENCILS)
@pytest.mark.sampled(3)
def test_skewed_loops_run_every_instance_in_order(name: str):
    found = nest_of(STENCILS[name])
    check(STENCILS[name], skewed(found), found, *SIZES)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(STENCILS.keys() - {"heat-3d"}))
def test_the_scheduler_of_isl_keeps_order(name: str):
    found = nest_of(STENCILS[name])
    check(STENCILS[name], find_schedule(found), found, *SIZES)


BANDS = {
    "seidel": ((), (1,), (1, 0)),
    "seidel-9": ((), (1,), (2, 1)),
    "jacobi-1d": ((), (2,)),
    "jacobi-2d": ((), (2,), (2, 0)),
    "fdtd-2d": ((), (1,), (1, 0)),
    "heat-3d": ((), (2,), (2, 0), (2, 0, 0)),
}


@pytest.mark.cases("name", STENCILS)
def test_the_smallest_skews_are_found(name: str):
    band = find_band(nest_of(STENCILS[name]))
    assert isinstance(band, SkewedBand)
    assert band.factors == BANDS[name]


def test_statements_are_shifted_against_each_other():
    band = find_band(nest_of(FDTD))
    assert isinstance(band, SkewedBand)
    assert list(band.shifts.values()) == [(0, 0, 0)] * 3 + [(0, 1, 1)]


def test_a_chain_of_dependences_runs_along_a_diagonal():
    _, schedule = tiled(SEIDEL_9, (4, 4))
    assert isinstance(schedule, Schedule)
    assert schedule.times["S0"][2:] == ("t", "j + 2*i", "i")


def test_given_factors_that_are_too_small_are_refused_with_a_witness():
    refusal = skewed(nest_of(SEIDEL_9), (1, 1, 1))
    assert isinstance(refusal, Refusal)
    assert "backward along loop j" in refusal.reason
    assert refusal.witness is not None


def test_given_factors_may_be_larger_than_needed():
    found = nest_of(SEIDEL)
    check(SEIDEL, skewed(found, (2, 1, 1)), found, *SIZES)


def test_the_number_of_factors_is_checked():
    refusal = skewed(nest_of(SEIDEL), (1,))
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "3 loops take 3 factors, not 1"


def test_a_band_without_skew():
    band = find_band(nest_of(MATMUL))
    assert isinstance(band, SkewedBand)
    assert not band.skewed


REVERSED = nest(
    """
for t in 0..T
  for i in 0..N
    A[i] = A[N - 1 - i]
""",
    "T N",
)


def test_distances_without_bound_have_no_skew():
    band = find_band(nest_of(REVERSED))
    assert isinstance(band, Refusal)
    assert band.reason == "no skew makes loop i permutable"


def parts_of_rows(shift: int) -> Scop:
    """Loops over parts of rows; the last one reads ``shift`` elements further left."""
    return nest(
        f"""
for i in 0..7
  for j in 0..66
    B[i,j] = A[i,j] C[i,j]
  for k in 26..43
    B[i,k] = C[i,k - 26] B[i,k]
  for l in 20..64
    B[i,l] = A[i,l] C[i,l]
  for m in 22..50
    B[i,m] = A[i,m] C[i,m]
  for n in 40..50
    A[i,n] = B[i,n - {shift}] C[i,n]
"""
    )


@pytest.mark.sampled(5)
@pytest.mark.cases("shift", [1, 15, 16, 30, 40])
def test_distances_like_extents_end(shift: int):
    """Minimising such distances does not end in isl."""
    scop = parts_of_rows(shift)
    found = nest_of(scop)
    check(scop, find_schedule(found), found, {})


def sums_of_rows(first: int, last: int, extent: int) -> Scop:
    """Sums of a part of each row and of the whole row, among copies."""
    return nest(
        f"""
for i in 0..9
  for j in 0..{extent}
    C[i,j] = A[i,j]
  for k in {first}..{last}
    s[i] = s[i] C[i,k]
  for l in 0..{extent}
    A[i,l] = A[i,l] B[i,l]
  for m in 0..{extent}
    A[i,m] = C[i,m]
  for n in 0..{extent}
    s[i] = s[i] C[i,n]
"""
    )


@pytest.mark.slow
@pytest.mark.cases("part", [(30, 33, 40), (3, 9, 60), (11, 12, 100)])
def test_sums_of_a_part_and_of_the_whole_end(part: tuple[int, int, int]):
    """Distances between the sums range over the extent."""
    scop = sums_of_rows(*part)
    found = nest_of(scop)
    check(scop, find_schedule(found), found, {})


def test_statements_around_the_loops_of_others():
    band = find_band(nest_of(TRIANGULAR_SOLVE))
    if isinstance(band, SkewedBand):
        found, schedule = tiled(TRIANGULAR_SOLVE, (2, 2))
        check(TRIANGULAR_SOLVE, schedule, found, {"N": 5}, {"N": 8})


def test_without_an_answer_nothing_is_decided():
    built = model(SEIDEL_9, Limits(0))
    units = tuple(Unit((s.name,)) for s in statements(SEIDEL_9.body))
    found = UnitNest(built, dependences(built), units)
    schedule = skewed(found)
    assert isinstance(schedule, Schedule)
    built.solver.limits = Limits(2)
    assert generate(found, schedule) is None
    for plan in (skewed, find_schedule):
        refusal = plan(found)
        assert isinstance(refusal, Refusal)
        assert refusal.undecided


def in_wavefronts(found: UnitNest) -> Schedule | Refusal:
    band = find_band(found)
    return wavefront(found, band, (2, 3)) if isinstance(band, SkewedBand) else band


def in_chains(found: UnitNest) -> Schedule | Refusal:
    band = find_band(found)
    return wavefront(found, band, (1, 2), 2) if isinstance(band, SkewedBand) else band


PLANS = {
    "skewed": skewed,
    "wavefronts": in_wavefronts,
    "chains": in_chains,
    "isl": find_schedule,
    "steps": schedule_steps,
}


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
@settings(nests, max_examples=60)
@given(scop=scops())
def test_random_nests_keep_their_order(plan: str, scop: Scop):
    found = nest_of(scop)
    if not found.units:
        return
    schedule = PLANS[plan](found)
    nodes = generate(found, schedule) if isinstance(schedule, Schedule) else None
    if isinstance(schedule, Schedule) and nodes is not None:
        assert_equivalent(scop, schedule, nodes)


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
@settings(nests, max_examples=40)
@given(scop=sweeps())
def test_random_time_loops_keep_their_order(plan: str, scop: Scop):
    found = nest_of(scop)
    schedule = PLANS[plan](found)
    assume(not (isinstance(schedule, Refusal) and "no skew" in schedule.reason))
    check(scop, schedule, found, {"T": 4, "N": 6}, {"T": 3, "N": 7})
