"""Several steps of a stencil in one launch, bit for bit as one step after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.checks.races import VerifyKernels
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.races import PROOF, races
from tests.passes.stencil_texts import FDTD, STENCILS, Stencil, Sweep

LINE = STENCILS["jacobi_1d"]
PLANE = STENCILS["jacobi_2d"]
SKEWED = Stencil(
    "skewed",
    "AB",
    2,
    [
        Sweep("B[i,j]", ["A[i-2,j]", "A[i,j+1]", "A[i+1,j-1]"], 0.3, (2, 1), (1, 1)),
        Sweep("A[i,j]", ["B[i,j]", "B[i,j]"], 0.5, (2, 1), (1, 1)),
    ],
)
"""Three cells at unequal distances, then a copy back."""
SHIFTED = Stencil(
    "shifted",
    "ABC",
    1,
    [
        Sweep("B[i+1]", ["A[i]", "C[i+2]"], 0.5, (0,), (3,)),
        Sweep("A[i]", ["B[i]", "B[i+3]"], 0.5, (1,), (4,)),
    ],
)
"""Cells are computed away from where they are read; C is never written."""
SLOW = pytest.mark.slow
CASES = [
    (LINE, (311,), (70,)),
    (SHIFTED, (150,), (7,)),
    (PLANE, (37, 83), (13,)),
    pytest.param(LINE, (1,), (0, 1, 5), marks=SLOW),
    pytest.param(LINE, (2,), (3,), marks=SLOW),
    pytest.param(PLANE, (1, 5), (2,), marks=SLOW),
    pytest.param(PLANE, (5, 3), (4,), marks=SLOW),
    pytest.param(PLANE, (70, 150), (0, 1, 12), marks=SLOW),
    pytest.param(SKEWED, (41, 39), (9,), marks=SLOW),
    pytest.param(FDTD, (21, 50), (11,), marks=SLOW),
    pytest.param(STENCILS["jacobi_3d"], (9, 13, 22), (3,), marks=SLOW),
]


def random_arrays(stencil: Stencil, shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.random(shape, np.float32) for _ in stencil.arrays]


def check(
    stencil: Stencil, shape: tuple[int, ...], steps: tuple[int, ...], **options: bool
) -> None:
    call = gcg.compile(stencil.mlir("f32"), target="sim", **options)[stencil.name]
    for count in steps:
        given_ = random_arrays(stencil, shape)
        expected = [a.copy() for a in given_]
        stencil.run(count, expected)
        call(count, *given_)
        for mine, theirs in zip(given_, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def mapped(text: str) -> Module:
    return run_pipeline(gcg.parse(text), [MapGpu()])


@pytest.mark.drawn(5)
@pytest.mark.slow
@pytest.mark.parametrize(("stencil", "shape", "steps"), CASES)
@pytest.mark.sampled(3)
def test_steps_are_exact(
    stencil: Stencil, shape: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    check(stencil, shape, steps)


@pytest.mark.drawn(4)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.sampled(10)
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 2), (5, 3), (37, 83)], ids=str)
@pytest.mark.parametrize("stencil", [PLANE, FDTD])
def test_steps_over_unknown_extents_are_exact(
    stencil: Stencil, shape: tuple[int, ...]
) -> None:
    check(stencil, shape, (5,), specialize=False)


@pytest.mark.parametrize("stencil", [LINE, SHIFTED, SKEWED, FDTD])
@pytest.mark.sampled(3)
def test_both_launches_of_a_pair_are_one_kernel_with_shared_tiles(
    stencil: Stencil,
) -> None:
    module = mapped(stencil.mlir("f32"))
    (kernel,) = (op for op in module.walk() if op.name == "gpu.func")
    assert any(op.name == "gpu.barrier" for op in kernel.walk())
    launches = [op for op in module.walk() if op.name == "gpu.launch_func"]
    assert len(launches) == 2


def test_steps_that_depend_on_far_cells_stay_launches_of_their_own() -> None:
    text = PLANE.mlir("f32").replace("%A[%i, %j - 1]", "%A[%i, 0]")
    assert text != PLANE.mlir("f32")
    assert not any(op.name == "gpu.barrier" for op in mapped(text).walk())


def without(module: Module, number: int) -> Module:
    """The module without one of its barriers."""
    seen: list[Operation] = []

    def rewrite(op: Operation) -> list[Operation] | None:
        if op.name != "gpu.barrier":
            return None
        seen.append(op)
        return [] if len(seen) == number + 1 else None

    (left,) = rewrite_bottom_up(module.operation, rewrite)
    return Module(left)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("stencil", [LINE, pytest.param(SHIFTED, marks=SLOW)])
@pytest.mark.sampled(3)
def test_the_proof_misses_every_barrier(stencil: Stencil, number: int) -> None:
    module = mapped(stencil.mlir("f32"))
    assert sum(op.name == "gpu.barrier" for op in module.walk()) == 3
    run_pipeline(module, [VerifyKernels()])
    with pytest.raises(errors.RaceFound):
        run_pipeline(without(module, number), [VerifyKernels()])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
@pytest.mark.sampled(2)
def test_the_emulated_device_misses_every_barrier(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = MapGpu.apply
    monkeypatch.setattr(
        MapGpu, "apply", lambda self, module: without(whole(self, module), number)
    )
    text = LINE.mlir("f32") + f"\n// without barrier {number}"
    call = gcg.compile(text, target="sim", verify=False)[LINE.name]
    with pytest.raises(errors.SharedRace):
        call(4, *random_arrays(LINE, (300,)))


MOST_OPERATIONS = 12_000_000
"""Of isl, for the proof of a kernel; a second or two on a usual machine."""


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("stencil", [PLANE, FDTD])
def test_tiles_of_unknown_extents_are_proven_well_within_the_limit(
    stencil: Stencil,
) -> None:
    module = mapped(stencil.mlir("f32"))
    (kernel,) = (op for op in module.walk() if op.name == "gpu.func")
    built = model(lift_function(kernel, Surroundings.of(module)).scop, PROOF)
    assert races(built) == ()
    assert built.solver.spent < MOST_OPERATIONS


OFFSETS = st.integers(-2, 2)


@st.composite
def stencils(draw: st.DrawFn) -> Stencil:
    """Sweeps from one array to the next, the last one back to the first."""
    names = "ABC"[: draw(st.integers(2, 3))]
    sweeps = [
        Sweep(
            f"{target}[i,j]",
            [
                f"{source}[i{draw(OFFSETS):+d},j{draw(OFFSETS):+d}]"
                for _ in range(draw(st.integers(2, 3)))
            ],
            0.4,
            (draw(st.integers(2, 3)), 2),
            (2, draw(st.integers(2, 3))),
        )
        for source, target in zip(names, names[1:] + names[0], strict=True)
    ]
    return Stencil("random", names, 2, sweeps)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(stencils(), st.integers(0, 9), st.integers(4, 60), st.integers(4, 60))
def test_random_stencils_are_exact(
    stencil: Stencil, steps: int, height: int, width: int
) -> None:
    check(stencil, (height, width), (steps,))
