"""Tensor copies with a swizzle, and products of four warps."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen import ptx
from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.matrices import operand_addresses
from gpucodegen.ptx.floats import to_bf16
from tests.ptx.kernels import changed, entry, launch
from tests.ptx.test_products import BITS, codes, fragment, value

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


def multiply(text: str, threads: int = 128, *, by_columns: bool = False) -> np.ndarray:
    """What a kernel makes of A and B; four rows of its box lie outside of A."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (n, 64)).astype("f4") for n in (ROWS, 8))
    memory = ptx.Memory(limit=1 << 20)
    maps = []
    for matrix in (a, b):
        address = memory.allocate(2 * matrix.size)
        flip = by_columns and matrix is b
        held = to_bf16(matrix.T if flip else matrix)
        memory.bytes(address, 2 * matrix.size).view("i2")[:] = held.ravel()
        rows = 64 if matrix is a else 8
        extents, strides, box = (64, len(matrix)), (128,), (64, rows)
        if flip:
            extents, strides, box = (8, 64), (16,), (8, 64)
        swizzle = 0 if flip else 128
        tensor = ptx.TensorMap(address, 2, extents, strides, box, swizzle)
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


@pytest.mark.cases(
    ("edit", "kind"),
    [
        (("@!%p2 bra $T;", ""), faults.IN_FLIGHT),
        ((" _, [%r4], 9216", " _, [%r4], 9232"), faults.DEADLOCK),
        (("[%d10, {%r5, %r5}]", "[%d1, {%r5, %r5}]"), faults.OUT_OF_BOUNDS),
        ((f"{COPY} [%r3]", f"{COPY} [%r3+128]"), faults.MISALIGNED),
        (("add.s64 %d4, %d2, 6;", "add.s64 %d4, %d2, 600;"), faults.OUT_OF_BOUNDS),
        (("wgmma.commit_group.sync.aligned; wgmma", AGAIN), faults.IN_FLIGHT),
        (("wgmma.fence.sync.aligned;", ""), faults.IN_FLIGHT),
        (
            ("fence.sync.aligned;", "fence.sync.aligned; mov.f32 %f2, 0f3F800000;"),
            faults.IN_FLIGHT,
        ),
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


@pytest.mark.slow
def test_columns_may_lie_in_rows() -> None:
    """B by its columns, as a copy of rows of 8 brings it, without a swizzle."""
    text = changed(
        PRODUCT, ("or.b64 %d3, %d3, 0x4000004000010000", "or.b64 %d3, %d3, 0x80000")
    )
    text = text.replace("1, 1, 0, 0;", "1, 1, 0, 1;")
    for i in range(1, 4):
        text = changed(
            text, (f"add.s64 %d5, %d3, {2 * i};", f"add.s64 %d5, %d3, {16 * i};")
        )
    multiply(text, by_columns=True)
    with pytest.raises(AssertionError):
        multiply(text.replace("0x80000", "0x70000"), by_columns=True)


@pytest.mark.parametrize("span", [32, 64, 128])
def test_transposed_operands_lie_as_copies_bring_them(span: int) -> None:
    """A box of 8 and more rows along K, each of one span, with a swizzle."""
    mode, across = {128: 1, 64: 2, 32: 3}[span], span // 2
    word = (1024 >> 4) | (8 * span >> 4) << 32 | mode << 62
    found = operand_addresses(word, across, 16, 2, transposed=True)
    tensor = ptx.TensorMap(0, 2, (across, 16), (span,), (across, 16), span)
    right = tensor.places(1024).reshape(16, across, 2)[:, :, 0].T + 1024
    assert (found == right).all()


TYPES = [
    ("f32", "f16", "f16", "1, -1, 0"),
    ("f16", "f16", "f16", "1, 1, 0"),
    ("f32", "bf16", "bf16", "-1, -1, 0"),
    ("f32", "tf32", "tf32", "1, 1"),
    ("f32", "e4m3", "e5m2", "1, 1"),
    ("f16", "e5m2", "e5m2", "-1, 1"),
    ("s32", "s8", "u8", ""),
    ("s32", "u8", "u8", ""),
]


@pytest.mark.cases(("total", "left", "right", "signs"), TYPES)
def test_types_of_factors(total: str, left: str, right: str, signs: str) -> None:
    """A in registers, B in eight rows of 32 bytes as two pieces of 16."""
    depth = 256 // BITS[left]
    a, b = codes(left, (64, depth), 0), codes(right, (depth, 8), 1)
    words = np.concatenate(
        [fragment(a[16 * w : 16 * w + 16], left, True) for w in range(4)]
    )
    octets = b.T.astype(f"u{BITS[right] // 8}").copy().view("u1").reshape(8, 2, 16)
    rows = np.ascontiguousarray(octets.swapaxes(0, 1))
    count = 2 if total == "f16" else 4
    kind = "%f" if total == "f32" else "%r"
    sums = ", ".join(f"{kind}{20 + i}" for i in range(count))
    stores = "".join(
        f"st.global.b32 [%d3+{4 * i}], {kind}{20 + i};" for i in range(count)
    )
    loads = "".join(f"mov.b32 {kind}{20 + i}, 0;" for i in range(count))
    form = f"m64n8k{depth}.{total}.{left}.{right}"
    step = f"wgmma.mma_async.sync.aligned.{form} {{{sums}}}, "
    step += "{%r10, %r11, %r12, %r13}, %d4"
    tail = f", {signs};" if signs else ";"
    body = f""".shared .align 128 .b8 sb[256]; mov.u32 %r1, %tid.x; {loads}
    ld.param.u64 %d0, [k_0]; ld.param.u64 %d1, [k_1]; ld.param.u64 %d2, [k_2];
    mad.wide.u32 %d5, %r1, 16, %d0; ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%d5];
    mad.wide.u32 %d6, %r1, 2, %d1; ld.global.u16 %h1, [%d6]; mov.u32 %r2, sb;
    mad.lo.u32 %r3, %r1, 2, %r2; st.shared.u16 [%r3], %h1; fence.proxy.async;
    bar.sync 0; shr.u32 %r4, %r2, 4; cvt.u64.u32 %d4, %r4; or.b64 %d4, %d4, 0x80000;
    mad.wide.u32 %d3, %r1, {4 * count}, %d2; wgmma.fence.sync.aligned;
    {step}, 0{tail} {step}, 1{tail}
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; {stores} ret;"""
    out = np.zeros((128, count), "i4")
    run = launch(entry("u64 u64 u64", body), 1, 128, words, rows, out, measure=True)
    sign = -1 if signs.split(", ")[:2].count("-1") == 1 else 1
    product = 2 * sign * (value(a, left) @ value(b, right))
    lane, number = np.arange(128)[:, None], np.arange(4)
    row = 16 * (lane // 32) + lane % 32 // 4 + 8 * (number // 2)
    found = out.view({"f16": "f2", "f32": "f4", "s32": "i4"}[total])
    assert (found == product[row, 2 * (lane % 4) + number % 2]).all()
    assert run.totals()["flops"] == 2 * 2 * 64 * 8 * depth
