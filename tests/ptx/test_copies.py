"""Copies that do not wait: a ring of two buffers, and waits that are missing."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx import faults
from tests.ptx.kernels import GLOBAL_ID, changed, entry, fault, launch

RING = entry(
    "u64 u64",
    ".shared .align 16 .b8 buf[2048];"
    + GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1]; mul.wide.s32 %d3, %r4, 16;
    add.s64 %d4, %d1, %d3; shl.b32 %r5, %r1, 4; mov.u32 %r6, buf; add.s32 %r7, %r6, %r5;
    cp.async.cg.shared.global [%r7], [%d4], 16; cp.async.commit_group;
    cp.async.cg.shared.global [%r7+1024], [%d4], 16; cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    xor.b32 %r8, %r7, 16; ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r8];
    xor.b32 %r9, %r4, 1; mul.wide.s32 %d6, %r9, 16; add.s64 %d7, %d2, %d6;
    st.global.v4.f32 [%d7], {%f1, %f2, %f3, %f4};
    cp.async.wait_all; ret;""",
)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).random((128, 4)).astype("f4")
    return x, np.zeros_like(x)


def test_copies_land_at_their_wait() -> None:
    x, y = arrays()
    launch(RING, 2, 64, x, y)
    assert (x == y).all()


@pytest.mark.cases(
    ("edit", "kind"),
    [
        (("wait_group 1;", "wait_group 2;"), faults.IN_FLIGHT),
        (("cp.async.wait_group 1;", ""), faults.IN_FLIGHT),
        (("bar.sync 0;", ""), faults.RACE),
        (
            ("[%d4], 16; cp.async.commit", "[%d4+8], 16; cp.async.commit"),
            faults.MISALIGNED,
        ),
        (("[%r7+1024], [%d4]", "[%r7+1024], [%d4+1024]"), faults.OUT_OF_BOUNDS),
        (("[%r7+1024]", "[%r7+2048]"), faults.OUT_OF_BOUNDS),
        (("[%r7+1024]", "[%r7]"), faults.IN_FLIGHT),
    ],
)
def test_what_goes_wrong_is_found(edit: tuple[str, str], kind: str) -> None:
    x, y = arrays()
    problem = fault(changed(RING, edit), 2, 64, x, y)
    assert problem.kind == kind, problem


def test_short_copies_are_filled_with_zeros() -> None:
    x, y = arrays()
    short = changed(RING, ("[%r7], [%d4], 16;", "[%r7], [%d4], 16, 8;"))
    launch(short, 2, 64, x, y)
    assert (y[:, :2] == x[:, :2]).all()
    assert not y[:, 2:].any()
