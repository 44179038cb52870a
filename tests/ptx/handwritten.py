"""Kernels written by hand: what the product's pipeline does not emit yet.

Each has arguments and a right answer; `mutations` says what spoils them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen import ptx
from gpucodegen.ptx.floats import to_bf16
from tests.ptx.kernels import GLOBAL_ID, entry, launch
from tests.ptx.test_copies import RING
from tests.ptx.test_matrices import PRODUCT, matrices
from tests.ptx.test_mbarriers import BULK
from tests.ptx.test_warpgroups import COPY
from tests.ptx.test_warps import SUM

Arrays = tuple[np.ndarray, ...]
NAMED = entry(
    "u64 u64",
    """.shared .align 4 .b8 buf[128];
    mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1];
    and.b32 %r2, %r1, 31; shl.b32 %r3, %r2, 2; xor.b32 %r4, %r3, 124;
    mov.u32 %r5, buf; add.s32 %r6, %r5, %r3; add.s32 %r7, %r5, %r4;
    cvt.u64.u32 %d3, %r3; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
    mov.u32 %r8, 0; setp.ge.u32 %p1, %r1, 32; @%p1 bra $CONSUMER;
$P: ld.global.u32 %r9, [%d4];
    bar.sync 2, 64;
    st.shared.u32 [%r6], %r9;
    bar.arrive 1, 64;
    add.s64 %d4, %d4, 128; add.s32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 4; @%p2 bra $P;
    bar.sync 2, 64; ret;
$CONSUMER: bar.arrive 2, 64;
$C: bar.sync 1, 64;
    ld.shared.u32 %r9, [%r7];
    bar.arrive 2, 64;
    st.global.u32 [%d5], %r9;
    add.s64 %d5, %d5, 128; add.s32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 4; @%p2 bra $C;
    ret;""",
)
"""A warp hands four rows to another, which reverses them: two numbered barriers."""

HANDED = entry(
    "u64 u64",
    """.shared .align 4 .b8 buf[128]; .shared .align 8 .b8 bars[16];
    mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1];
    and.b32 %r2, %r1, 31; shl.b32 %r3, %r2, 2; xor.b32 %r4, %r3, 124;
    mov.u32 %r5, buf; add.s32 %r6, %r5, %r3; add.s32 %r7, %r5, %r4;
    cvt.u64.u32 %d3, %r3; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
    mov.u32 %r8, 0; mov.u32 %r10, bars; mov.u32 %r11, 0; mov.u32 %r12, 1;
    setp.ne.u32 %p3, %r1, 0; @%p3 bra $READY;
    mbarrier.init.shared.b64 [%r10], 32; mbarrier.init.shared.b64 [%r10+8], 32;
$READY: bar.sync 0;
    setp.ge.u32 %p1, %r1, 32; @%p1 bra $CONSUMER;
$P: ld.global.u32 %r9, [%d4];
$EMPTY: mbarrier.try_wait.parity.shared.b64 %p4, [%r10+8], %r12; @!%p4 bra $EMPTY;
    st.shared.u32 [%r6], %r9;
    mbarrier.arrive.shared.b64 _, [%r10];
    xor.b32 %r12, %r12, 1;
    add.s64 %d4, %d4, 128; add.s32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 4; @%p2 bra $P;
    ret;
$CONSUMER:
$FULL: mbarrier.try_wait.parity.shared.b64 %p4, [%r10], %r11; @!%p4 bra $FULL;
    ld.shared.u32 %r9, [%r7];
    mbarrier.arrive.shared.b64 _, [%r10+8];
    xor.b32 %r11, %r11, 1; st.global.u32 [%d5], %r9;
    add.s64 %d5, %d5, 128; add.s32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 4;
    @%p2 bra $FULL; ret;""",
)
"""The same with two mbarriers, one for full and one for empty."""

WARP_REVERSE = entry(
    "u64",
    ".shared .align 4 .b8 buf[256];"
    + GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    ld.global.u32 %r5, [%d3]; shl.b32 %r6, %r1, 2; mov.u32 %r7, buf;
    add.s32 %r8, %r7, %r6; xor.b32 %r9, %r6, 124; add.s32 %r10, %r7, %r9;
    st.shared.u32 [%r8], %r5;
    bar.warp.sync -1;
    ld.shared.u32 %r11, [%r10];
    bar.warp.sync 0xffffffff;
    add.s32 %r11, %r11, 1; st.shared.u32 [%r8], %r11;
    bar.warp.sync -1;
    ld.shared.u32 %r12, [%r10]; st.global.u32 [%d3], %r12; ret;""",
)
"""Each warp reverses its numbers twice, and adds one in between."""

HISTOGRAM = entry(
    "u64 u64",
    ".shared .align 4 .b8 bins[64];"
    + GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1]; mul.wide.s32 %d3, %r4, 4;
    add.s64 %d4, %d1, %d3; ld.global.u32 %r5, [%d4]; mov.u32 %r6, bins;
    shl.b32 %r7, %r1, 2; add.s32 %r8, %r6, %r7; mov.u32 %r9, 0; mov.u32 %r10, 1;
    shl.b32 %r12, %r5, 2; add.s32 %r13, %r6, %r12; cvt.u64.u32 %d5, %r7;
    add.s64 %d6, %d2, %d5; setp.ge.u32 %p1, %r1, 16;
    @!%p1 st.shared.u32 [%r8], %r9;
    bar.sync 0;
    red.shared.add.u32 [%r13], %r10;
    bar.sync 0;
    @%p1 ret;
    ld.shared.u32 %r11, [%r8];
    red.global.add.u32 [%d6], %r11;
    ret;""",
)
"""How often each of sixteen numbers occurs: atomics in shared and global memory."""

FILLED = entry(
    "u64",
    """.shared .align 1024 .b8 sa[8192]; .shared .align 1024 .b8 sb[1024];
    mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0]; mov.u32 %r2, sa; mov.u32 %r3, sb;
    mov.u32 %r4, 0x3F803F80; shl.b32 %r5, %r1, 3; add.s32 %r6, %r3, %r5;
    st.shared.v2.u32 [%r6], {%r4, %r4}; shl.b32 %r5, %r1, 2; add.s32 %r7, %r2, %r5;
    mov.u32 %r8, 0;
$FILL: st.shared.u32 [%r7], %r4; add.s32 %r7, %r7, 512; add.s32 %r8, %r8, 1;
    setp.lt.u32 %p1, %r8, 16; @%p1 bra $FILL;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    cvt.u64.u32 %d2, %r2; shr.u64 %d2, %d2, 4; or.b64 %d2, %d2, 0x4000004000010000;
    cvt.u64.u32 %d3, %r3; shr.u64 %d3, %d3, 4; or.b64 %d3, %d3, 0x4000004000010000;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4},
      %d2, %d3, 0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    add.f32 %f1, %f1, %f2; mul.wide.u32 %d4, %r1, 4; add.s64 %d5, %d1, %d4;
    st.global.f32 [%d5], %f1; ret;""",
)
"""Ordinary stores fill the operands of a product of four warps."""

STEP = """add.s64 %d6, %d4, {offset}; add.s64 %d7, %d5, {offset};
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f1, %f2, %f3, %f4}},
      %d6, %d7, {scale}, 1, 1, 0, 0;
"""
TENSOR_RING = entry(
    "u64 u64 u64",
    """.shared .align 1024 .b8 sa[16384]; .shared .align 1024 .b8 sb[2048];
    .shared .align 8 .b8 bars[32];
    mov.u32 %r1, %tid.x; ld.param.u64 %d9, [k_0]; ld.param.u64 %d10, [k_1];
    ld.param.u64 %d1, [k_2]; mov.u32 %r2, sa; mov.u32 %r3, sb; mov.u32 %r4, bars;
    mov.u32 %r5, 0; mov.u32 %r10, 0; setp.ne.s32 %p1, %r1, 0; @%p1 bra $READY;
    mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.init.shared::cta.b64 [%r4+8], 1;
    mbarrier.init.shared::cta.b64 [%r4+16], 1;
    mbarrier.init.shared::cta.b64 [%r4+24], 1;
    fence.mbarrier_init.release.cluster;
$READY: bar.sync 0;
    setp.lt.u32 %p2, %r1, 128; @%p2 bra $CONSUMER;
    setp.ne.u32 %p3, %r1, 128; @%p3 ret;
$P: and.b32 %r11, %r10, 1; shr.u32 %r12, %r10, 1; and.b32 %r12, %r12, 1;
    xor.b32 %r12, %r12, 1; shl.b32 %r13, %r11, 3; add.s32 %r14, %r4, %r13;
$EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r14+16], %r12;
    @!%p4 bra $EMPTY;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r14], 9216;
    shl.b32 %r15, %r11, 13; add.s32 %r15, %r2, %r15; shl.b32 %r16, %r11, 10;
    add.s32 %r16, %r3, %r16; shl.b32 %r17, %r10, 6;
"""
    f"{COPY} [%r15], [%d9, {{%r17, %r5}}], [%r14];\n"
    f"{COPY} [%r16], [%d10, {{%r17, %r5}}], [%r14];\n"
    """
    add.s32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, 4; @%p5 bra $P; ret;
$CONSUMER: and.b32 %r11, %r10, 1; shr.u32 %r12, %r10, 1; and.b32 %r12, %r12, 1;
    shl.b32 %r13, %r11, 3; add.s32 %r14, %r4, %r13;
$FULL: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r14], %r12; @!%p4 bra $FULL;
    shl.b32 %r15, %r11, 13; add.s32 %r15, %r2, %r15; shl.b32 %r16, %r11, 10;
    add.s32 %r16, %r3, %r16; setp.ne.u32 %p6, %r10, 0;
    cvt.u64.u32 %d4, %r15; shr.u64 %d4, %d4, 4; or.b64 %d4, %d4, 0x4000004000010000;
    cvt.u64.u32 %d5, %r16; shr.u64 %d5, %d5, 4; or.b64 %d5, %d5, 0x4000004000010000;
    wgmma.fence.sync.aligned;
"""
    + "".join(STEP.format(offset=2 * i, scale=1 if i else "%p6") for i in range(4))
    + """wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r14+16];
    add.s32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, 4; @%p5 bra $CONSUMER;
    shr.u32 %r6, %r1, 5; shl.b32 %r6, %r6, 4; and.b32 %r7, %r1, 31;
    shr.u32 %r8, %r7, 2; add.s32 %r6, %r6, %r8; and.b32 %r9, %r7, 3;
    shl.b32 %r6, %r6, 5; shl.b32 %r9, %r9, 3; add.s32 %r6, %r6, %r9;
    cvt.s64.s32 %d6, %r6; add.s64 %d7, %d1, %d6; st.global.v2.f32 [%d7], {%f1, %f2};
    st.global.v2.f32 [%d7+256], {%f3, %f4}; ret;""",
)
"""A producer thread, a ring of two stages, four warps that multiply: K is 256."""


LAST_BLOCK = entry(
    "u64 u64 u64 u64",
    ".shared .align 4 .b8 last[4];"
    + GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1]; ld.param.u64 %d9, [k_2];
    ld.param.u64 %d10, [k_3]; mul.wide.u32 %d3, %r4, 4; add.s64 %d4, %d1, %d3;
    ld.global.u32 %r5, [%d4]; redux.sync.add.s32 %r5, %r5, -1;
    mul.wide.u32 %d5, %r2, 4; add.s64 %d6, %d2, %d5; mov.u32 %r6, last;
    mov.u32 %r7, %nctaid.x; sub.s32 %r8, %r7, 1; mov.u32 %r12, 1;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra $JOIN;
    st.global.u32 [%d6], %r5;
    membar.gl;
    atom.global.add.u32 %r9, [%d9], %r12;
    fence.acq_rel.gpu;
    setp.eq.u32 %p2, %r9, %r8; selp.u32 %r10, 1, 0, %p2; st.shared.u32 [%r6], %r10;
$JOIN: bar.sync 0;
    ld.shared.u32 %r10, [%r6]; setp.eq.u32 %p3, %r10, 0; @%p3 ret;
    setp.ge.u32 %p4, %r1, %r7; mov.u32 %r11, 0; mul.wide.u32 %d7, %r1, 4;
    add.s64 %d8, %d2, %d7; @!%p4 ld.global.u32 %r11, [%d8];
    redux.sync.add.s32 %r11, %r11, -1; @!%p1 st.global.u32 [%d10], %r11; ret;""",
)
"""The block that comes last adds up what all blocks have left behind a fence."""

FLAGGED = entry(
    "u64 u64 u64",
    """mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; ld.param.u64 %d1, [k_0];
    ld.param.u64 %d2, [k_1]; ld.param.u64 %d3, [k_2]; mul.wide.u32 %d4, %r1, 4;
    add.s64 %d5, %d1, %d4; add.s64 %d6, %d2, %d4; mov.u32 %r5, 1;
    setp.ne.u32 %p2, %r1, 0; setp.eq.u32 %p1, %r2, 1; @%p1 bra $WRITER;
$SPIN: @%p2 bra $READY;
    ld.acquire.gpu.global.u32 %r3, [%d3]; setp.eq.u32 %p3, %r3, 0; @%p3 bra $SPIN;
$READY: bar.sync 0;
    ld.global.u32 %r4, [%d5]; st.global.u32 [%d6], %r4; ret;
$WRITER: st.global.u32 [%d5], %r1; bar.sync 0;
    @%p2 ret;
    st.release.gpu.global.u32 [%d3], %r5; ret;""",
)
"""A block waits for a flag that the next one raises behind its data."""


@dataclass(frozen=True)
class Written:
    """A kernel by hand: text, launch, arguments, and the array that it must leave."""

    text: str
    grid: int
    block: int
    arguments: Callable[[], Arrays]
    answer: Callable[..., Any]

    def run(self, text: str) -> bool:
        """Launch a text; whether the last array is right.  Raises `Fault`."""
        arguments = self.arguments()
        right = self.answer(*(a.copy() for a in arguments))
        launch(text, self.grid, self.block, *arguments)
        return np.array_equal(arguments[-1], right)


@dataclass(frozen=True)
class Tensors:
    """The ring, whose arguments are descriptors of tensors."""

    text: str

    def run(self, text: str) -> bool:
        """Launch a text; whether D is right.  Raises `Fault`."""
        rng = np.random.default_rng(0)
        a, b = (rng.integers(-4, 5, (n, 256)).astype("f4") for n in (64, 8))
        memory = ptx.Memory(limit=1 << 20)
        maps: list[int] = []
        for matrix in (a, b):
            address = memory.allocate(2 * matrix.size)
            there = memory.bytes(address, 2 * matrix.size)
            there.view("i2")[:] = to_bf16(matrix).ravel()
            rows = len(matrix)
            tensor = ptx.TensorMap(address, 2, (256, rows), (512,), (64, rows), 128)
            maps.append(tensor.encode(memory))
        out = memory.allocate(64 * 8 * 4)
        packed = b"".join(np.uint64(v).tobytes() for v in (*maps, out))
        ptx.Module(text).launch("k", 1, 256, packed, memory)
        d = memory.bytes(out, 64 * 8 * 4).view("f4").reshape(64, 8)
        return np.array_equal(d, a @ b.T)


def ints(high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, high, shape).astype("i4")


WRITTEN: dict[str, Written | Tensors] = {
    "named barriers": Written(
        NAMED,
        1,
        64,
        lambda: (ints(99, 4, 32), np.zeros((4, 32), "i4")),
        lambda x, _: x[:, ::-1],
    ),
    "mbarriers": Written(
        HANDED,
        1,
        64,
        lambda: (ints(99, 4, 32), np.zeros((4, 32), "i4")),
        lambda x, _: x[:, ::-1],
    ),
    "warp reverse": Written(
        WARP_REVERSE, 2, 64, lambda: (ints(99, 128),), lambda x: x + 1
    ),
    "histogram": Written(
        HISTOGRAM,
        2,
        64,
        lambda: (ints(16, 128), np.zeros(16, "i4")),
        lambda x, _: np.bincount(x, minlength=16),
    ),
    "last block": Written(
        LAST_BLOCK,
        5,
        32,
        lambda: (
            ints(99, 160),
            np.zeros(5, "i4"),
            np.zeros(1, "i4"),
            np.zeros(1, "i4"),
        ),
        lambda x, *_: x.sum()[None],
    ),
    "flag": Written(
        FLAGGED,
        2,
        32,
        lambda: (np.zeros(32, "i4"), np.zeros(32, "i4"), np.zeros(1, "i4")),
        lambda *_: np.ones(1, "i4"),
    ),
    "shuffles": Written(
        SUM,
        5,
        64,
        lambda: (ints(9, 320).astype("f4"), np.zeros(1, "f4")),
        lambda x, _: x.sum()[None],
    ),
    "cp.async": Written(
        RING,
        2,
        64,
        lambda: (ints(99, 128, 4).astype("f4"), np.zeros((128, 4), "f4")),
        lambda x, _: x,
    ),
    "ldmatrix and mma": Written(
        PRODUCT, 1, 32, matrices, lambda a, b, _: a.astype("f4") @ b.astype("f4") + 1
    ),
    "bulk copy": Written(
        BULK,
        1,
        128,
        lambda: (ints(99, 128).astype("f4"), np.zeros(128, "f4")),
        lambda x, _: x,
    ),
    "filled wgmma": Written(
        FILLED, 1, 128, lambda: (np.zeros(128, "f4"),), lambda x: x + 32
    ),
    "tensor ring": Tensors(TENSOR_RING),
}
