"""Matrices held by a warp: loaded from shared memory, multiplied."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx import faults
from tests.ptx.kernels import changed, entry, fault, launch

PRODUCT = entry(
    "u64 u64 u64",
    """.shared .align 16 .b8 sa[768];
    mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1];
    ld.param.u64 %d3, [k_2]; mov.u32 %r2, sa; shl.b32 %r3, %r1, 4;
    add.s32 %r4, %r2, %r3; cvt.s64.s32 %d4, %r3; add.s64 %d5, %d1, %d4;
    ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d5];
    st.shared.v4.u32 [%r4], {%r10, %r11, %r12, %r13};
    shr.u32 %r5, %r3, 1; add.s32 %r6, %r2, %r5; cvt.s64.s32 %d6, %r5;
    add.s64 %d7, %d2, %d6; ld.global.v2.u32 {%r14, %r15}, [%d7];
    st.shared.v2.u32 [%r6+512], {%r14, %r15}; bar.sync 0;
    and.b32 %r7, %r1, 15; shl.b32 %r8, %r7, 5; shr.u32 %r9, %r1, 4;
    shl.b32 %r20, %r9, 4; add.s32 %r21, %r8, %r20; add.s32 %r22, %r21, %r2;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r23, %r24, %r25, %r26}, [%r22];
    shl.b32 %r27, %r7, 4; add.s32 %r28, %r27, %r2;
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r29, %r30}, [%r28+512];
    mov.f32 %f1, 0f3F800000;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5},
      {%r23, %r24, %r25, %r26}, {%r29, %r30}, {%f1, %f1, %f1, %f1};
    shr.u32 %r31, %r1, 2; and.b32 %r32, %r1, 3; shl.b32 %r33, %r31, 5;
    shl.b32 %r34, %r32, 3; add.s32 %r35, %r33, %r34; cvt.s64.s32 %d8, %r35;
    add.s64 %d9, %d3, %d8; st.global.v2.f32 [%d9], {%f2, %f3};
    st.global.v2.f32 [%d9+256], {%f4, %f5}; ret;""",
)


def matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype("f2") for shape in ((16, 16), (16, 8)))
    return a, b, np.zeros((16, 8), "f4")


def test_a_warp_multiplies() -> None:
    a, b, d = matrices()
    totals = launch(PRODUCT, 1, 32, a, b, d, measure=True).totals()
    assert (d == a.astype("f4") @ b.astype("f4") + 1).all()
    assert totals["flops"] == 2 * 16 * 8 * 16


def test_narrow_sums_are_rounded_once() -> None:
    a, b, d = matrices()
    half = changed(
        PRODUCT,
        ("f32.f16.f16.f32 {%f2, %f3, %f4, %f5}", "f16.f16.f16.f16 {%r40, %r41}"),
        ("{%f1, %f1, %f1, %f1}", "{%r39, %r39}"),
        ("mov.f32 %f1, 0f3F800000;", "mov.u32 %r39, 0x3C003C00;"),
        ("st.global.v2.f32 [%d9], {%f2, %f3};", "st.global.u32 [%d9], %r40;"),
        ("st.global.v2.f32 [%d9+256], {%f4, %f5};", "st.global.u32 [%d9+256], %r41;"),
    )
    launch(half, 1, 32, a, b, d)
    found = d.view("f2").reshape(16, 4, 4)[:, :, :2].reshape(16, 8)
    right = a.astype("f8") @ b.astype("f8") + 1
    assert (found == right.astype("f2")).all()


@pytest.mark.cases(
    ("edit", "kind"),
    [
        (("bar.sync 0;", ""), faults.RACE),
        (("[%r28+512]", "[%r28+520]"), faults.MISALIGNED),
        (("[%r28+512]", "[%r28+528]"), faults.OUT_OF_BOUNDS),
        (
            ("bar.sync 0;", "bar.sync 0; setp.eq.u32 %p1, %r1, 3; @%p1 ret;"),
            faults.INCOMPLETE_WARP,
        ),
    ],
)
def test_what_goes_wrong_is_found(edit: tuple[str, str], kind: str) -> None:
    assert fault(changed(PRODUCT, edit), 1, 32, *matrices()).kind == kind
