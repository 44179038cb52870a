"""Branches that lanes take differently, early ends, loops, calls, faults on the way."""

from __future__ import annotations

import numpy as np

from gpucodegen.ptx import faults
from tests.ptx.kernels import GLOBAL_ID, entry, fault, launch

COLLATZ = entry(
    "u64 u32",
    GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; ld.param.u32 %r5, [k_1];
    setp.ge.s32 %p1, %r4, %r5; @%p1 ret;
    add.s32 %r6, %r4, 1; mov.u32 %r7, 0;
$LOOP: setp.eq.s32 %p2, %r6, 1; @%p2 bra $DONE;
    and.b32 %r8, %r6, 1; setp.eq.b32 %p3, %r8, 0; @%p3 bra $EVEN;
    mad.lo.s32 %r6, %r6, 3, 1; bra.uni $NEXT;
$EVEN: shr.u32 %r6, %r6, 1;
$NEXT: add.s32 %r7, %r7, 1; bra.uni $LOOP;
$DONE: mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r7; ret;""",
)


def steps(value: int) -> int:
    if value == 1:
        return 0
    return 1 + steps(value // 2 if value % 2 == 0 else 3 * value + 1)


def test_every_lane_has_a_trip_count_of_its_own() -> None:
    out = np.zeros(150, "i4")
    launch(COLLATZ, 3, 64, out, np.int32(150))
    assert out.tolist() == [steps(i + 1) for i in range(150)]


def test_a_stray_address_names_its_block_and_thread() -> None:
    out = np.zeros(150, "i4")
    problem = fault(COLLATZ, 3, 64, out, np.int32(151))
    assert problem.kind == faults.OUT_OF_BOUNDS
    assert (problem.block, problem.thread) == ((2, 0, 0), (22, 0, 0))
    assert problem.kernel == "k"
    assert "st.global.u32 [%d3], %r7" in problem.instruction
    assert "$DONE" in COLLATZ.splitlines()[problem.line - 2]
    assert "byte 600 of the nearest allocation of 600 bytes" in str(problem)


def test_predicates_spare_lanes() -> None:
    body = """mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; mul.wide.u32 %d2, %r1, 4;
    add.s64 %d3, %d1, %d2; mov.u32 %r2, 1; setp.lt.u32 %p1, %r1, 3;
    @%p1 mov.u32 %r2, 2; @!%p1 add.s32 %r2, %r2, %r1; st.global.u32 [%d3], %r2; ret;"""
    out = np.zeros(6, "i4")
    launch(entry("u64", body), 1, 6, out)
    assert out.tolist() == [2, 2, 2, 4, 5, 6]


def test_registers_that_nobody_wrote_are_no_zeros() -> None:
    """Compilers may read them where nothing depends on them."""
    result = np.zeros(1, "i4")
    body = """ld.param.u64 %d1, [k_0]; add.s32 %r2, %r9, 0;
    st.global.u32 [%d1], %r2; ret;"""
    launch(entry("u64", body), 1, 1, result)
    assert result[0] != 0


LOCAL = """.local .align 4 .b8 stack[16]; mov.u32 %r1, %tid.x; mov.u32 %r2, stack;
    and.b32 %r3, %r1, 3; shl.b32 %r3, %r3, 2; add.s32 %r2, %r2, %r3;
    st.local.u32 [%r2], %r1; ld.local.u32 %r4, [%r2]; ret;"""


def test_local_memory() -> None:
    launch(entry("", LOCAL), 2, 32)
    assert fault(entry("", LOCAL.replace("%r1, 3;", "%r1, 7;")), 1, 32).kind == (
        faults.OUT_OF_BOUNDS
    )


def test_local_memory_that_nobody_wrote_is_no_zero() -> None:
    """A ragged tile is read whole, so that is no fault; what depends on it is wrong."""
    body = """.local .align 4 .b8 stack[16];
    mov.u32 %r1, stack; ld.param.u64 %d1, [k_0];
    ld.local.u32 %r4, [%r1]; st.global.u32 [%d1], %r4; ret;"""
    result = np.zeros(1, "i4")
    launch(entry("u64", body), 1, 1, result)
    assert result[0] != 0


def test_traps() -> None:
    body = """mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 5; @%p1 trap; ret;"""
    problem = fault(entry("", body), 1, 32)
    assert (problem.kind, problem.thread) == (faults.TRAP, (5, 0, 0))


def test_source_locations() -> None:
    body = """
    .file 1 "nest.mlir"
    .loc 1 7 3
    ld.param.u64 %d1, [k_0]; mov.u32 %r1, %tid.x;
    .loc 1 9 5
    st.global.u32 [%d1+16], %r1; ret;"""
    problem = fault(entry("u64", body), 1, 1, np.zeros(4, "i4"))
    assert problem.location == ("nest.mlir", 9, 5)
    assert "nest.mlir:9:5" in str(problem)


CALLED = """.version 8.4
.target sm_90
.address_size 64
.func (.param .align 8 .b8 twice_out[16]) twice(.param .b64 twice_0)
{ .reg .f64 %g<4>; .reg .pred %p<2>; .reg .b32 %r<3>;
  ld.param.f64 %g1, [twice_0]; mov.u32 %r1, 1;
  setp.gt.f64 %p1, %g1, 0d4014000000000000; @%p1 bra $L1;
  add.f64 %g1, %g1, %g1; mov.u32 %r1, 2;
$L1: st.param.f64 [twice_out+0], %g1; st.param.b32 [twice_out+8], %r1; ret;
}
.visible .entry k(.param .u64 k_0)
{ .reg .f64 %g<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;
  ld.param.u64 %d1, [k_0]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 8;
  add.s64 %d3, %d1, %d2; ld.global.f64 %g1, [%d3];
  { // callseq 0, 0
  .param .b64 param0;
  st.param.f64 [param0+0], %g1;
  .param .align 8 .b8 retval0[16];
  call.uni (retval0),
  twice,
  (
  param0
  );
  ld.param.f64 %g2, [retval0+0]; ld.param.b32 %r2, [retval0+8];
  }
  cvt.rn.f64.s32 %g3, %r2; add.f64 %g4, %g2, %g3; st.global.f64 [%d3], %g4; ret;
}
"""


def test_device_functions_are_called() -> None:
    data = np.arange(10.0)
    launch(CALLED, 1, 10, data)
    assert data.tolist() == [2, 4, 6, 8, 10, 12, 7, 8, 9, 10]
