"""Transfers by bulk copies where the architecture has them, else as they were."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS
from gpucodegen import errors
from gpucodegen.report.gpu.report import report
from gpucodegen.runtime.cuda.compilation import compile_cubin, disassemble
from gpucodegen.runtime.cuda.kernel_launch import CudaKernel
from gpucodegen.runtime.devices.emulated_device import EmulatedDevice
from tests.passes.lowering import apply
from tests.programs.bulk_texts import (
    LAUNCHED,
    MATMUL,
    UNPROVEN,
    USES,
    add,
    doubled,
    kernel,
    loop,
    sent,
    start,
    wait,
)

BULK = "cp.async.bulk"
RNG = np.random.default_rng(23)
SHORT = {"bulk.row": 64}
"""Rows of 64 bytes are bulk copies, too; by default hardly any are."""
NUMBERS = {"f16": "f2", "f32": "f4", "f64": "f8"}


def mechanisms(program: gcg.Program) -> dict[str, str]:
    """Of the starts of ``f``, by their ends."""
    starts = (t for t in program.transfers("f") if "start" in t.operation)
    return {t.what: t.mechanism for t in starts}


def reason(program: gcg.Program) -> str:
    """Of the first start of ``f``."""
    return next(t.reason for t in program.transfers("f") if "start" in t.operation)


def summed(program: gcg.Program, factor: int = 1) -> None:
    """Check a kernel that adds up rows."""
    x, y = RNG.integers(-9, 9, (64, 32)).astype("f4"), np.zeros((8, 32), "f4")
    program.f(x, y)
    np.testing.assert_array_equal(y, factor * x.reshape(8, 8, 32).sum(1))


def twice(program: gcg.Program, count: int, kind: str = "f4", shift: int = 0) -> None:
    """Check y = 2 x."""
    x, y = np.arange(count).astype(kind), np.zeros(count, kind)
    program.f(x, y)
    whole = count - shift
    np.testing.assert_array_equal(y[shift:], 2 * x[:whole])
    assert not y[:shift].any()


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_90", "sm_90a", "sm_100", "sm_80", ""])
def test_the_architecture_decides(arch: str) -> None:
    program = PROGRAMS["dma_matmul"]
    given = program.arguments(program.small)
    has_bulk = arch in ("sm_90", "sm_90a", "sm_100")
    compiled = gcg.compile(
        program.text, target="sim", arch=arch, plan=SHORT if has_bulk else {}
    )
    compiled[program.entry](*given)
    every = compiled.transfers(program.entry)
    found = {t.mechanism for t in every if "dma" in t.operation}
    assert found == ({BULK, "mbarrier"} if has_bulk else {"cp.async", "wait_group"})
    plain = gcg.compile(program.text, target="sim")
    plain[program.entry](*program.arguments(program.small))
    same = plain.source(program.entry) == compiled.source(program.entry)
    assert same != has_bulk


@pytest.mark.slow
@pytest.mark.parametrize("name", USES | UNPROVEN)
def test_uses_of_tags(name: str) -> None:
    text = (USES | UNPROVEN)[name]
    program = gcg.compile(
        text, target="sim", arch="sm_90", plan=SHORT, verify=name in USES
    )
    summed(program, 2 if name == "changed in place" else 1)
    assert set(mechanisms(program).values()) == {BULK}
    assert "cp_async" not in program.source("f")


@pytest.mark.slow
@pytest.mark.parametrize("stages", [0, 2, 3, 4])
def test_promoted_products_in_stages(stages: int) -> None:
    passes = "tile{sizes=[16,16,16]},promote{transfers=dma}"
    passes += f",overlap-transfers{{stages={stages}}}" if stages else ""
    module = apply(passes, MATMUL.format(m=32, n=32, k=96, t="f32"))
    program = gcg.compile(module, target="sim", arch="sm_90a", plan=SHORT)
    multiplied(program, 32, 32, 96, "f32")
    found = mechanisms(program)
    assert {found[f"%{x} to %{x}_fast"] for x in "AB"} == {BULK}
    assert found["%C to %C_fast"] == "cp.async"
    assert found["%C_fast to %C"] == BULK
    assert "the kernel writes to %C, too" in reason(program)


SHAPES = [
    (32, 36, 64, "16,16,16", "f32", {"A": BULK, "B": "cp.async"}),
    (32, 18, 48, "16,16,16", "f32", {"A": BULK, "B": "cp.async"}),
    (40, 24, 20, "8,8,20", "f32", {"A": BULK, "B": "cp.async"}),
    (64, 64, 64, "32,32,32", "f16", {"A": BULK, "B": BULK}),
    (16, 16, 32, "8,8,8", "f64", {"A": BULK, "B": BULK}),
    (16, 32, 30, "16,16,10", "f16", {"A": "cp.async", "B": "cp.async"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", SHAPES, ids=str)
@pytest.mark.drawn(2)
def test_shapes(case: tuple[int, int, int, str, str, dict[str, str]]) -> None:
    """What is ragged, odd or short goes as before, beside what does not."""
    m, n, k, sizes, kind, wanted = case
    passes = f"tile{{sizes=[{sizes}]}},promote{{transfers=dma}},overlap-transfers"
    module = apply(passes, MATMUL.format(m=m, n=n, k=k, t=kind))
    program = gcg.compile(module, target="sim", arch="sm_90", plan=SHORT)
    multiplied(program, m, n, k, kind)
    found = mechanisms(program)
    assert {x: found[f"%{x} to %{x}_fast"] for x in "AB"} == wanted


def multiplied(program: gcg.Program, m: int, n: int, k: int, kind: str) -> None:
    """Check a product of small integers."""
    shapes = (m, k), (k, n), (m, n)
    a, b, c = (RNG.integers(-3, 4, shape).astype(NUMBERS[kind]) for shape in shapes)
    want = c + a.astype("f8") @ b
    program.f(a, b, c)
    np.testing.assert_array_equal(c, want)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "kind", "mechanism"),
    [
        (16, "f32", BULK),
        (32, "f16", BULK),
        (20, "f32", BULK),
        (8, "f32", "cp.async"),
        (10, "f32", "cp.async"),
        (7, "f16", "copy"),
    ],
)
def test_there_and_back(width: int, kind: str, mechanism: str) -> None:
    program = gcg.compile(
        doubled(width, t=kind), target="sim", arch="sm_90", plan=SHORT
    )
    twice(program, 12 * width, NUMBERS[kind])
    found = mechanisms(program)
    assert found["%x to %fast"] == mechanism
    assert found["%fast to %y"] == (BULK if mechanism == BULK else "copy")


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0, 4, 2])
def test_several_stores_are_under_way(shift: int) -> None:
    program = gcg.compile(sent(shift), target="sim", arch="sm_90", plan=SHORT)
    twice(program, 384 + shift, shift=shift)
    assert mechanisms(program)["%fast to %y"] == ("copy" if shift == 2 else BULK)
    if shift != 2:
        assert 'engine("end_stores", 2)' in program.source("f")


def test_kernels_by_hand() -> None:
    program = gcg.compile(LAUNCHED, target="sim", arch="sm_90", plan=SHORT)
    summed(program)
    assert set(mechanisms(program).values()) == {BULK}


ROWS = loop(start("%k", "0", "0"), wait("0"), add("0"))
FAR = loop(start("%k", "0", "%k + 25"), wait("%k + 25"), add("0"))
CHOSEN = """%p = arith.cmpi slt, %w, %row : index
  %z = arith.select %p, %y2, %x : memref<64x32xf32>
  affine.for %b"""


@pytest.mark.slow
def test_tags_have_so_many_cells() -> None:
    last = FAR.replace("25", "24")
    for body, cells in ((FAR, 33), (last, 32)):
        program = gcg.compile(
            kernel(body, cells=cells), target="sim", arch="sm_90", plan=SHORT
        )
        summed(program)
        few = cells == 32
        assert mechanisms(program)["%x to %fast"] == (BULK if few else "cp.async")
        assert few or "%tag has more than 32 cells" in reason(program)


def test_a_buffer_that_is_chosen_when_it_runs() -> None:
    text = kernel(ROWS).replace("affine.for %b", CHOSEN)
    text = text.replace("dma_start %x", "dma_start %z").replace(
        "%x: memref<64x32xf32>,", "%x: memref<64x32xf32>, %y2: memref<64x32xf32>,"
    )
    program = gcg.compile(text, target="sim", arch="sm_90", plan=SHORT)
    x, y = RNG.integers(-9, 9, (64, 32)).astype("f4"), np.zeros((8, 32), "f4")
    program.f(x, np.zeros_like(x), y)
    np.testing.assert_array_equal(y, x.reshape(8, 8, 32).sum(1))
    assert mechanisms(program)["%z to %fast"] == "cp.async"


@pytest.mark.slow
def test_no_memory_is_left_for_barriers() -> None:
    for count, mechanism in ((58112, "cp.async"), (58080, BULK)):
        text = doubled(64).replace("memref<64xf32, 2>", f"memref<{count}xf32, 2>")
        program = gcg.compile(text, target="sim", arch="sm_90", plan=SHORT)
        twice(program, 12 * 64)
        assert mechanisms(program)["%x to %fast"] == mechanism
        if mechanism != BULK:
            assert "no shared memory is left for its mbarriers" in reason(program)


@pytest.mark.slow
def test_short_rows_say_so() -> None:
    program = gcg.compile(doubled(8), target="sim", arch="sm_90", plan=SHORT)
    twice(program, 96)
    assert reason(program) == "no bulk copy: rows of 32 bytes are shorter than 64"


@pytest.mark.slow
@pytest.mark.parametrize(("width", "mechanism"), [(256, BULK), (252, "cp.async")])
def test_a_plan_says_from_which_length_on(width: int, mechanism: str) -> None:
    plan = {"bulk.row": 1024}
    program = gcg.compile(doubled(width), target="sim", arch="sm_90", plan=plan)
    twice(program, 12 * width)
    assert mechanisms(program)["%x to %fast"] == mechanism


@pytest.mark.slow
def test_nobody_has_them_unasked() -> None:
    program = gcg.compile(doubled(1024), target="sim", arch="sm_90")
    twice(program, 12 * 1024)
    assert mechanisms(program)["%x to %fast"] == "cp.async"
    assert "shorter than 16384" in reason(program)


def test_a_device_without_them_refuses() -> None:
    program = gcg.compile(doubled(64), target="sim", arch="sm_90", plan=SHORT)
    (spec,) = program["f"].executable().kernels
    CudaKernel.on(EmulatedDevice(0, compute_capability=(9, 0)), spec)
    with pytest.raises(errors.LaunchFailed, match=r"from sm_90 on, and .* is sm_80"):
        CudaKernel.on(EmulatedDevice(0, compute_capability=(8, 0)), spec)


@pytest.mark.slow
@pytest.mark.sass
@pytest.mark.parametrize("cc", [(9, 0), (12, 0)])
def test_the_assembler_takes_them(cc: tuple[int, int]) -> None:
    program = gcg.compile(doubled(64), target="sim", arch="sm_90", plan=SHORT)
    twice(program, 12 * 64)
    (spec,) = program["f"].executable().kernels
    assert spec.bulk
    code = disassemble(compile_cubin(spec, cc).code)
    for pattern in (r"UBLKCP\.S\.G", r"UBLKCP\.G\.S", r"SYNCS\.PHASECHK"):
        assert re.search(pattern, code), pattern
    assert "LDGSTS" not in code


@pytest.mark.slow
def test_the_report_counts_what_they_move() -> None:
    asked = {"plan": SHORT}
    (function,) = report(doubled(256), arch="sm_90", options=asked).functions
    rows: dict[Any, Any] = {(r.space, r.array): r for r in function.kernels[0].accesses}
    for array in "xy":
        row = rows["global", array]
        assert (row.direction, row.width, row.executed) == ("copy", 1024, 32)
    assert function.transfers[0].mechanism == BULK
