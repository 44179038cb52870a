"""Shared memory and barriers: a block reversed, and the same with something missing."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx import faults
from tests.ptx.kernels import GLOBAL_ID, changed, entry, fault, launch

REVERSE = entry(
    "u64",
    ".shared .align 4 .b8 tile[1024];"
    + GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    ld.global.f32 %f1, [%d3]; shl.b32 %r5, %r1, 2; mov.u32 %r6, tile;
    add.s32 %r7, %r6, %r5;
    st.shared.f32 [%r7], %f1;
    bar.sync 0;
    sub.s32 %r8, 1020, %r5; add.s32 %r9, %r6, %r8; ld.shared.f32 %f2, [%r9];
    st.global.f32 [%d3], %f2; ret;""",
)
BARRIER = "bar.sync 0;"


def data() -> np.ndarray:
    return np.random.default_rng(0).random((4, 256)).astype("f4")


def test_blocks_are_reversed_at_the_least_cost() -> None:
    x = data()
    y = x.copy()
    totals = launch(REVERSE, 4, 256, y, measure=True).totals()
    assert (y == x[:, ::-1]).all()
    assert totals["shared cost"] == totals["shared ideal"] == 64
    assert totals["global cost"] == totals["global ideal"] == 256


EDITS = {
    "barrier dropped": (
        faults.RACE,
        [(BARRIER, "")],
    ),
    "threads that leave before the barrier": (
        faults.DIVERGENT_BARRIER,
        [(BARRIER, f"setp.lt.s32 %p1, %r1, 9; @%p1 ret; {BARRIER}")],
    ),
    "two barriers": (
        faults.DIVERGENT_BARRIER,
        [
            (
                BARRIER,
                (
                    "setp.lt.s32 %p1, %r1, 9; @%p1 bra $B; bar.sync 0; bra.uni $C;\n"
                    "$B: bar.sync 0;\n$C:"
                ),
            )
        ],
    ),
    "index shifted": (
        faults.OUT_OF_BOUNDS,
        [("sub.s32 %r8, 1020", "sub.s32 %r8, 1024")],
    ),
    "misaligned": (
        faults.MISALIGNED,
        [("st.shared.f32 [%r7]", "st.shared.f32 [%r7+2]")],
    ),
    "one store less": (
        faults.UNINITIALISED,
        [
            ("st.shared.f32", "@%p1 st.shared.f32"),
            ("shl.b32", "setp.ne.s32 %p1, %r1, 7; shl.b32"),
        ],
    ),
    "all threads store to one cell": (
        faults.RACE,
        [("add.s32 %r7, %r6, %r5;", "mov.u32 %r7, %r6;")],
    ),
    "overwritten before it is read": (
        faults.RACE,
        [("st.global.f32 [%d3], %f2;", "st.shared.f32 [%r7], %f2;")],
    ),
}


@pytest.mark.cases("name", EDITS)
def test_what_goes_wrong_is_found(name: str) -> None:
    kind, edits = EDITS[name]
    problem = fault(changed(REVERSE, *edits), 4, 256, data())
    assert problem.kind == kind, problem
    assert problem.line > 0
    assert str(problem)
    assert problem.thread is not None


def test_nothing_is_checked_but_bounds_without_checks() -> None:
    launch(changed(REVERSE, (BARRIER, "")), 4, 256, data(), check=False)
    shifted = changed(REVERSE, ("sub.s32 %r8, 1020", "sub.s32 %r8, 1024"))
    assert fault(shifted, 4, 256, data(), check=False).kind == faults.OUT_OF_BOUNDS


def test_strides_meet_in_few_banks() -> None:
    stride = changed(
        REVERSE,
        ("shl.b32 %r5, %r1, 2;", "shl.b32 %r5, %r1, 5; and.b32 %r5, %r5, 1023;"),
    )
    run = launch(stride, 4, 256, data(), check=False, measure=True)
    assert run.totals()["shared cost"] > 7 * 32
    assert "8.00 wavefronts" in run.table()


def test_dynamic_memory_lies_behind_static_arrays() -> None:
    body = REVERSE[REVERSE.index("{") : REVERSE.rindex("}")].replace(
        ".shared .align 4 .b8 tile[1024];", ""
    )
    head = ".extern .shared .align 16 .b8 tile[];\n.visible .entry k(.param .u64 k_0)\n"
    x = data()
    y = x.copy()
    launch(head + body + "}", 4, 256, y, dynamic_shared=1024)
    assert (y == x[:, ::-1]).all()
    problem = fault(head + body + "}", 4, 256, y, dynamic_shared=512)
    assert problem.kind == faults.OUT_OF_BOUNDS


def test_arrays_may_lie_as_badly_as_they_declare() -> None:
    body = """.shared .align 4 .b8 tile[64]; mov.u32 %r1, tile; mov.f32 %f1, 0f00000000;
    st.shared.v4.f32 [%r1], {%f1, %f1, %f1, %f1}; ret;"""
    launch(entry("", body), 1, 1)
    assert fault(entry("", body), 1, 1, weak_alignment=True).kind == faults.MISALIGNED


GLOBAL = entry(
    "u64",
    GLOBAL_ID
    + """ld.param.u64 %d1, [k_0]; mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    ld.global.u32 %r5, [%d3+4]; bar.sync 0; st.global.u32 [%d3], %r5; ret;""",
)


def test_a_barrier_orders_a_block_but_not_the_grid() -> None:
    shifted = np.arange(65, dtype="i4")
    launch(GLOBAL, 1, 64, shifted)
    assert shifted.tolist() == [*range(1, 65), 64]
    problem = fault(GLOBAL, 2, 32, np.arange(65, dtype="i4"))
    assert problem.kind == faults.RACE
    assert "between blocks" in problem.message


def test_what_two_blocks_read_a_later_interval_must_not_write() -> None:
    body = (
        GLOBAL_ID
        + """ld.param.u64 %d1, [k_0]; ld.global.u32 %r5, [%d1];
    bar.sync 0; bar.sync 0; setp.eq.s32 %p1, %r4, 63; @%p1 st.global.u32 [%d1], %r5;
    ret;"""
    )
    assert fault(entry("u64", body), 2, 32, np.zeros(4, "i4")).kind == faults.RACE
