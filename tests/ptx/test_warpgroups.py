"""Tensor copies with a swizzle, and products of four warps."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen import ptx
from gpucodegen.ptx import faults
from gpucodegen.ptx.numerics.floats import to_bf16
from tests.ptx.kernels import changed, entry

STEP = """add.s64 %d4, %d2, {offset}; add.s64 %d5, %d3, {offset};
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f1, %f2, %f3, %f4}},
      %d4, %d5, {scale}, 1, 1, 0, 0;
"""
COPY = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
)
PRODUCT = entry(
    "u64 u64 u64",
    """.shared .align 1024 .b8 sa[8192]; .shared .align 1024 .b8 sb[1024];
    .shared .align 8 .b8 bar[8];
    mov.u32 %r1, %tid.x; ld.param.u64 %d9, [k_0]; ld.param.u64 %d10, [k_1];
    ld.param.u64 %d1, [k_2]; mov.u32 %r2, sa; mov.u32 %r3, sb; mov.u32 %r4, bar;
    mov.u32 %r5, 0; setp.ne.s32 %p1, %r1, 0; @%p1 bra $W;
    mbarrier.init.shared::cta.b64 [%r4], 1;
$W: bar.sync 0; @%p1 bra $T;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 9216;
"""
    f"{COPY} [%r2], [%d9, {{%r5, %r5}}], [%r4];\n"
    f"{COPY} [%r3], [%d10, {{%r5, %r5}}], [%r4];\n"
    """
$T: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], %r5; @!%p2 bra $T;
    cvt.u64.u32 %d2, %r2; shr.u64 %d2, %d2, 4; or.b64 %d2, %d2, 0x4000004000010000;
    cvt.u64.u32 %d3, %r3; shr.u64 %d3, %d3, 4; or.b64 %d3, %d3, 0x4000004000010000;
    wgmma.fence.sync.aligned;
"""
    + "".join(STEP.format(offset=2 * i, scale=int(i > 0)) for i in range(4))
    + """wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    shr.u32 %r6, %r1, 5; shl.b32 %r6, %r6, 4; and.b32 %r7, %r1, 31;
    shr.u32 %r8, %r7, 2; add.s32 %r6, %r6, %r8; and.b32 %r9, %r7, 3;
    shl.b32 %r6, %r6, 5; shl.b32 %r9, %r9, 3; add.s32 %r6, %r6, %r9;
    cvt.s64.s32 %d6, %r6; add.s64 %d7, %d1, %d6; st.global.v2.f32 [%d7], {%f1, %f2};
    st.global.v2.f32 [%d7+256], {%f3, %f4}; ret;""",
)
ROWS = 60


def multiply(text: str, threads: int = 128) -> np.ndarray:
    """What a kernel makes of A and B; four rows of its box lie outside of A."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (n, 64)).astype("f4") for n in (ROWS, 8))
    memory = ptx.Memory(limit=1 << 20)
    maps = []
    for matrix in (a, b):
        address = memory.allocate(2 * matrix.size)
        memory.bytes(address, 2 * matrix.size).view("i2")[:] = to_bf16(matrix).ravel()
        rows = 64 if matrix is a else 8
        tensor = ptx.TensorMap(address, 2, (64, len(matrix)), (128,), (64, rows), 128)
        maps.append(tensor.encode(memory))
    out = memory.allocate(64 * 8 * 4)
    packed = b"".join(np.uint64(v).tobytes() for v in (*maps, out))
    ptx.Module(text).launch("k", 1, threads, packed, memory)
    d = memory.bytes(out, 64 * 8 * 4).view("f4").reshape(64, 8)
    assert (d[:ROWS] == a @ b.T).all()
    return d


def test_four_warps_multiply() -> None:
    assert not multiply(PRODUCT)[ROWS:].any()


AGAIN = (
    f"wgmma.commit_group.sync.aligned; {COPY} [%r2], [%d9, {{%r5, %r5}}], [%r4]; wgmma"
)


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (("@!%p2 bra $T;", ""), faults.IN_FLIGHT),
        ((" _, [%r4], 9216", " _, [%r4], 9232"), faults.DEADLOCK),
        (("[%d10, {%r5, %r5}]", "[%d1, {%r5, %r5}]"), faults.OUT_OF_BOUNDS),
        ((f"{COPY} [%r3]", f"{COPY} [%r3+128]"), faults.MISALIGNED),
        (("add.s64 %d4, %d2, 6;", "add.s64 %d4, %d2, 600;"), faults.OUT_OF_BOUNDS),
        (("wgmma.commit_group.sync.aligned; wgmma", AGAIN), faults.IN_FLIGHT),
        (
            ("wgmma.fence.sync.aligned;", "setp.eq.s32 %p3, %r1, 40; @%p3 ret;"),
            faults.INCOMPLETE_WARP,
        ),
    ],
)
def test_what_goes_wrong_is_found(edit: tuple[str, str], kind: str) -> None:
    with pytest.raises(ptx.Fault) as caught:
        multiply(changed(PRODUCT, edit))
    assert caught.value.kind == kind, caught.value


def test_maps_that_no_driver_encodes() -> None:
    with pytest.raises(ValueError, match="no driver"):
        ptx.TensorMap(0, 2, (64, 8), (128,), (128, 8), 128)
