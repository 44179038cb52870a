"""Clusters: blocks that read, write and signal each other's shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from gpucodegen import ptx
from gpucodegen.ptx import faults
from tests.ptx.kernels import GLOBAL_ID, changed, entry, fault, launch

ARRIVE = "barrier.cluster.arrive.release.aligned;"
MEET = f"{ARRIVE} barrier.cluster.wait.acquire.aligned;"


def clustered(extents: str, text: str) -> str:
    """A kernel whose text says its cluster."""
    return text.replace(")\n{", f") .reqnctapercluster {extents}\n{{", 1)


NAMES = (
    "clusterid.x clusterid.y nclusterid.x cluster_ctaid.x cluster_ctaid.y "
    "cluster_nctaid.y cluster_ctarank cluster_nctarank is_explicit_cluster"
).split()


def test_blocks_know_their_cluster() -> None:
    text = """mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1; ld.param.u64 %d1, [k_0]; mov.u32 %r6, %tid.x;
    mad.wide.u32 %d2, %r4, 36, %d1; setp.ne.u32 %p1, %r6, 0; @%p1 ret;"""
    for i, name in enumerate(NAMES):
        move = f"mov.u32 %r5, %{name};"
        if name.startswith("is_"):
            move = f"mov.pred %p2, %{name}; selp.u32 %r5, 1, 0, %p2;"
        text += f"{move} st.global.u32 [%d2+{4 * i}], %r5;\n"
    out = np.zeros((4, 6, len(NAMES)), "i4")
    launch(clustered("2, 4, 1", entry("u64", text + "ret;")), (6, 4), 32, out)
    for y, x in np.ndindex(4, 6):
        right = [x // 2, y // 4, 3, x % 2, y % 4, 4, x % 2 + 2 * (y % 4), 8, 1]
        assert out[y, x].tolist() == right


RING = clustered(
    "4, 1, 1",
    entry(
        "u64",
        ".shared .align 16 .b8 tile[256];"
        + GLOBAL_ID
        + f"""
    ld.param.u64 %d1, [k_0]; mad.wide.u32 %d2, %r4, 4, %d1; mov.u32 %r5, tile;
    mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r4;
    {MEET}
    mov.u32 %r7, %cluster_ctarank; add.u32 %r8, %r7, 1; and.b32 %r8, %r8, 3;
    mapa.shared::cluster.u32 %r9, %r6, %r8; ld.shared::cluster.u32 %r10, [%r9];
    getctarank.shared::cluster.u32 %r11, %r9; mad.lo.u32 %r10, %r11, 1000, %r10;
    {MEET}
    st.global.u32 [%d2], %r10; ret;""",
    ),
)


def test_blocks_read_their_neighbours() -> None:
    out = np.zeros((8, 64), "i4")
    launch(RING, 8, 64, out)
    for block in range(8):
        other = block // 4 * 4 + (block + 1) % 4
        right = other * 64 + np.arange(64) + 1000 * (other % 4)
        assert (out[block] == right).all()


WRITE = "st.shared.u32 [%r6], %r4;\n"


@pytest.mark.cases(
    ("edit", "kind"),
    [
        ((f"{WRITE}    {MEET}", WRITE), faults.RACE),
        ((f"    {MEET}\n    st.global", "    st.global"), ""),
        (
            (f"    {MEET}\n    st.global", "    st.shared.u32 [%r6], %r10; st.global"),
            faults.RACE,
        ),
        ((f"{WRITE}    {MEET}", f"{WRITE} bar.sync 0;"), faults.RACE),
        ((f"{WRITE}    {MEET}", f"{WRITE} {ARRIVE}"), faults.RACE),
        (
            (f"    {MEET}\n    st.g", f"    {ARRIVE}{ARRIVE}\n    st.g"),
            faults.DIVERGENT_BARRIER,
        ),
        (
            (f"    {MEET}\n    st.g", f"    {MEET.split()[1]}\n    st.g"),
            faults.DIVERGENT_BARRIER,
        ),
        ((ARRIVE, "setp.eq.u32 %p1, %r4, 70; @%p1 bra $X; " + ARRIVE), faults.RACE),
        (
            (ARRIVE, "setp.eq.u32 %p1, %r4, 70; @%p1 bar.sync 0; " + ARRIVE),
            faults.DIVERGENT_BARRIER,
        ),
        ((WRITE, ""), faults.UNINITIALISED),
        (("ld.shared::cluster.u32", "ld.shared.u32"), faults.OUT_OF_BOUNDS),
        (("and.b32 %r8, %r8, 3;", ""), faults.OUT_OF_BOUNDS),
        (("[%r9];", "[%r9+256];"), faults.OUT_OF_BOUNDS),
        (("[%r9];", "[%r9+2];"), faults.MISALIGNED),
    ],
)
def test_what_goes_wrong_between_blocks(edit: tuple[str, str], kind: str) -> None:
    text = RING.replace(*edit, 1)
    assert text != RING
    if "$X" in text:
        text = text.replace("mov.u32 %r7, %cluster", "$X: mov.u32 %r7, %cluster", 1)
    out = np.zeros((8, 64), "i4")
    if not kind:
        launch(text, 8, 64, out)
        return
    problem = fault(text, 8, 64, out)
    assert problem.kind == kind, problem
    assert problem.line


def test_a_block_that_has_ended_lends_no_memory() -> None:
    text = changed(RING, (f"    {MEET}\n    st.global", "    st.global"))
    late = "mov.u32 %r20, 0; setp.ne.u32 %p3, %r7, 0; @%p3 bra $N;\n"
    late += "$S: add.u32 %r20, %r20, 1; setp.lt.u32 %p4, %r20, 9; @%p4 bra $S;\n"
    late += "$N: mov.u32 %r21, 0; @!%p3 bra $L; ret;\n$L: "
    text = text.replace("mapa.shared", late + "mapa.shared", 1)
    problem = fault(text, 8, 64, np.zeros((8, 64), "i4"))
    assert problem.kind == faults.OUT_OF_BOUNDS
    assert "which has ended" in str(problem)


def test_threads_that_leave_are_not_waited_for() -> None:
    text = """mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 40; @%p1 ret;
    barrier.cluster.arrive.relaxed; barrier.cluster.wait; ld.param.u64 %d1, [k_0];
    red.global.add.u32 [%d1], 1; ret;"""
    out = np.zeros(1, "i4")
    launch(clustered("2, 1, 1", entry("u64", text)), 4, 64, out)
    assert out[0] == 4 * 41


@pytest.mark.cases(
    ("grid", "cluster"), [(6, None), (8, 2), (8, (2, 2, 1)), (32, (32, 1, 1))]
)
def test_clusters_that_no_driver_takes(
    grid: int, cluster: int | tuple[int, int, int] | None
) -> None:
    with pytest.raises(ValueError, match=r"^k: "):
        launch(RING, grid, 64, np.zeros((8, 64), "i4"), cluster=cluster)


def test_the_launch_may_say_the_cluster() -> None:
    out = np.zeros((8, 64), "i4")
    launch(RING.replace(".reqnctapercluster 4, 1, 1", ""), 8, 64, out, cluster=4)
    assert out[0, 0] == 1064


COUNTS = clustered(
    "2, 1, 1",
    entry(
        "u64",
        ".shared .align 16 .b8 tile[256]; .shared .align 8 .b8 bar[8];"
        + GLOBAL_ID
        + f"""
    ld.param.u64 %d1, [k_0]; mad.wide.u32 %d2, %r4, 4, %d1; mov.u32 %r5, tile;
    mov.u32 %r6, bar; mov.u32 %r20, 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra $I;
    mbarrier.init.shared::cta.b64 [%r6], 64; fence.mbarrier_init.release.cluster;
$I: {MEET}
    mov.u32 %r7, %cluster_ctarank; xor.b32 %r7, %r7, 1; mad.lo.u32 %r8, %r1, 4, %r5;
    mapa.shared::cluster.u32 %r9, %r8, %r7; st.shared::cluster.u32 [%r9], %r4;
    mapa.shared::cluster.u32 %r10, %r6, %r7;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
$W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r6], %r20;
    @!%p2 bra $W; xor.b32 %r11, %r8, 252; ld.shared.u32 %r12, [%r11];
    st.global.u32 [%d2], %r12; {MEET} ret;""",
    ),
)


def test_a_remote_arrival_hands_over_what_was_stored() -> None:
    out = np.zeros((4, 64), "i4")
    launch(COUNTS, 4, 64, out)
    lanes = np.arange(64)
    assert (out == [(b ^ 1) * 64 + (lanes ^ 63) for b in range(4)]).all()
    late = changed(COUNTS, ("try_wait.parity.acquire", "try_wait.parity.relaxed"))
    assert fault(late, 4, 64, out).kind == faults.RACE
    short = changed(COUNTS, ("[%r6], 64;", "[%r6], 65;"))
    assert fault(short, 4, 64, out).kind == faults.DEADLOCK
    weak = changed(COUNTS, ("arrive.release.cluster", "arrive.relaxed.cluster"))
    assert fault(weak, 4, 64, out).kind == faults.RACE


ASYNC = changed(
    COUNTS,
    ("[%r6], 64;", "[%r6], 1;"),
    (
        "fence.mbarrier_init",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 256; fence.mbarrier_init",
    ),
    ("st.shared::cluster.u32 [%r9], %r4;", ""),
    (
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];",
        (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 "
            "[%r9], %r4, "
            "[%r10];"
        ),
    ),
)


def test_stores_count_their_bytes() -> None:
    out = np.zeros((4, 64), "i4")
    launch(ASYNC, 4, 64, out)
    assert (out == [(b ^ 1) * 64 + (np.arange(64) ^ 63) for b in range(4)]).all()


BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
CAST = clustered(
    "4, 1, 1",
    entry(
        "u64 u64",
        ".shared .align 128 .b8 tile[512]; .shared .align 8 .b8 bar[8];"
        + GLOBAL_ID
        + f"""
    ld.param.u64 %d1, [k_0]; ld.param.u64 %d3, [k_1]; mad.wide.u32 %d2, %r4, 4, %d1;
    mov.u32 %r5, tile; mov.u32 %r6, bar; mov.u32 %r20, 0; mov.u16 %h1, 13;
    mov.u32 %r7, %cluster_ctarank; setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $I; mbarrier.init.shared::cta.b64 [%r6], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 512;
    fence.mbarrier_init.release.cluster;
$I: {MEET}
    setp.ne.u32 %p3, %r7, 0; or.pred %p3, %p3, %p1; @%p3 bra $W;
    {BULK}.multicast::cluster [%r5], [%d3], 512, [%r6], %h1;
    mov.u32 %r15, 1; mapa.shared::cluster.u32 %r16, %r5, %r15;
    mapa.shared::cluster.u32 %r17, %r6, %r15;
$V: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r6], %r20; @!%p2 bra $V;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
      [%r16], [%r5], 512, [%r17];
$W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r6], %r20; @!%p2 bra $W;
    mad.lo.u32 %r8, %r1, 4, %r5; ld.shared.u32 %r12, [%r8];
    st.global.u32 [%d2], %r12; {MEET} ret;""",
    ),
)


def test_a_copy_goes_to_several_blocks_and_from_block_to_block() -> None:
    x, out = np.arange(128, dtype="i4"), np.zeros((8, 128), "i4")
    launch(CAST, 8, 128, out, x)
    assert (out == x).all()
    fewer = changed(CAST, ("mov.u16 %h1, 13;", "mov.u16 %h1, 5;"))
    assert fault(fewer, 8, 128, out, x).kind == faults.DEADLOCK
    near = changed(CAST, ("[%r16], [%r5], 512", "[%r16], [%r5+16], 512"))
    assert fault(near, 8, 128, out, x).kind == faults.OUT_OF_BOUNDS


STATES = entry(
    "u64",
    """.shared .align 8 .b8 bar[8]; mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0];
    mov.u32 %r2, bar; setp.ne.u32 %p1, %r1, 0; @%p1 bra $I;
    mbarrier.init.shared.b64 [%r2], 64;
$I: bar.sync 0; mad.wide.u32 %d2, %r1, 8, %d1; setp.lt.u32 %p2, %r1, 32; mov.u32 %r9, 0;
    @%p2 mbarrier.arrive_drop.shared.b64 %d3, [%r2];
    @!%p2 mbarrier.arrive.shared.b64 %d3, [%r2];
    mbarrier.pending_count.b64 %r3, %d3; st.global.u32 [%d2], %r3;
$W: mbarrier.test_wait.shared.b64 %p3, [%r2], %d3; @!%p3 bra $W;
    @%p2 bra $E; mbarrier.arrive.shared.b64 %d4, [%r2];
    mbarrier.pending_count.b64 %r3, %d4; st.global.u32 [%d2+4], %r3;
$V: mbarrier.try_wait.shared.b64 %p3, [%r2], %d4, 100; @!%p3 bra $V;
$E: ret;""",
)


def test_arrivals_return_a_state_and_threads_drop_out() -> None:
    out = np.zeros((64, 2), "i4")
    launch(STATES, 1, 64, out)
    assert sorted(out[:, 0]) == list(range(1, 65))
    assert sorted(out[32:, 1]) == list(range(1, 33))
    stays = changed(STATES, ("arrive_drop", "arrive"))
    assert fault(stays, 1, 64, out).kind == faults.DEADLOCK


STORED = entry(
    "u64",
    """.shared .align 128 .b8 tile[512]; mov.u32 %r1, %tid.x; ld.param.u64 %d1, [k_0];
    mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1;
    fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], 512;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; ret;""",
)


def test_bulk_stores_land_at_their_wait() -> None:
    out = np.zeros(128, "i4")
    launch(STORED, 1, 128, out)
    assert (out == np.arange(128)).all()


@pytest.mark.cases(
    ("edit", "kind"),
    [
        (("fence.proxy.async.shared::cta;", ""), faults.RACE),
        (("cp.async.bulk.wait_group.read 0;", ""), faults.IN_FLIGHT),
        (("wait_group.read 0;", "wait_group.read 1;"), faults.IN_FLIGHT),
        (("wait_group.read 0;", "wait_group 0; st.shared.u32 [%r2], 7;"), ""),
        (
            (
                "bulk.wait",
                "bulk.wait_group 1; st.shared.u32 [%r2], 7; cp.async.bulk.wait",
            ),
            faults.IN_FLIGHT,
        ),
        (("[%d1], [%r2], 512", "[%d1+16], [%r2], 512"), faults.OUT_OF_BOUNDS),
        (("[%d1], [%r2], 512", "[%d1], [%r2+16], 512"), faults.OUT_OF_BOUNDS),
        (("[%d1], [%r2], 512", "[%d1+8], [%r2], 496"), faults.MISALIGNED),
    ],
)
def test_bulk_stores_gone_wrong(edit: tuple[str, str], kind: str) -> None:
    text, out = changed(STORED, edit), np.zeros(128, "i4")
    if kind:
        assert fault(text, 1, 128, out).kind == kind
    else:
        launch(text, 1, 128, out)


def test_boxes_are_stored_where_the_tensor_is() -> None:
    text = STORED.replace("ld.param.u64 %d1, [k_0];", "ld.param.u64 %d1, [k_0];", 1)
    text = text.replace(
        "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], 512;",
        "mov.u32 %r5, 0; mov.u32 %r6, 2; cp.async.bulk.tensor.2d.global.shared::cta"
        ".tile.bulk_group [%d1, {%r5, %r6}], [%r2];",
    )
    memory = ptx.Memory(limit=1 << 20)
    place = memory.allocate(5 * 128)
    memory.bytes(place, 640)[:] = 0
    tensor = ptx.TensorMap(place, 4, (32, 5), (128,), (32, 4), 0)
    packed = np.uint64(tensor.encode(memory)).tobytes()
    ptx.Module(text).launch("k", 1, 128, packed, memory)
    rows = memory.bytes(place, 640).view("i4").reshape(5, 32)
    assert not rows[:2].any()
    assert (rows[2:].ravel() == np.arange(96)).all()


def test_clocks_count_and_processors_have_numbers() -> None:
    text = """mov.u32 %r1, %clock; mov.u64 %d3, %globaltimer; mov.u32 %r2, %clock;
    mov.u64 %d2, %clock64; sub.u32 %r3, %r2, %r1; cvt.u32.u64 %r4, %d2;
    sub.u32 %r4, %r4, %r2;
    ld.param.u64 %d1, [k_0]; mov.u32 %r5, %smid; mov.u32 %r6, %nsmid;
    mov.u32 %r7, %nwarpid;
    st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6}; st.global.u32 [%d1+16], %r7; ret;"""
    out = np.zeros(5, "i4")
    launch(entry("u64", text), 1, 1, out)
    assert (out[:2] > 0).all()
    assert out[2:].tolist() == [0, 132, 1]
