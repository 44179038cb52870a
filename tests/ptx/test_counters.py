"""Counters against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx.execution import cost
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


@pytest.mark.cases("name", PATTERNS)
def test_words(name: str) -> None:
    places = [PATTERNS[name](lane) for lane in range(32)]
    rows = np.array([places])
    assert (cost.sectors(rows), cost.wavefronts(rows, 4)) == enumerated(places)
    assert cost.wavefronts(rows, 4) >= cost.least_wavefronts(rows, 4)


@pytest.mark.cases(
    ("width", "stride", "turns"),
    [(8, 8, 2), (16, 16, 4), (8, 16, 4), (16, 0, 2), (8, 0, 1), (16, 128, 32)],
)
def test_vectors_go_in_phases(width: int, stride: int, turns: int) -> None:
    assert cost.wavefronts(np.arange(32)[None] * stride, width) == turns


GATHER = """
    ld.param.u64 %d1, [k_0]; mul.wide.s32 %d3, %r4, 4; add.s64 %d4, %d1, %d3;
    ld.global.b32 %r5, [%d4]; ld.param.u64 %d2, [k_1]; cvt.u64.u32 %d5, %r5;
    add.s64 %d6, %d2, %d5; mov.u32 %r6, tile; add.s32 %r7, %r6, %r5;
    mov.u32 %r10, 1; mov.f64 %g1, 0d3FF0000000000000; mov.u16 %h1, 1;
"""
"""Every thread's offset is read from a table: %d6 and %r7 lie there."""
ACCESSES = {
    "ld.global.u32": ("ld.global.u32 %r11, [%d6]", 4),
    "ld.global.u8": ("ld.global.u8 %h2, [%d6]", 1),
    "ld.global.v2.u32": ("ld.global.v2.u32 {%r11, %r12}, [%d6]", 8),
    "ld.global.v4.u32": ("ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%d6]", 16),
    "ld.global.f64": ("ld.global.f64 %g2, [%d6]", 8),
    "st.global.u32": ("st.global.u32 [%d6], %r10", 4),
    "red.global.add.u32": ("red.global.add.u32 [%d6], %r10", 4),
    "st.shared.u16": ("st.shared.u16 [%r7], %h1", 2),
    "st.shared.u32": ("st.shared.u32 [%r7], %r10", 4),
    "st.shared.f64": ("st.shared.f64 [%r7], %g1", 8),
    "st.shared.v2.u32": ("st.shared.v2.u32 [%r7], {%r10, %r10}", 8),
    "st.shared.v4.u32": ("st.shared.v4.u32 [%r7], {%r10, %r10, %r10, %r10}", 16),
    "red.shared.add.u32": ("red.shared.add.u32 [%r7], %r10", 4),
}
"""Instructions, and the bytes of one access."""
OFFSETS = {
    "one after the other": lambda t, w: w * t,
    "two apart": lambda t, w: 2 * w * t,
    "four apart": lambda t, w: 4 * w * t,
    "32 apart": lambda t, w: 32 * w * t,
    "four bytes off": lambda t, w: w * t + max(4, w),
    "all alike": lambda t, w: 64 + 0 * t * w,
    "pairs alike": lambda t, w: w * (t // 2),
    "a tile's columns": lambda t, w: w * (t % 8 * 32 + t // 8),
    "padded columns": lambda t, w: w * (t % 8 * 33 + t // 8),
    "reversed": lambda t, w: w * (63 - t),
    "scattered": lambda t, w: w * (t * t * 7 % 61),
    "every third": lambda t, w: w * t if t % 3 == 0 else None,
    "none of the second warp": lambda t, w: w * t if t < 32 else None,
}


def sectors_of(offsets: list[int], width: int) -> int:
    """Stretches of 32 bytes in which a byte is asked for."""
    return len({at // 32 for start in offsets for at in range(start, start + width)})


def wavefronts_of(offsets: list[int | None], width: int) -> int:
    """Turns of 32 banks: a warp goes in 1, 2 or 4 parts by the width of its accesses.

    Two parts become one if all lanes share their address with lane ^ 1, or lane ^ 2.
    """
    parts = {8: 2, 16: 4}.get(width, 1)
    if parts > 1 and any(
        all(offsets[lane] == offsets[lane ^ other] for lane in range(32))
        for other in (1, 2)
    ):
        parts //= 2
    turns = 0
    for part in range(parts):
        banks: list[set[int]] = [set() for _ in range(32)]
        for start in offsets[part * 32 // parts : (part + 1) * 32 // parts]:
            for at in range(start, start + width) if start is not None else ():
                banks[at // 4 % 32].add(at // 4)
        turns += max(map(len, banks))
    return turns


@pytest.mark.sampled(3)
@pytest.mark.cases("pattern", OFFSETS, parts=3)
@pytest.mark.cases("name", ACCESSES)
def test_accesses_of_a_launch(name: str, pattern: str) -> None:
    line, width = ACCESSES[name]
    offsets = [OFFSETS[pattern](thread, width) for thread in range(64)]
    table = np.array([o if o is not None else 0xFFFFFFFF for o in offsets], "u4")
    body = ".shared .align 16 .b8 tile[34816];" + GLOBAL_ID + GATHER
    body += f"setp.ne.s32 %p1, %r5, -1; @!%p1 bra $END; {line};\n$END: ret;"
    data = np.zeros(1 << 16, "u1")
    run = launch(entry("u64 u64", body), 1, 64, table, data, measure=True, check=False)
    assert run.counters is not None
    kernel = run.counters.program.entry.instructions
    (found,) = [
        t for (_, i), t in run.counters.traffic.items() if kernel[i].name == name
    ]
    warps = [w for w in (offsets[:32], offsets[32:]) if any(o is not None for o in w)]
    live = [[o for o in warp if o is not None] for warp in warps]
    shared = ".shared." in name
    cost = (wavefronts_of(w, width) for w in warps)
    if not shared:
        cost = (sectors_of(w, width) for w in live)
    assert found.requests == len(warps)
    assert found.cost == sum(cost)
    assert found.bytes == sum(len(set(w)) for w in live) * width
    counts = run.counters.instructions(), run.counters.instructions("lanes")
    assert counts[0][name] == len(warps)
    assert counts[1][name] == sum(map(len, live))


def test_loops_count_what_each_lane_does() -> None:
    body = (
        GLOBAL_ID
        + """ld.param.u64 %d1, [k_0]; mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    ld.global.u32 %r5, [%d3]; mov.f32 %f1, 0f3F800000; mov.f64 %g1, 0d3FF0000000000000;
$LOOP: setp.eq.s32 %p1, %r5, 0; @%p1 bra $END;
    fma.rn.f32 %f1, %f1, %f1, %f1; add.f64 %g1, %g1, %g1; mul.f32 %f1, %f1, %f1;
    sub.s32 %r5, %r5, 1; bra.uni $LOOP;
$END: ret;"""
    )
    trips = np.random.default_rng(0).integers(0, 20, 96).astype("i4")
    run = launch(entry("u64", body), 3, 32, trips, measure=True)
    assert run.counters is not None
    longest = [int(warp.max()) for warp in trips.reshape(3, 32)]
    warps, lanes = run.counters.instructions(), run.counters.instructions("lanes")
    assert (warps["fma.rn.f32"], lanes["fma.rn.f32"]) == (sum(longest), trips.sum())
    assert (warps["setp.eq.s32"], lanes["setp.eq.s32"]) == (
        sum(longest) + 3,
        trips.sum() + 96,
    )
    assert run.totals()["flops"] == 4 * trips.sum()


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


def test_a_request_of_one_word_costs_a_sector_at_best() -> None:
    """However many warps of the launch ask for the same."""
    body = "ld.param.u64 %d1, [k_0]; ld.global.f32 %f1, [%d1]; ret;"
    run = launch(entry("u64", body), 3, 256, np.ones(8, "f4"), measure=True)
    totals = run.totals()
    assert totals["global requests"] == 3 * 8
    assert totals["global cost"] == totals["global ideal"] == 3 * 8
    assert totals["global bytes"] == 3 * 8 * 4


def test_nothing_is_counted_unless_asked() -> None:
    run = launch(entry("", "ret;"), 1, 32)
    assert (run.totals(), run.table()) == ({}, "")
