"""Shuffles, votes, reductions and atomics."""

from __future__ import annotations

from functools import reduce
from operator import xor

import numpy as np
import pytest

from gpucodegen.ptx import faults
from tests.ptx.kernels import GLOBAL_ID, changed, entry, fault, launch

SUM = entry(
    "u64 u64",
    GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; ld.param.u64 %d4, [k_1]; mul.wide.s32 %d2, %r4, 4;
    add.s64 %d3, %d1, %d2; ld.global.f32 %f1, [%d3]; mov.u32 %r5, 16;
$L: mov.b32 %r6, %f1; shfl.sync.bfly.b32 %r7|%p1, %r6, %r5, 31, -1; mov.b32 %f2, %r7;
    add.f32 %f1, %f1, %f2; shr.u32 %r5, %r5, 1; setp.ne.s32 %p2, %r5, 0; @%p2 bra $L;
    and.b32 %r8, %r1, 31; setp.eq.s32 %p3, %r8, 0;
    @%p3 atom.global.add.f32 %f3, [%d4], %f1; ret;""",
)


def test_warps_are_summed_up() -> None:
    x = np.random.default_rng(0).integers(-9, 9, 320).astype("f4")
    out = np.zeros(1, "f4")
    launch(SUM, 5, 64, x, out)
    assert out[0] == x.sum()


@pytest.mark.parametrize(
    "edit",
    [
        ("31, -1", "31, 0xffff"),
        ("mov.u32 %r5, 16;", "mov.u32 %r5, 16; setp.lt.u32 %p4, %r1, 9; @%p4 ret;"),
    ],
)
def test_shuffles_need_their_lanes(edit: tuple[str, str]) -> None:
    x, out = np.zeros(320, "f4"), np.zeros(1, "f4")
    problem = fault(changed(SUM, edit), 5, 64, x, out)
    assert problem.kind == faults.INCOMPLETE_WARP


OUTSIDE = {
    "shuffle": "shfl.sync.idx.b32 %r9, %r1, 20, 31, %r5",
    "elect": "elect.sync %r9|%p4, %r5",
}


@pytest.mark.cases("what", OUTSIDE)
@pytest.mark.cases("mask", ["0xffff", "-1"])
def test_lanes_beyond_the_mask_are_not_read(what: str, mask: str) -> None:
    """Two halves of a warp, each with a mask of its own, or with that of all."""
    halves = f"""mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 16; mov.u32 %r5, {mask};
    @!%p1 mov.u32 %r5, {"0xffff0000" if mask != "-1" else mask};
    {OUTSIDE[what]}; ret;"""
    if mask == "-1":
        launch(entry("u64", halves), 1, 32, np.zeros(1, "i4"))
        return
    text = halves if what == "shuffle" else halves.replace("!%p1", "%p1")
    problem = fault(entry("u64", text), 1, 32, np.zeros(1, "i4"))
    assert problem.kind == faults.INCOMPLETE_WARP


def each_lane(line: str, count: int = 32) -> list[int]:
    """%r9 of each lane, after a line in which %r1 is the lane and %r2 its square."""
    body = f"""mov.u32 %r1, %laneid; mul.lo.s32 %r2, %r1, %r1; ld.param.u64 %d1, [k_0];
    mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2; setp.gt.u32 %p1, %r1, 3;
    {line}; st.global.u32 [%d3], %r9; ret;"""
    out = np.zeros(count, "i4")
    launch(entry("u64", body), 1, count, out)
    return out.tolist()


FOURTHS = [(0x11111111 << i % 4) - (2**32 if i % 4 == 3 else 0) for i in range(32)]
SQUARES = [lane * lane for lane in range(32)]


@pytest.mark.cases(
    ("line", "right"),
    [
        ("shfl.sync.up.b32 %r9, %r2, 2, 0, -1", [0, 1, *SQUARES[:-2]]),
        ("shfl.sync.down.b32 %r9, %r2, 1, 31, -1", [*SQUARES[1:], 961]),
        ("shfl.sync.idx.b32 %r9, %r2, 5, 31, -1", [25] * 32),
        (
            "shfl.sync.idx.b32 %r9, %r1, 1, 0x181f, -1",
            [8 * (lane // 8) + 1 for lane in range(32)],
        ),
        ("vote.sync.ballot.b32 %r9, %p1, -1", [-16] * 32),
        ("vote.sync.all.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2", [0] * 32),
        ("vote.sync.any.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2", [1] * 32),
        ("vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r9, 1, 0, %p2", [0] * 32),
        ("redux.sync.add.s32 %r9, %r1, -1", [496] * 32),
        ("redux.sync.min.u32 %r9, %r2, -1", [0] * 32),
        ("redux.sync.xor.b32 %r9, %r2, -1", [reduce(xor, SQUARES)] * 32),
        (
            (
                "cvt.rn.f32.s32 %f1, %r2; neg.f32 %f1, %f1; redux.sync.max.abs.f32 "
                "%f2, "
                "%f1, -1; cvt.rzi.s32.f32 %r9, %f2"
            ),
            [961] * 32,
        ),
        ("and.b32 %r3, %r1, 3; match.any.sync.b32 %r9, %r3, -1", FOURTHS),
        (
            (
                "and.b32 %r3, %r1, 3; match.all.sync.b32 %r9|%p2, %r3, -1; "
                "@%p2 mov.u32 %r9, 7"
            ),
            [0] * 32,
        ),
        ("cvt.u64.u32 %d9, %r1; match.all.sync.b64 %r9|%p2, 5, -1", [-1] * 32),
        (
            (
                "mov.u32 %r3, 0xff; @%p1 mov.u32 %r3, 0xfffffff0; setp.gt.u32 %p2, "
                "%r1, 3;"
                "mov.u32 %r9, 9; @%p2 redux.sync.add.s32 %r9, %r1, 0xfffffff0"
            ),
            [9] * 4 + [490] * 28,
        ),
        (
            "elect.sync %r9|%p2, -1; selp.u32 %r3, 5, %r9, %p2; mov.u32 %r9, %r3",
            [5] + [0] * 31,
        ),
        (
            (
                "shr.u32 %r3, %r1, 4; mul.lo.u32 %r3, %r3, 16; shl.b32 %r4, 0xffff, "
                "%r3;"
                "redux.sync.add.s32 %r9, %r1, %r4"
            ),
            [120] * 16 + [376] * 16,
        ),
        (
            (
                "shr.u32 %r3, %r1, 4; mul.lo.u32 %r3, %r3, 16; shl.b32 %r4, 0xffff, "
                "%r3;"
                "vote.sync.ballot.b32 %r9, %p1, %r4"
            ),
            [0xFFF0] * 16 + [-65536] * 16,
        ),
        (
            (
                "shr.u32 %r3, %r1, 4; mul.lo.u32 %r3, %r3, 16; shl.b32 %r4, 0xffff, "
                "%r3;"
                "elect.sync %r9|%p2, %r4; match.any.sync.b32 %r9, 3, %r4"
            ),
            [0xFFFF] * 16 + [-65536] * 16,
        ),
        ("activemask.b32 %r9", [-1] * 32),
        ("mov.u32 %r9, %lanemask_lt", [(1 << lane) - 1 for lane in range(32)]),
    ],
)
def test_lanes_speak(line: str, right: list[int]) -> None:
    assert each_lane(line) == right


def test_the_last_warp_may_be_short() -> None:
    assert each_lane("vote.sync.ballot.b32 %r9, %p1, 0x3ff", 10) == [0x3F0] * 10


@pytest.mark.cases(
    ("line", "before", "after"),
    [
        ("red.global.add.s32 [%d1], %r1", 3, 3 + 496),
        ("red.global.max.u32 [%d1], %r2", 3, 961),
        ("atom.global.exch.b32 %r9, [%d1], %r1", 3, 31),
        ("atom.global.inc.u32 %r9, [%d1], 9", 0, 2),
        ("atom.global.dec.u32 %r9, [%d1], 9", 0, 8),
        ("atom.global.cas.b32 %r9, [%d1], %r1, %r3", 0, 32),
        ("add.s32 %r4, %r1, 1; atom.add.u32 %r9, [%d1], %r4", 0, 528),
    ],
)
def test_atomics_go_lane_by_lane(line: str, before: int, after: int) -> None:
    body = f"""mov.u32 %r1, %laneid; mul.lo.s32 %r2, %r1, %r1; add.s32 %r3, %r1, 1;
    ld.param.u64 %d1, [k_0]; {line}; ret;"""
    out = np.array([before], "i4")
    launch(entry("u64", body), 1, 32, out)
    assert out[0] == after
