"""Hand-written gpu text: it runs emulated, it compiles, and its races are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.checks.races import VerifyKernels
from gpucodegen.passes.framework.base import run_pipeline
from tests.programs import gpu_texts as texts

RANDOM = np.random.default_rng(0)


@dataclass(frozen=True)
class Case:
    """A program, its arguments, and what NumPy says the last one holds afterwards."""

    text: str
    arguments: tuple[Any, ...]
    wanted: Callable[..., np.ndarray]
    result: int = -1
    on_cpu: bool = False

    def arrays(self) -> list[Any]:
        return [x.copy() if isinstance(x, np.ndarray) else x for x in self.arguments]


def floats(*shape: int) -> np.ndarray:
    return RANDOM.integers(-8, 8, shape).astype("f4")


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, "f4")


def stencil(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    for _ in range(4):
        b[1:33] = a[:32] + a[2:]
        a[:] = b
    return b


LINE = (floats(1000), floats(1000), zeros(1000))
CASES = {
    "add": Case(texts.ADD, LINE, lambda a, b, _: a + b, on_cpu=True),
    "add kernel": Case(texts.ADD_KERNEL, LINE, lambda a, b, _: a + b, on_cpu=True),
    "strided": Case(
        texts.STRIDED, (floats(300), zeros(300)), lambda a, _: 2 * a, on_cpu=True
    ),
    "transpose": Case(
        texts.TRANSPOSE, (floats(32, 48), zeros(48, 32)), lambda a, _: a.T
    ),
    "matmul": Case(
        texts.MATMUL,
        (floats(16, 24), floats(24, 8), zeros(16, 8)),
        lambda a, b, _: a @ b,
    ),
    "block sums": Case(
        texts.block_sums(),
        (floats(256), zeros(4)),
        lambda a, _: a.reshape(4, 64).sum(1),
    ),
    "histogram": Case(
        texts.HISTOGRAM,
        (RANDOM.integers(0, 16, 512, dtype="i4"), np.zeros(16, "i4")),
        lambda a, _: np.bincount(a, minlength=16),
    ),
    "on the device": Case(
        texts.ON_THE_DEVICE,
        (floats(64), zeros(64), 3.0),
        lambda a, _, s: a * s * s,
        result=1,
        on_cpu=True,
    ),
    "filled": Case(
        texts.FILLED,
        (zeros(5, 8), 3.0),
        np.full_like,
        result=0,
        on_cpu=True,
    ),
    "steps": Case(texts.STEPS, (floats(34), zeros(34)), stencil, on_cpu=True),
}


@pytest.mark.slow
@pytest.mark.cases("name", CASES)
def test_it_runs_on_the_emulated_device(name: str):
    check(CASES[name], "sim")


@pytest.mark.slow
@pytest.mark.cases("name", [name for name in CASES if CASES[name].on_cpu], parts=2)
def test_without_barriers_it_runs_on_the_cpu(name: str):
    check(CASES[name], "cpu")


def check(case: Case, target: str) -> None:
    given = case.arrays()
    gcg.compile(case.text, target=target).f(*given)
    np.testing.assert_array_equal(given[case.result], case.wanted(*case.arrays()))


@pytest.mark.parametrize("name", ["matmul", "histogram", "block sums"])
def test_with_barriers_the_cpu_names_the_target_that_runs_it(name: str):
    case = CASES[name]
    with pytest.raises(errors.LaunchNeedsGpu, match="target='sim'") as caught:
        gcg.compile(case.text, target="cpu").f(*case.arrays())
    assert caught.value.location is not None


@pytest.mark.slow
@pytest.mark.cases("name", [name for name in CASES if name != "filled"], parts=2)
def test_it_compiles_for_a_gpu(name: str):
    from gpucodegen.runtime.cuda.compilation import compile_ptx

    call = gcg.compile(CASES[name].text, target="sim").f
    call(*CASES[name].arrays())
    kernels = call.executable().kernels
    assert kernels
    for spec in kernels:
        ptx = compile_ptx(spec, (8, 0))
        assert ("bar.sync" in ptx) == ("gpu.barrier" in CASES[name].text)


# -- races -----------------------------------------------------------------------------


def without(text: str, part: str) -> str:
    assert text.count(part) == 1
    return text.replace(part, part.replace("gpu.barrier", ""))


RACES = {
    "transpose": (
        without(texts.TRANSPOSE, "gpu.barrier"),
        ("memref.store %v", "%w = memref.load"),
    ),
    "matmul": (
        without(texts.MATMUL, "gpu.barrier\n      scf.yield %part"),
        ("%u = memref.load", "memref.store %x"),
    ),
    "block sums": (
        without(texts.block_sums(), "gpu.barrier\n    // 8\n"),
        ("memref.store %w", "%v = memref.load"),
    ),
    "histogram": (
        texts.HISTOGRAM.replace("gpu.barrier\n    %i =", "%i ="),
        ("memref.store %zero", "%r = memref.atomic_rmw"),
    ),
    "add": (
        texts.ADD.replace("arith.muli %bx, %sx", "arith.muli %bx, %c1"),
        ("memref.store %z", "memref.store %z"),
    ),
}


@pytest.mark.slow
@pytest.mark.cases("name", RACES)
def test_a_race_names_both_statements(name: str):
    text, parts = RACES[name]
    case = CASES[name]
    with pytest.raises(errors.RaceFound) as caught:
        gcg.compile(text, target="sim").f(*case.arrays())
    lines = text.splitlines()
    places = [caught.value.location, *(place for place, _ in caught.value.notes)]
    found = {lines[place.line - 1].strip() for place in places}
    for part in parts:
        assert any(line.startswith(part) for line in found), (part, found)


def test_the_emulated_device_sees_what_nobody_proved():
    text, _ = RACES["transpose"]
    with pytest.raises(errors.SharedRace):
        gcg.compile(text, target="sim", verify=False).f(*CASES["transpose"].arrays())


def test_a_barrier_that_some_threads_miss():
    text = texts.ADD.replace("%x = memref.load", "gpu.barrier\n      %x = memref.load")
    with pytest.raises(errors.RaceFound, match="not all threads"):
        gcg.compile(text, target="sim").f(*CASES["add"].arrays())


def test_an_index_beyond_the_buffer():
    text = texts.ADD.replace("cmpi ult, %i, %n", "cmpi ule, %i, %n")
    with pytest.raises(errors.OutOfBounds, match="1000"):
        gcg.compile(text, target="sim").f(*CASES["add"].arrays())


def test_a_kernel_alone_is_proven_by_what_it_says_of_its_launches():
    """64 threads touch a cell each; of blocks of unknown size several would."""
    text = """gpu.module @m {
  gpu.func @k(%a: memref<64xf32>)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>)
      private(%p: memref<1xf32, #gpu.address_space<private>>) kernel SIZES {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%i] : memref<64xf32>
    memref.store %x, %p[%c0] : memref<1xf32, #gpu.address_space<private>>
    memref.store %x, %s[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %x, %a[%i] : memref<64xf32>
    gpu.return
  }
}"""
    sizes = "known_block_size = array<i32: 64, 1, 1>"
    grid = "known_grid_size = array<i32: 1, 1, 1>"
    stated = text.replace("SIZES", f"attributes {{{sizes}, {grid}}}")
    run_pipeline(gcg.parse(stated), [VerifyKernels()])
    with pytest.raises(errors.RaceFound, match="two blocks"):
        run_pipeline(gcg.parse(text.replace("SIZES", "")), [VerifyKernels()])


def test_sizes_that_contradict_the_kernel():
    text = texts.ON_THE_DEVICE.replace(
        "%c64 = arith.constant 64", "%c64 = arith.constant 32"
    )
    with pytest.raises(errors.LaunchSizeDiffers, match=r"64 .* 32"):
        gcg.compile(text, target="sim").f(*CASES["on the device"].arrays())


@pytest.mark.slow
def test_launches_print_and_parse_at_every_stage():
    for name, case in CASES.items():
        program = gcg.compile(case.text, target="sim")
        program.f(*case.arrays())
        for stage, text in program.stages("f"):
            assert str(gcg.parse(text)) == text, (name, stage)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_block_without_threads_does_nothing(target: str) -> None:
    program = gcg.compile(
        """
        func.func @ones(%a: memref<?xf32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %n = memref.dim %a, %c0 : memref<?xf32>
          gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                     threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
            %x = arith.constant 1.0 : f32
            memref.store %x, %a[%tx] : memref<?xf32>
            gpu.terminator
          }
          return
        }""",
        target=target,
    )
    for extent in (0, 5):
        array = np.zeros(extent, "f4")
        program.ones(array)
        assert array.tolist() == [1] * extent


def test_copies_of_threads_arrive_group_by_group() -> None:
    a, b = floats(64, 4), zeros(64, 4)
    gcg.compile(texts.ASYNC_COPIES, target="sim").f(a, b)
    first_two = a * (np.arange(4) < 2)
    np.testing.assert_array_equal(b, a[::-1] + first_two)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    gpu.barrier\n", "", errors.RaceFound),
        ("%g numGroups = 1", "%g numGroups = 2", errors.TransferOvertaken),
        ("%h numGroups = 0", "%h numGroups = 1", errors.TransferOvertaken),
        ("%s[0, 63 - %t, %i]", "%s[1, 63 - %t, %i]", errors.TransferOvertaken),
    ],
)
def test_copies_that_nothing_waits_for_are_refused(
    old: str, new: str, problem: type[errors.CompileError]
) -> None:
    assert old in texts.ASYNC_COPIES
    program = gcg.compile(texts.ASYNC_COPIES.replace(old, new), target="sim")
    with pytest.raises(problem):
        program.f(floats(64, 4), zeros(64, 4))
