"""The memory of an emulated device, and what a module puts there."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

from gpucodegen import ptx
from gpucodegen.ptx.memory import BASE
from tests.ptx.kernels import entry


def test_allocations_lie_apart() -> None:
    memory = ptx.Memory(limit=1 << 20)
    a, b = memory.allocate(100), memory.allocate(100)
    assert a % 256 == b % 256 == 0
    assert b - a >= 4096
    assert memory.used == 200
    with pytest.raises(ValueError, match="not allocated"):
        memory.bytes(a + 96, 8)


def test_memory_ends() -> None:
    memory = ptx.Memory(limit=1 << 16)
    with pytest.raises(ptx.OutOfMemory, match="65536 bytes"):
        memory.allocate(1 << 16)
    held = [memory.allocate(1 << 13) for _ in range(4)]
    with pytest.raises(MemoryError):
        memory.allocate(1 << 15)
    for address in held:
        memory.free(address)
    assert memory.allocate(1 << 15)


def test_what_is_freed_is_used_again_last() -> None:
    memory = ptx.Memory(limit=1 << 16)
    first = memory.allocate(16)
    memory.free(first)
    assert memory.allocate(16) != first
    with pytest.raises(ValueError, match="no allocation starts"):
        memory.free(first)


def test_freed_pages_go_back_and_neighbours_stay() -> None:
    memory = ptx.Memory(limit=1 << 24)
    places = [memory.allocate(3_000_000) for _ in range(3)]
    for number, address in enumerate(places):
        memory.bytes(address, 3_000_000)[:] = number + 1
    memory.free(places[1])
    inner = memory.data[places[1] - BASE :][8192:2_900_000]
    if sys.platform == "linux":
        assert not inner.any()
    for number in (0, 2):
        assert (memory.bytes(places[number], 3_000_000) == number + 1).all()


VARIABLES = (
    ".version 8.4\n.target sm_90\n.address_size 64\n"
    ".global .align 4 .u32 counter = 5;\n"
    ".const .align 4 .s32 table[4] = {1, -2, 3};\n"
    + entry(
        "u64",
        """ld.param.u64 %d1, [k_0]; ld.global.u32 %r1, [counter];
    ld.const.u32 %r2, [table+4]; add.s32 %r1, %r1, %r2; st.global.u32 [counter], %r1;
    mov.u64 %d2, counter; cvta.global.u64 %d3, %d2; ld.u32 %r3, [%d3];
    st.global.u32 [%d1], %r3; ret;""",
    ).partition(".address_size 64\n")[2]
)


def test_variables_live_as_long_as_module_and_memory() -> None:
    module = ptx.Module(VARIABLES)
    values = []
    memories = [ptx.Memory(limit=1 << 16) for _ in range(2)]
    for memory in (memories[0], memories[0], memories[1]):
        out = memory.allocate(4)
        module.launch("k", 1, 1, np.uint64(out).tobytes(), memory)
        values.append(int(memory.bytes(out, 4).view("i4")[0]))
    assert values == [3, 1, 3]
    used = memories[0].used
    module.unload(memories[0])
    assert memories[0].used == used - 20
    used = memories[1].used
    del module
    assert memories[1].used == used - 20


def test_accesses_of_a_cooperative_launch_are_read_where_memory_is_allocated() -> None:
    memory = ptx.Memory(limit=1 << 29)
    below = memory.allocate(1 << 28)
    out = memory.allocate(4)
    memory.free(below)
    given = np.uint64(out).tobytes()
    module = ptx.Module(
        entry("u64", "ld.param.u64 %d1, [k_0]; red.global.add.u32 [%d1], 1; ret;")
    )
    memory.bytes(out, 4)[:] = 0
    run = module.launch("k", 3, 32, given, memory, cooperative=True, trace=True)
    assert run.marks is not None
    first = (out - BASE) >> run.marks.shift
    tracemalloc.start()
    read, written = run.marks.touched(first, first + 1)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20
    assert (read.tolist(), written.tolist()) == ([False], [True])
    assert memory.bytes(out, 4).view("i4")[0] == 96


def test_entries_tell_what_a_launch_must_respect() -> None:
    text = """.version 8.4
    .target sm_90a
    .visible .entry k(.param .u32 k_0, .param .u64 k_1, .param .align 8 .b8 k_2[24])
    .maxntid 64, 2, 1
    { .shared .align 16 .b8 a[10]; .shared .align 16 .b8 b[4]; ret; }"""
    kernel = ptx.Module(text).entries["k"]
    assert [(p.offset, p.size, p.alignment) for p in kernel.parameters] == [
        (0, 4, 4),
        (8, 8, 8),
        (16, 24, 8),
    ]
    assert (kernel.parameter_bytes, kernel.shared_bytes) == (40, 20)
    assert (kernel.max_threads, kernel.target) == (128, "sm_90a")


@pytest.mark.parametrize(
    ("grid", "block", "parameters"), [(1, 129, 40), (0, 1, 40), (1, 1, 39)]
)
def test_launches_that_no_driver_takes(grid: int, block: int, parameters: int) -> None:
    text = """.visible .entry k(.param .align 8 .b8 k_0[40]) .maxntid 128, 1, 1
    { ret; }"""
    with pytest.raises(ValueError, match=r"^k: "):
        ptx.Module(text).launch(
            "k", grid, block, bytes(parameters), ptx.Memory(limit=1 << 16)
        )


def test_what_cannot_be_translated_is_listed() -> None:
    text = entry(
        "",
        "add.s32 %r1, %r2, 1;\n tex.2d.v4 %r1, %r2;\n "
        "bar.red.xor.pred %p1, 3, %p2;\n ret;",
    )
    with pytest.raises(ptx.Unsupported) as caught:
        ptx.Module(text).program("k")
    found = [(p.line, p.reason) for p in caught.value.problems]
    lines = text.splitlines()
    assert [lines[line - 1].strip() for line, _ in found] == [
        "tex.2d.v4 %r1, %r2;",
        "bar.red.xor.pred %p1, 3, %p2;",
    ]
    assert [reason for _, reason in found] == ["opcode", "no such barrier"]


@pytest.mark.cases(
    "line",
    [
        "rsqrt.rz.f64 %g1, %g2",
        "ld.global.strange.u32 %r1, [%d1]",
        "cvt.rs.bf16x2.f32 %r1, %f1, %f2, %r2",
        "shfl.up.b32 %r1, %r2, 1, 0",
        "cp.async.ca.shared.global [%r1], [%d1], 3",
        "mov.u32 %r1, %nobody",
        "bra $NOWHERE",
    ],
)
def test_strange_forms_are_refused(line: str) -> None:
    with pytest.raises(ptx.Unsupported):
        ptx.Module(entry("", f"{line}; ret;")).program("k")
