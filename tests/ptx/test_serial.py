"""Launches with one thread: the same results and the same faults as many threads."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen.ptx import faults
from tests.ptx.kernels import changed, entry, fault, launch

WALK = entry(
    "u64 u64 u32",
    """.shared .align 16 .b8 tile[64]; .local .align 8 .b8 own[16];
    ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1]; ld.param.u32 %r5, [k_2];
    mov.u32 %r1, 0; mov.f32 %f9, 0f00000000; mov.u32 %r6, tile; mov.u64 %d7, own;
$L: mul.wide.u32 %d3, %r1, 16; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d4];
    and.b32 %r2, %r1, 3; shl.b32 %r2, %r2, 4; add.s32 %r3, %r6, %r2;
    st.shared.v4.f32 [%r3], {%f4, %f3, %f2, %f1}; ld.shared.f32 %f5, [%r3+4];
    st.local.f32 [%d7+8], %f5; ld.local.f32 %f6, [%d7+8]; add.f32 %f9, %f9, %f6;
    st.v2.f32 [%d5], {%f9, %f1}; red.global.add.u32 [%d5+8], %r1;
    atom.global.exch.b32 %r7, [%d5+12], %r1; add.s32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, %r5; @%p1 bra $L; ret;""",
)


def walk(text: str = WALK, steps: int = 40, **options: bool) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (40, 4)).astype("f4")
    y = np.zeros((40, 4), "f4")
    launch(text, 1, 1, x, y, np.int32(steps), **options)
    right = np.stack([np.cumsum(x[:, 2]), x[:, 0]], 1)
    assert (y[:, :2] == right).all()
    assert (y[:, 2:].view("i4") == np.arange(40)[:, None]).all()


@pytest.mark.parametrize("options", [{}, {"check": False}, {"measure": True}])
def test_one_thread_walks(options: dict[str, bool]) -> None:
    walk(**options)


@pytest.mark.cases(
    ("edit", "kind"),
    [
        (("%r1, 16; add", "%r1, 20; add"), faults.MISALIGNED),
        (("setp.lt.u32 %p1", "setp.le.u32 %p1"), faults.OUT_OF_BOUNDS),
        (("and.b32 %r2, %r1, 3", "and.b32 %r2, %r1, 7"), faults.OUT_OF_BOUNDS),
        (("%f5, [%r3+4]", "%f5, [%r3+20]"), faults.UNINITIALISED),
        (("%f6, [%d7+8]", "%f6, [%d7+16]"), faults.OUT_OF_BOUNDS),
        (("st.v2.f32 [%d5]", "st.v2.f32 [%d3]"), faults.OUT_OF_BOUNDS),
    ],
)
def test_what_goes_wrong_is_found_at_any_step(edit: tuple[str, str], kind: str) -> None:
    x, y = np.zeros((40, 4), "f4"), np.zeros((40, 4), "f4")
    problem = fault(changed(WALK, edit), 1, 1, x, y, np.int32(40))
    assert problem.kind == kind, problem
