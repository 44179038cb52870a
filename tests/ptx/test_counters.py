"""Counters against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx.execution.counting import cost
from tests.ptx.kernels import GLOBAL_ID, entry, launch

PATTERNS = {
    "one word each": lambda lane: 4 * lane,
    "two words apart": lambda lane: 8 * lane,
    "a column of 32": lambda lane: 128 * lane,
    "a column of 33": lambda lane: 132 * lane,
    "one for all": lambda lane: 64 + 0 * lane,
    "pairs": lambda lane: 4 * (lane // 2),
    "backwards": lambda lane: 4 * (31 - lane),
    "a part of the warp": lambda lane: -1 if lane % 3 else 20 * lane,
    "scattered": lambda lane: 4 * (lane * lane * 7 % 1000),
}


def enumerated(places: list[int]) -> tuple[int, int]:
    """(sectors, wavefronts) of accesses of four bytes, by sets."""
    live = [place for place in places if place >= 0]
    banks: dict[int, set[int]] = {}
    for place in live:
        banks.setdefault(place // 4 % 32, set()).add(place)
    return len({place // 32 for place in live}), max(map(len, banks.values()))


@pytest.mark.parametrize("name", PATTERNS)
def test_words(name: str) -> None:
    places = [PATTERNS[name](lane) for lane in range(32)]
    rows = np.array([places])
    assert (cost.sectors(rows), cost.wavefronts(rows, 4)) == enumerated(places)
    assert cost.wavefronts(rows, 4) >= cost.least_wavefronts(rows, 4)


@pytest.mark.parametrize(
    ("width", "stride", "turns"),
    [(8, 8, 2), (16, 16, 4), (8, 16, 4), (16, 0, 2), (8, 0, 1), (16, 128, 32)],
)
def test_vectors_go_in_phases(width: int, stride: int, turns: int) -> None:
    assert cost.wavefronts(np.arange(32)[None] * stride, width) == turns


def test_instructions_and_operations_of_a_launch() -> None:
    body = (
        GLOBAL_ID
        + """ld.param.u64 %d1, [k_0]; mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    ld.global.f32 %f1, [%d3]; fma.rn.f32 %f2, %f1, %f1, %f1;
    setp.lt.u32 %p1, %r1, 40; @%p1 bra $L; mul.f32 %f2, %f2, %f1;
$L: st.global.f32 [%d3], %f2; ret;"""
    )
    run = launch(entry("u64", body), 3, 64, np.ones(192, "f4"), measure=True)
    assert run.counters is not None
    warps, lanes = run.counters.instructions(), run.counters.instructions("lanes")
    assert (warps["fma.rn.f32"], lanes["fma.rn.f32"]) == (6, 192)
    assert (warps["mul.f32"], lanes["mul.f32"]) == (3, 72)
    totals = run.totals()
    assert totals["flops"] == 2 * 192 + 72
    assert totals["global requests"] == 12
    assert totals["global cost"] == totals["global ideal"] == 2 * 24
    assert totals["global bytes"] == 2 * 192 * 4


def test_nothing_is_counted_unless_asked() -> None:
    run = launch(entry("", "ret;"), 1, 32)
    assert (run.totals(), run.table()) == ({}, "")
