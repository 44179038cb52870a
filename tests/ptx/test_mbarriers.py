"""Barriers in shared memory that count arrivals and the bytes of bulk copies."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx import faults
from tests.ptx.kernels import changed, entry, fault, launch

BULK = entry(
    "u64 u64",
    """.shared .align 128 .b8 buf[512]; .shared .align 8 .b8 bar[8];
    mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1];
    mov.u32 %r2, buf; mov.u32 %r3, bar; mov.u32 %r4, 0;
    setp.ne.s32 %p1, %r1, 0; @%p1 bra $W;
    mbarrier.init.shared::cta.b64 [%r3], 1; fence.mbarrier_init.release.cluster;
$W: bar.sync 0; @%p1 bra $T;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
      [%r2], [%d1], 512, [%r3];
$T: { .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%r3], %r4;
    @!p bra $T; }
    shl.b32 %r5, %r1, 2; add.s32 %r6, %r2, %r5; ld.shared.f32 %f1, [%r6];
    mul.wide.s32 %d3, %r1, 4; add.s64 %d4, %d2, %d3; st.global.f32 [%d4], %f1; ret;""",
)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(128, dtype="f4"), np.zeros(128, "f4")


def test_bulk_copies_arrive() -> None:
    x, y = arrays()
    launch(BULK, 1, 128, x, y)
    assert (x == y).all()


def test_lanes_that_wait_poll_again_when_their_copy_has_landed() -> None:
    x, y = arrays()
    run = launch(BULK, 1, 128, x, y, check=False, measure=True)
    assert (x == y).all()
    assert run.counters is not None
    counts = run.counters.instructions().items()
    polls = sum(n for name, n in counts if "try_wait" in name)
    assert polls == 2 * 128 // 32


@pytest.mark.cases(
    ("edit", "kind"),
    [
        (("_, [%r3], 512", "_, [%r3], 1024"), faults.DEADLOCK),
        (("@!p bra $T;", ""), faults.IN_FLIGHT),
        (("mbarrier.init.shared::cta.b64 [%r3], 1;", ""), faults.MBARRIER),
        (("[%r3], 1;", "[%r3], 2;"), faults.DEADLOCK),
        (("@%p1 bra $T;\n", "\n"), faults.MBARRIER),
        (("[%d1], 512", "[%d1+8], 496"), faults.MISALIGNED),
        (("[%d1], 512", "[%d1+16], 512"), faults.OUT_OF_BOUNDS),
        (("[%r2], [%d1]", "[%r2+16], [%d1]"), faults.OUT_OF_BOUNDS),
    ],
)
def test_what_goes_wrong_is_found(edit: tuple[str, str], kind: str) -> None:
    problem = fault(changed(BULK, edit), 1, 128, *arrays())
    assert problem.kind == kind, problem


HANDED_ON = entry(
    "u64",
    """.shared .align 8 .b8 bars[16];
    mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; mov.u32 %r2, bars; mov.u32 %r3, 0;
    setp.ne.s32 %p1, %r1, 0; @%p1 bra $S;
    mbarrier.init.shared.b64 [%r2], 32; mbarrier.init.shared.b64 [%r2+8], 32;
$S: bar.sync 0; setp.ge.u32 %p2, %r1, 32; @%p2 bra $SECOND;
    @!%p1 st.global.u32 [%d1], %r3; mbarrier.arrive.shared.b64 _, [%r2];
$A: mbarrier.try_wait.parity.shared.b64 %p3, [%r2+8], %r3; @!%p3 bra $A;
    ret;
$SECOND:
$B: mbarrier.try_wait.parity.shared.b64 %p3, [%r2], %r3; @!%p3 bra $B;
    mbarrier.arrive.shared.b64 _, [%r2+8]; ret;""",
)


def test_warps_hand_on_to_each_other() -> None:
    launch(HANDED_ON, 1, 64, np.zeros(1, "i4"))
    lost = changed(HANDED_ON, ("mbarrier.arrive.shared.b64 _, [%r2+8];", ""))
    problem = fault(lost, 1, 64, np.zeros(1, "i4"))
    assert problem.kind == faults.DEADLOCK
    assert "32 threads from 0 on wait at line" in problem.message
    assert "mbarrier.try_wait.parity.shared.b64 %p3, [%r2+8], %r3" in problem.message


def test_a_deadlock_tells_where_each_group_waits() -> None:
    lost = changed(HANDED_ON, ("mbarrier.arrive.shared.b64 _, [%r2+8];", "bar.sync 0;"))
    problem = fault(lost, 1, 64, np.zeros(1, "i4"))
    assert problem.kind == faults.DEADLOCK
    assert "32 of 32 arrivals are missing" in problem.message
    assert problem.message.count("wait at line") == 2
    assert "32 threads from 32 on wait at line" in problem.message
    assert "bar.sync 0" in problem.message
