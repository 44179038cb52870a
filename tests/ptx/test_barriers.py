"""Barriers that vote, against enumeration; numbered ones by parts of a block."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx import faults
from tests.ptx.kernels import GLOBAL_ID, changed, entry, fault, launch

VOTE = entry(
    "u64 u32",
    GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; ld.param.u32 %r5, [k_1]; mad.wide.u32 %d2, %r4, 12, %d1;
    rem.u32 %r6, %r1, %r5; add.u32 %r6, %r6, %r2; setp.eq.u32 %p1, %r6, 0;
    shr.u32 %r7, %r1, 6; add.u32 %r7, %r7, 1;
    bar.red.popc.u32 %r8, 0, %p1;
    barrier.cta.red.and.pred %p2, %r7, 64, !%p1;
    bar.red.or.pred %p3, %r7, 64, %p1;
    selp.b32 %r9, 1, 0, %p2; selp.b32 %r10, 1, 0, %p3;
    st.global.u32 [%d2], %r8; st.global.u32 [%d2+4], %r9; st.global.u32 [%d2+8], %r10;
    ret;""",
)


@pytest.mark.cases("every", [1, 5, 65, 200])
def test_threads_vote(every: int) -> None:
    out = np.zeros((2, 128, 3), "i4")
    launch(VOTE, 2, 128, out, np.int32(every))
    for block in range(2):
        held = (np.arange(128) % every + block) == 0
        halves = held.reshape(2, 64)
        assert (out[block, :, 0] == held.sum()).all()
        assert (out[block, :, 1] == (~halves).all(1).repeat(64)).all()
        assert (out[block, :, 2] == halves.any(1).repeat(64)).all()


@pytest.mark.cases(
    "edit",
    [
        ("bar.red.popc.u32 %r8, 0, %p1;", "@%p1 bar.red.popc.u32 %r8, 0, %p1;"),
        ("%r7, 64, %p1;", "%r7, 96, %p1;"),
        ("%r7, 64, %p1;", "%r7, 40, %p1;"),
        ("%r7, %r7, 1;", "%r7, %r7, 15;"),
    ],
)
def test_votes_that_never_end(edit: tuple[str, str]) -> None:
    out = np.zeros((1, 128, 3), "i4")
    problem = fault(changed(VOTE, edit), 1, 128, out, np.int32(5))
    assert problem.kind == faults.DIVERGENT_BARRIER


HALVES = entry(
    "u64",
    ".shared .align 4 .b8 tile[512];"
    + GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; mad.wide.u32 %d2, %r4, 4, %d1; mov.u32 %r5, tile;
    mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r1; shr.u32 %r7, %r1, 6;
    add.u32 %r7, %r7, 1; barrier.cta.sync.aligned %r7, 64; xor.b32 %r8, %r6, 252;
    ld.shared.u32 %r9, [%r8]; st.global.u32 [%d2], %r9; ret;""",
)


def test_halves_of_a_block_meet_apart() -> None:
    out = np.zeros(128, "i4")
    text = changed(
        HALVES, ("tile[512]", "tile[1024]"), ("%r8, %r6, 252", "%r8, %r6, 128")
    )
    launch(text, 1, 128, out)
    assert (out == (np.arange(128) ^ 32)).all()
    crossed = changed(text, ("%r8, %r6, 128", "%r8, %r6, 256"))
    assert fault(crossed, 1, 128, out).kind == faults.RACE
