"""Sliced launches count as whole ones do, and execute less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import ptx
from gpucodegen.ptx.execution.counters import Counters
from gpucodegen.ptx.module import Module
from gpucodegen.ptx.translation.slices import Role, slice_of
from gpucodegen.runtime.devices import emulated_cupy as xp
from tests.ptx.compiled import PROGRAMS, recorded
from tests.ptx.handwritten import FILLED, HISTOGRAM
from tests.ptx.kernels import GLOBAL_ID, entry, launch, sample

COUNTED: dict[str, Any] = {"check": False, "measure": True}


def figures(counters: Counters) -> tuple[object, ...]:
    """Everything that is counted."""
    return (
        dict(counters.warps),
        dict(counters.lanes),
        dict(counters.traffic),
        counters.places,
        counters.widths,
        dict(counters.footprint),
        counters.blocks,
        counters.is_cut,
    )


def counted(run: ptx.Run) -> tuple[object, ...]:
    assert run.counters is not None
    return figures(run.counters)


@pytest.mark.cases("name", PROGRAMS)
@pytest.mark.sampled(12)
def test_counters_of_compiled_kernels(name: str) -> None:
    one = recorded(name)
    found: list[tuple[object, ...]] = []
    for sliced in (False, True):
        memory = ptx.Memory(limit=1 << 22)
        packed = bytearray(one.parameters)
        for number, array in enumerate(one.program.arguments()):
            place = memory.allocate(array.nbytes)
            memory.bytes(place, array.nbytes)[:] = array.reshape(-1).view("u1")
            for offset, which in one.pointers.items():
                if which == number:
                    packed[offset : offset + 8] = np.uint64(place).tobytes()
        module = ptx.Module(one.text)
        given = one.name, one.grid, one.block, bytes(packed), memory
        found.append(counted(module.launch(*given, sliced=sliced, **COUNTED)))
    assert found[0] == found[1]


MATMUL = """func.func @f(%a: memref<256x256xf16>, %b: memref<256x256xf16>,
                  %c: memref<256x256xf16>) {
  linalg.matmul ins(%a, %b : memref<256x256xf16>, memref<256x256xf16>)
                outs(%c : memref<256x256xf16>)
  return
}"""


@pytest.mark.slow
@pytest.mark.cases("arch", ["sm_80", "sm_90a"])
def test_tensor_cores(arch: str) -> None:
    """Products of warps and of warpgroups, with rings of asynchronous copies."""
    pairs: list[tuple[ptx.Run, ptx.Run]] = []
    plain = Module.launch

    def both(module: Module, *given: Any, **options: Any) -> ptx.Run:
        kept = {k: v for k, v in options.items() if k not in ("check", "measure")}
        runs = [
            plain(module, *given, **kept, **COUNTED, sliced=s) for s in (False, True)
        ]
        pairs.append((runs[0], runs[1]))
        return runs[0]

    program = gcg.compile(MATMUL, target="cuda", arch=arch)
    rng = np.random.default_rng(0)
    shapes = [(256, 256)] * 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUCODEGEN_DEVICE", "emulated")
        patch.setattr(Module, "launch", both)
        program["f"](*(xp.asarray(rng.random(shape).astype("f2")) for shape in shapes))
    assert pairs
    for whole, sliced in pairs:
        assert counted(whole) == counted(sliced)
        entry_ = sliced.launch.entry
        roles = {x.name: slice_of(entry_).role(x) for x in entry_.instructions}
        products = [role for name, role in roles.items() if "mma" in name]
        assert set(products) == {Role.LEFT_OUT}


GATHER = entry(
    "u64 u64",
    ".shared .align 4 .b8 tile[128];"
    + GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; ld.param.u64 %d2, [k_1]; mul.wide.s32 %d3, %r4, 4;
    add.s64 %d4, %d1, %d3; ld.global.u32 %r5, [%d4]; shl.b32 %r8, %r1, 2;
    mov.u32 %r6, tile; add.s32 %r7, %r6, %r8; mul.lo.u32 %r9, %r5, 2;
    st.shared.u32 [%r7], %r9;
    bar.sync 0;
    ld.shared.u32 %r10, [%r7]; mul.wide.u32 %d5, %r10, 4; add.s64 %d6, %d2, %d5;
    ld.global.f32 %f1, [%d6]; fma.rn.f32 %f2, %f1, %f1, %f1;
    st.global.f32 [%d6], %f2; ret;""",
)
"""Addresses go through shared memory: a load of it needs what was stored."""

UNTIL = entry(
    "u64",
    GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; mul.wide.s32 %d3, %r4, 4; add.s64 %d4, %d1, %d3;
    mov.f32 %f2, 0f00000000;
$AGAIN: ld.global.f32 %f1, [%d4]; add.f32 %f1, %f1, 0fBF800000; add.f32 %f2, %f2, %f1;
    st.global.f32 [%d4], %f1; setp.gt.f32 %p1, %f1, 0f00000000; @%p1 bra $AGAIN;
    st.global.f32 [%d4], %f2; ret;""",
)
"""The trips of a loop depend on the numbers that it stores and loads again."""


@pytest.mark.cases(
    ("text", "arguments"),
    [
        (GATHER, ("u4", "f4")),
        (UNTIL, ("f4",)),
        (HISTOGRAM, ("u4", "u4")),
    ],
)
def test_addresses_and_conditions_from_memory(
    text: str, arguments: tuple[str, ...]
) -> None:
    """Whatever an address or a condition depends on is executed."""
    numbers = np.random.default_rng(0).integers(0, 16, 32)
    runs = [
        launch(
            text, 1, 32, *(numbers.astype(k) for k in arguments), sliced=s, **COUNTED
        )
        for s in (False, True)
    ]
    assert counted(runs[0]) == counted(runs[1])


def roles(text: str) -> dict[str, Role]:
    (kernel,) = ptx.Module(text).entries.values()
    return {x.name: slice_of(kernel).role(x) for x in kernel.instructions}


@pytest.mark.slow
def test_what_is_left_out() -> None:
    """Arithmetic on data is; loads and stores of data are only counted."""
    product = roles(sample("matmul"))
    assert product["fma.rn.f32"] is Role.LEFT_OUT
    assert {role for name, role in product.items() if name[:2] in ("ld", "st")} == {
        Role.EXECUTED,  # parameters
        Role.COUNTED,
    }
    warpgroups = roles(FILLED)
    assert warpgroups["wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"] is (
        Role.LEFT_OUT
    )
    assert warpgroups["st.shared.v2.u32"] is Role.COUNTED


def test_what_addresses_need_is_executed() -> None:
    """That includes every store to a space from which an index is loaded."""
    assert set(roles(GATHER).values()) == {Role.EXECUTED}


def test_a_checked_launch_is_whole() -> None:
    out = np.arange(32, dtype="u4"), np.zeros(64, "f4")
    run = launch(GATHER, 1, 32, *out, sliced=True)
    assert run.launch.program.slice is None
