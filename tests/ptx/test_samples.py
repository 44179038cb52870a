"""Kernels of the product, and mutants of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from gpucodegen.ptx import faults
from tests.ptx.kernels import changed, fault, launch, sample

Arrays = tuple[np.ndarray, ...]
BARRIER = "bar.sync 0;"


def numbers(kind: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(kind)


@dataclass(frozen=True)
class Kernel:
    """A sample: its launch, arguments, and what the array at ``result`` becomes."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Callable[[], Arrays]
    answer: Callable[..., np.ndarray]
    result: int


def relaxed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    cross = a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    b = b.copy()
    b[1:-1, 1:-1] = cross / 5
    return b


KERNELS = {
    "matmul": Kernel(
        (1, 2),
        (64,),
        lambda: (numbers("f4", 20, 13), numbers("f4", 20, 17), numbers("f4", 17, 13)),
        lambda c, a, b: c + a @ b,
        result=0,
    ),
    "dma_matmul": Kernel(
        (2,),
        (256,),
        lambda: (numbers("f4", 32, 48), numbers("f4", 48, 16), numbers("f4", 32, 16)),
        lambda a, b, c: c + a @ b,
        result=2,
    ),
    "row_sum": Kernel(
        (1,),
        (256,),
        lambda: (numbers("f4", 21, 37), np.zeros(21, "f4")),
        lambda a, _: a.sum(1),
        result=1,
    ),
    "jacobi_2d": Kernel(
        (1, 2),
        (32, 8),
        lambda: (numbers("f4", 11, 14), np.zeros((11, 14), "f4")),
        relaxed,
        result=1,
    ),
    "trsv": Kernel(
        (1,),
        (1,),
        lambda: (
            numbers("f8", 19),
            np.tril(numbers("f8", 19, 19)) / 19 + 2 * np.eye(19),
            np.zeros(19),
        ),
        lambda b, lower, _: np.linalg.solve(lower, b),
        result=2,
    ),
}


@pytest.mark.cases("name", KERNELS)
def test_results(name: str) -> None:
    kernel = KERNELS[name]
    arguments = kernel.arguments()
    right = kernel.answer(*arguments)
    launch(sample(name), kernel.grid, kernel.block, *arguments)
    np.testing.assert_allclose(arguments[kernel.result], right, rtol=1e-4, atol=1e-5)


def nth(text: str, words: str, number: int, new: str = "") -> str:
    """A text with one occurrence of some words replaced."""
    parts = text.split(words)
    assert len(parts) > number + 1
    return words.join(parts[: number + 1]) + new + words.join(parts[number + 1 :])


def edit(old: str, new: str) -> Callable[[str], str]:
    return lambda text: changed(text, (old, new))


MUTANTS: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "no barrier before the tile is read": (
        "matmul",
        faults.RACE,
        lambda text: nth(text, BARRIER, 0),
    ),
    "no barrier before the next tile is stored": (
        "matmul",
        faults.RACE,
        lambda text: nth(text, BARRIER, 1),
    ),
    "a barrier of some threads": (
        "matmul",
        faults.DIVERGENT_BARRIER,
        lambda text: nth(text, BARRIER, 0, f"@!%p26 bra $L__BB0_27; {BARRIER}"),
    ),
    "a shared index beyond the arrays": (
        "matmul",
        faults.OUT_OF_BOUNDS,
        edit("[%rd8+448]", "[%rd8+512]"),
    ),
    "a vector off its alignment": (
        "matmul",
        faults.MISALIGNED,
        edit("[%rd3+64]", "[%rd3+68]"),
    ),
    "a guard one row too far": (
        "matmul",
        faults.OUT_OF_BOUNDS,
        edit("setp.gt.s32 %p16, %r12, 19", "setp.gt.s32 %p16, %r12, 20"),
    ),
    "a result in the neighbour's place": (
        "matmul",
        faults.RACE,
        edit("st.global.f32 [%rd2+4], %f136", "st.global.f32 [%rd2+8], %f136"),
    ),
    "a part of the tile that nobody stores": (
        "matmul",
        faults.UNINITIALISED,
        edit("st.shared.f32 [%rd6], %f141;", ""),
    ),
    "no wait for the copies": (
        "dma_matmul",
        faults.IN_FLIGHT,
        edit("cp.async.wait_group 0;", ""),
    ),
    "a wait that leaves one group open": (
        "dma_matmul",
        faults.IN_FLIGHT,
        edit("cp.async.wait_group 0;", "cp.async.wait_group 1;"),
    ),
    "copies that are in no group": (
        "dma_matmul",
        faults.IN_FLIGHT,
        edit("cp.async.commit_group;", ""),
    ),
    "no barrier behind the wait": ("dma_matmul", faults.RACE, edit(BARRIER, "")),
    "copies into the buffer in use": (
        "dma_matmul",
        faults.IN_FLIGHT,
        edit("and.b32 %r11, %r41, 256;", "and.b32 %r11, %r40, 256;"),
    ),
    "copies off their alignment": (
        "dma_matmul",
        faults.MISALIGNED,
        edit("ld.shared.v4.f32 {%f18, %f19, %f20, %f21}, [%rd33+16]",
             "ld.shared.v4.f32 {%f18, %f19, %f20, %f21}, [%rd33+20]"),
    ),
    "a row too many": (
        "row_sum",
        faults.OUT_OF_BOUNDS,
        edit("setp.gt.s32 %p1, %r1, 20", "setp.gt.s32 %p1, %r1, 21"),
    ),
    "a line beyond the plane": (
        "jacobi_2d",
        faults.OUT_OF_BOUNDS,
        edit("setp.gt.s32 %p2, %r2, 9", "setp.gt.s32 %p2, %r2, 10"),
    ),
    "one unknown too many": (
        "trsv",
        faults.OUT_OF_BOUNDS,
        edit("setp.lt.s32 %p7, %r23, 19", "setp.lt.s32 %p7, %r23, 20"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.cases("name", MUTANTS)
def test_mutants_fault_with_a_place(name: str) -> None:
    of, kind, mutate = MUTANTS[name]
    kernel = KERNELS[of]
    text = mutate(sample(of))
    problem = fault(text, kernel.grid, kernel.block, *kernel.arguments())
    assert problem.kind == kind, problem
    assert problem.instruction.split()[-1] in text.splitlines()[problem.line - 1]
    assert problem.thread is not None


def test_a_relaxation_in_place_is_a_race() -> None:
    kernel = KERNELS["jacobi_2d"]
    plane, _ = kernel.arguments()
    problem = fault(sample("jacobi_2d"), kernel.grid, kernel.block, plane, plane)
    assert problem.kind == faults.RACE


def test_one_barrier_of_three_suffices_behind_a_wait() -> None:
    kernel = KERNELS["dma_matmul"]
    arguments = kernel.arguments()
    right = kernel.answer(*arguments)
    text = nth(nth(sample("dma_matmul"), BARRIER, 2), BARRIER, 1)
    launch(text, kernel.grid, kernel.block, *arguments)
    np.testing.assert_allclose(arguments[2], right, rtol=1e-4, atol=1e-5)
