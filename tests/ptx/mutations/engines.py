"""Mutations of kernels by hand that have matrices multiplied and copied."""

from __future__ import annotations

from gpucodegen.ptx.faults import (
    DEADLOCK,
    IN_FLIGHT,
    INCOMPLETE_WARP,
    MBARRIER,
    MISALIGNED,
    OUT_OF_BOUNDS,
    RACE,
    UNINITIALISED,
)
from tests.ptx.mutations.edits import (
    BARRIER,
    POLL,
    TENSOR,
    Equivalent,
    drop,
    moved,
    put,
    shifted,
    some_only,
)

ENGINES = [
    ("ldmatrix and mma", "barrier dropped", RACE, (drop(BARRIER),)),
    (
        "ldmatrix and mma",
        "barrier of the warp",
        Equivalent("the block is one warp"),
        (put(r"bar\.sync 0", "bar.warp.sync -1"),),
    ),
    (
        "ldmatrix and mma",
        "rows misaligned",
        MISALIGNED,
        (shifted(r"ldmatrix\S*x2", 8),),
    ),
    (
        "ldmatrix and mma",
        "rows beyond the array",
        OUT_OF_BOUNDS,
        (shifted(r"ldmatrix\S*x2", 16),),
    ),
    (
        "ldmatrix and mma",
        "a lane leaves",
        INCOMPLETE_WARP,
        (put(r"bar\.sync 0;", r"\g<0> setp.eq.u32 %p1, %r1, 3; @%p1 ret;"),),
    ),
    (
        "ldmatrix and mma",
        "product of some lanes",
        INCOMPLETE_WARP,
        (some_only(r"mma\.sync", 0, 16),),
    ),
    (
        "ldmatrix and mma",
        "vector misaligned",
        MISALIGNED,
        (shifted(r"st\.shared\.v4", 4),),
    ),
    ("ldmatrix and mma", "store dropped", UNINITIALISED, (drop(r"st\.shared\.v2"),)),
    (
        "ldmatrix and mma",
        "result shifted",
        (RACE, OUT_OF_BOUNDS),
        (shifted(r"st\.global\.v2", 8, 1),),
    ),
    (
        "bulk copy",
        "too many bytes expected",
        DEADLOCK,
        (put(r"\[%r3\], 512", "[%r3], 528"),),
    ),
    (
        "bulk copy",
        "too few bytes expected",
        DEADLOCK,
        (put(r"\[%r3\], 512", "[%r3], 496"),),
    ),
    (
        "bulk copy",
        "fewer bytes copied",
        DEADLOCK,
        (put(r"\[%d1\], 512", "[%d1], 496"),),
    ),
    ("bulk copy", "wait dropped", IN_FLIGHT, (drop(r"@!p bra"),)),
    (
        "bulk copy",
        "only one thread waits",
        (IN_FLIGHT, RACE),
        (put(r"@!p bra \$T; \}", "or.pred p, p, %p1; @!p bra $T; }"),),
    ),
    ("bulk copy", "not initialised", MBARRIER, (drop(r"mbarrier\.init"),)),
    (
        "bulk copy",
        "one arrival more",
        DEADLOCK,
        (put(r"b64 \[%r3\], 1;", "b64 [%r3], 2;"),),
    ),
    ("bulk copy", "barrier dropped", (RACE, MBARRIER), (drop(BARRIER),)),
    (
        "bulk copy",
        "wrong parity",
        IN_FLIGHT,
        (put(r"mov\.u32 %r4, 0;", "mov.u32 %r4, 1;"),),
    ),
    (
        "bulk copy",
        "source misaligned",
        MISALIGNED,
        (put(r"\[%d1\], 512", "[%d1+8], 496"),),
    ),
    (
        "bulk copy",
        "target beyond shared memory",
        OUT_OF_BOUNDS,
        (put(r"\[%r2\], \[%d1\]", "[%r2+16], [%d1]"),),
    ),
    (
        "bulk copy",
        "target written before",
        RACE,
        (
            put(
                r"mov\.u32 %r4, 0;",
                r"\g<0> shl.b32 %r5, %r1, 2; add.s32 %r6, %r2, %r5; "
                r"st.shared.u32 [%r6], %r4;",
            ),
        ),
    ),
    (
        "bulk copy",
        "target written while it comes",
        IN_FLIGHT,
        (put(r"\$T:", "@!%p1 st.shared.u32 [%r2], %r4;\n$T:"),),
    ),
    (
        "bulk copy",
        "fence of the initialisation dropped",
        Equivalent("the barrier orders the block, and there is no cluster"),
        (drop(r"fence\.mbarrier_init"),),
    ),
    ("filled wgmma", "proxy fence dropped", RACE, (drop(r"fence\.proxy"),)),
    (
        "filled wgmma",
        "proxy fence before the last stores",
        RACE,
        (moved(r"fence\.proxy", r"st\.shared\.v2"),),
    ),
    ("filled wgmma", "barrier dropped", RACE, (drop(BARRIER),)),
    ("filled wgmma", "wait dropped", IN_FLIGHT, (drop(r"wgmma\.wait"),)),
    ("filled wgmma", "wait loosened", IN_FLIGHT, (put(r"aligned 0", "aligned 1"),)),
    ("filled wgmma", "commit dropped", IN_FLIGHT, (drop(r"wgmma\.commit"),)),
    (
        "filled wgmma",
        "wait moved behind a use",
        IN_FLIGHT,
        (moved(r"wgmma\.wait", r"add\.f32"),),
    ),
    (
        "filled wgmma",
        "stores dropped",
        UNINITIALISED,
        (put(r"st\.shared\.u32 \[%r7\], %r4;", ""),),
    ),
    (
        "filled wgmma",
        "operand beyond shared memory",
        OUT_OF_BOUNDS,
        (
            put(
                r"or\.b64 %d3, %d3, 0x4000004000010000;", r"\g<0> add.s64 %d3, %d3, 64;"
            ),
        ),
    ),
    (
        "filled wgmma",
        "a lane leaves",
        INCOMPLETE_WARP,
        (put(r"bar\.sync 0;", r"\g<0> setp.eq.s32 %p3, %r1, 40; @%p3 ret;"),),
    ),
    (
        "filled wgmma",
        "proxy fence behind the barrier",
        Equivalent("it lies on the path from each store to the product all the same"),
        (moved(r"fence\.proxy", BARRIER),),
    ),
    (
        "tensor ring",
        "empty: wait dropped",
        (RACE, IN_FLIGHT, MBARRIER),
        (drop(POLL, 0),),
    ),
    ("tensor ring", "full: wait dropped", (IN_FLIGHT, UNINITIALISED), (drop(POLL, 1),)),
    (
        "tensor ring",
        "empty: arrival dropped",
        DEADLOCK,
        (drop(r"@!%p1 mbarrier\.arrive"),),
    ),
    (
        "tensor ring",
        "full: arrival expects nothing",
        (MBARRIER, DEADLOCK, IN_FLIGHT),
        (
            put(
                r"arrive\.expect_tx\.(\S+) _, \[%r14\], 9216", r"arrive.\g<1> _, [%r14]"
            ),
        ),
    ),
    ("tensor ring", "too few bytes expected", DEADLOCK, (put(r"9216", "9200"),)),
    ("tensor ring", "too many bytes expected", DEADLOCK, (put(r"9216", "10240"),)),
    ("tensor ring", "one copy dropped", DEADLOCK, (drop(TENSOR, 1),)),
    (
        "tensor ring",
        "full: expects an arrival more",
        DEADLOCK,
        (put(r"\[%r4\], 1;", "[%r4], 2;"),),
    ),
    (
        "tensor ring",
        "empty: expects an arrival more",
        DEADLOCK,
        (put(r"\[%r4\+16\], 1;", "[%r4+16], 2;"),),
    ),
    (
        "tensor ring",
        "empty: all threads arrive",
        (MBARRIER, DEADLOCK),
        (put(r"@!%p1 mbarrier\.arrive", "mbarrier.arrive"),),
    ),
    (
        "tensor ring",
        "empty: arrives before the products are over",
        (RACE, IN_FLIGHT),
        (moved(r"@!%p1 mbarrier\.arrive", r"wgmma\.commit"),),
    ),
    ("tensor ring", "wgmma: wait dropped", (RACE, IN_FLIGHT), (drop(r"wgmma\.wait"),)),
    (
        "tensor ring",
        "wgmma: wait loosened",
        (RACE, IN_FLIGHT),
        (put(r"aligned 0;", "aligned 1;"),),
    ),
    (
        "tensor ring",
        "wgmma: commit dropped",
        (RACE, IN_FLIGHT),
        (drop(r"wgmma\.commit"),),
    ),
    (
        "tensor ring",
        "both copies into one stage",
        (RACE, IN_FLIGHT, UNINITIALISED),
        (put(r"shl\.b32 %r15, %r11, 13", "mov.u32 %r15, 0"),),
    ),
    (
        "tensor ring",
        "target misaligned",
        MISALIGNED,
        (put(r"add\.s32 %r16, %r3, %r16;", r"\g<0> add.s32 %r16, %r16, 128;"),),
    ),
    ("tensor ring", "another descriptor", OUT_OF_BOUNDS, (put(r"\[%d10, ", "[%d1, "),)),
    (
        "tensor ring",
        "empty: parity flipped",
        DEADLOCK,
        (drop(r"xor\.b32 %r12, %r12, 1"),),
    ),
    (
        "tensor ring",
        "empty: one stage waits for the other",
        (DEADLOCK, RACE, IN_FLIGHT, MBARRIER),
        (put(r"\[%r14\+16\], %r12", "[%r4+16], %r12"),),
    ),
    (
        "tensor ring",
        "one step too many",
        (DEADLOCK, IN_FLIGHT),
        (put(r"%r10, 4; @%p5 bra \$P", "%r10, 5; @%p5 bra $P"),),
    ),
    (
        "tensor ring",
        "one step too few",
        DEADLOCK,
        (put(r"%r10, 4; @%p5 bra \$P", "%r10, 3; @%p5 bra $P"),),
    ),
    ("tensor ring", "barrier dropped", (RACE, MBARRIER), (drop(BARRIER),)),
    ("tensor ring", "not initialised", MBARRIER, (drop(r"mbarrier\.init", 3),)),
    (
        "tensor ring",
        "relaxed arrival",
        (RACE, IN_FLIGHT),
        (put(r"@!%p1 mbarrier\.arrive", r"\g<0>.relaxed.cta"),),
    ),
    (
        "tensor ring",
        "fence of the initialisation dropped",
        Equivalent("the barrier orders the block, and there is no cluster"),
        (drop(r"fence\.mbarrier_init"),),
    ),
]
