"""Atomics of vectors, packed words and wide words; hints; parameters by address."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx import faults
from gpucodegen.ptx.floats import from_bf16, rounded_bf16
from tests.ptx.kernels import entry, fault, launch

START = """mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; add.f32 %f2, %f1, %f1;
    and.b32 %r2, %r1, 1; ld.param.u64 %d1, [k_0]; mad.wide.u32 %d2, %r2, 16, %d1;
    createpolicy.fractional.L2::evict_first.b64 %d9, 1.0;
"""
EVEN, ODD = sum(range(0, 32, 2)), sum(range(1, 32, 2))


def after(line: str, kind: str) -> np.ndarray:
    out = np.zeros((2, 16 // np.dtype(kind).itemsize), kind)
    launch(entry("u64", f"{START}{line}; ret;"), 1, 32, out)
    return out


@pytest.mark.sampled(2)
@pytest.mark.cases(
    "line",
    [
        "red.global.v4.f32.add [%d2], {%f1, %f2, %f1, %f2}",
        (
            "red.global.add.v2.f32 [%d2], {%f1, %f2}; red.global.v2.f32.add [%d2+8], "
            "{%f1, %f2}"
        ),
        "atom.global.v4.f32.add {%f3, %f4, %f5, %f6}, [%d2], {%f1, %f2, %f1, %f2}",
        "red.global.add.L2::cache_hint.v4.f32 [%d2], {%f1, %f2, %f1, %f2}, %d9",
    ],
)
def test_vectors_of_singles(line: str) -> None:
    right = [[n, 2 * n, n, 2 * n] for n in (EVEN, ODD)]
    assert after(line, "f4").tolist() == right


@pytest.mark.cases("wanted", [True, False])
@pytest.mark.cases("kind", ["f16", "bf16"])
def test_packed_halves(kind: str, wanted: bool) -> None:
    line = f"cvt.rn.{kind}x2.f32 %r3, %f2, %f1;"
    form = f"global.add.noftz.{kind}x2"
    line += f"atom.{form} %r4, [%d2], %r3" if wanted else f"red.{form} [%d2], %r3"
    found = after(line, "u2")[:, :2]
    numbers = found.view("f2") if kind == "f16" else from_bf16(found)
    right = np.array([[n, 2 * n] for n in (EVEN, ODD)], "f8")
    if kind == "bf16":  # each step is rounded to eight bits
        totals = np.zeros((2, 2))
        for lane in range(32):
            row = totals[lane % 2] + [lane, 2 * lane]
            totals[lane % 2] = from_bf16(rounded_bf16(row, "rn"))
        right = totals
    assert (numbers == right).all()


def test_least_and_greatest_halves() -> None:
    line = """cvt.rn.f16.f32 %h1, %f1; neg.f16 %h2, %h1;
    mov.b32 %r3, {%h1, %h2}; red.global.max.noftz.v2.f16x2 [%d2], {%r3, %r3};
    atom.global.min.noftz.v2.f16x2 {%r4, %r5}, [%d2+8], {%r3, %r3}"""
    found = after(line, "f2")
    assert found[0].tolist() == [30, 0, 30, 0, 0, -30, 0, -30]
    assert found[1].tolist() == [31, 0, 31, 0, 0, -31, 0, -31]


def test_words_of_128_bits() -> None:
    body = """.reg .b128 %q<9>; mov.u32 %r1, %tid.x; cvt.u64.u32 %d3, %r1;
    add.u64 %d4, %d3, 1; ld.param.u64 %d1, [k_0]; not.b64 %d5, %d3; not.b64 %d6, %d4;
    mov.b128 %q1, {%d3, %d5}; mov.b128 %q2, {%d4, %d6};
    atom.global.cas.b128 %q3, [%d1], %q1, %q2; mov.b128 {%d7, %d8}, %q3;
    mad.wide.u32 %d2, %r1, 16, %d1; st.global.b128 [%d2+16], %q3;
    setp.eq.u32 %p1, %r1, 31; @%p1 atom.global.exch.b128 %q4, [%d1], %q1; ret;"""
    out = np.zeros((33, 2), "i8")
    out[0] = 0, -1
    launch(entry("u64", body), 1, 32, out)
    assert out[0].tolist() == [31, ~31]
    assert out[1:].tolist() == [[lane, ~lane] for lane in range(32)]


def test_vectors_stand_on_their_width() -> None:
    line = "red.global.v4.f32.add [%d2+4], {%f1, %f1, %f1, %f1}"
    text = entry("u64", f"{START}{line}; ret;")
    problem = fault(text, 1, 32, np.zeros(16, "f4"))
    assert problem.kind == faults.MISALIGNED


HINTS = """ld.param.u64 %d1, [k_0]; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 16, %d1;
    createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d9, 0.5;
    prefetch.global.L2::evict_last [%d2]; prefetchu.L1 [%d2];
    applypriority.global.L2::evict_normal [%d2], 128;
    ld.global.nc.L1::evict_last.L2::cache_hint.L2::128B.v4.f32
      {%f1, %f2, %f3, %f4}, [%d2], %d9;
    ld.volatile.global.f32 %f5, [%d2]; ld.acquire.gpu.global.f32 %f6, [%d2+4];
    ld.relaxed.sys.global.L1::no_allocate.f32 %f7, [%d2+8]; membar.gl;
    fence.acq_rel.gpu;
    fence.proxy.async.shared::cta; griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    st.global.L1::no_allocate.L2::cache_hint.v2.f32 [%d2], {%f2, %f1}, %d9;
    st.release.gpu.global.f32 [%d2+8], %f6; st.volatile.global.f32 [%d2+12], %f7;
    nanosleep.u32 20;
    ret;"""


def test_hints_change_nothing() -> None:
    x = np.random.default_rng(0).random((32, 4)).astype("f4")
    y = x.copy()
    launch(entry("u64", HINTS), 1, 32, y)
    assert (y == x[:, [1, 0, 1, 2]]).all()


BY_ADDRESS = """.version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .align 8 .b8 k_1[32])
{ .reg .b32 %r<9>; .reg .b64 %d<20>; .reg .pred %p<3>;
  mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; mul.wide.u32 %d2, %r1, 4;
  mov.b64 %d3, k_1; add.s64 %d4, %d3, %d2; ld.param.u32 %r2, [%d4];
  cvta.param.u64 %d5, %d3; add.s64 %d6, %d5, %d2; ld.u32 %r3, [%d6];
  isspacep.param %p1, %d6; selp.b32 %r4, 1000, 0, %p1; add.s32 %r2, %r2, %r3;
  add.s32 %r2, %r2, %r4; add.s64 %d7, %d1, %d2; st.global.u32 [%d7], %r2; ret; }"""


def test_parameters_have_addresses() -> None:
    out, record = np.zeros(8, "i4"), np.arange(8, dtype="i4").view("V32")[0]
    launch(BY_ADDRESS, 1, 8, out, record)
    assert out.tolist() == [1000 + 2 * i for i in range(8)]
    problem = fault(BY_ADDRESS, 1, 9, np.zeros(9, "i4"), record)
    assert problem.kind == faults.OUT_OF_BOUNDS
