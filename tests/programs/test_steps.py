"""Sequential loops whose steps a team of threads walks, on the emulated device.

Blocks of a team meet at barriers of the grid.  Leaving out any of these is told by the
proof and by the device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from examples.polybench.catalogue import KERNELS
from gpucodegen import errors
from gpucodegen.compiling.lowering import Stages, map_module
from gpucodegen.compiling.targets import cuda_passes
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.options import Options
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import check_kernel
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.runtime.cuda import kernel_launch as cuda_kernel

# Nothing relates the extents of an array while they are symbols.
pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")

STEPPED = (
    "adi",
    "cholesky",
    "durbin",
    "fdtd-2d",
    "gramschmidt",
    "heat-3d",
    "jacobi-1d",
    "lu",
    "nussinov",
    "seidel-2d",
    "trisolv",
)
TEAMS = ((1, 32), (1, 128), (3, 64))
BARRIERS = {"block": "gpu.barrier", "grid": "gcg.grid_barrier"}


@pytest.fixture(autouse=True)
def nothing_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))


def walked_by(monkeypatch: pytest.MonkeyPatch, team: tuple[int, int]) -> None:
    monkeypatch.setattr(cuda_passes, "MapGpu", partial(MapGpu, team=team))


@pytest.mark.slow
@pytest.mark.parametrize("team", TEAMS, ids=str)
@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.sampled(20)
@pytest.mark.drawn(10)
def test_teams(
    name: str, team: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    walked_by(monkeypatch, team)
    kernel = KERNELS[name]
    kernel.run(gcg.compile(kernel.path, target="sim")[kernel.entry], None)


@pytest.mark.slow
@pytest.mark.parametrize("extent", [0, 1, 2, 13])
@pytest.mark.sampled(3)
def test_extents(extent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    walked_by(monkeypatch, (3, 32))
    kernel = KERNELS["lu"]
    call = gcg.compile(kernel.path, target="sim", specialize=False)[kernel.entry]
    a = np.random.default_rng(0).standard_normal((extent, extent)) + 4 * np.eye(extent)
    right = kernel.problem.answer(a.copy())[0]
    call(a)
    np.testing.assert_allclose(a, right, 1e-12, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lu", "cholesky", "floyd-warshall"])
@pytest.mark.sampled(3)
def test_iterations_side_by_side(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walked_by(monkeypatch, (1, 32))
    kernel = KERNELS[name]
    program = gcg.compile(kernel.path, target="sim")
    kernel.run(program[kernel.entry], {"N": 69})
    assert "} else {" in str(program.stages(kernel.entry)[-1][1])


def mapped(name: str) -> Module:
    stages: Stages = []
    kernel = KERNELS[name]
    module = gcg.parse(kernel.text)
    count = len(module.functions[kernel.entry].regions[0].blocks[0].arguments)
    key = "cuda", (None,) * count, ()
    return map_module(module, kernel.entry, key, Options(target="cuda"), stages)


def without(module: Module, number: int, barrier: str) -> Iterator[Operation]:
    """The kernels, with one of their barriers left out."""
    wanted = [op for op in module.walk() if op.name == barrier][number]

    def left_out(op: Operation) -> list[Operation] | None:
        return [] if op is wanted else None

    for kernel in module.walk():
        if kernel.name == "gpu.func":
            yield from rewrite_bottom_up(kernel, left_out)


@pytest.mark.slow
@pytest.mark.parametrize("where", BARRIERS)
@pytest.mark.parametrize("name", ["lu", "cholesky", "floyd-warshall"])
@pytest.mark.sampled(3)
def test_the_proof_misses_every_barrier(
    name: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked_by(monkeypatch, (1 if where == "block" else 3, 32))
    module, barrier = mapped(name), BARRIERS[where]
    count = sum(op.name == barrier for op in module.walk())
    assert count
    around = Surroundings.of(module)
    for number in range(count):
        kernels = list(without(module, number, barrier))
        with pytest.raises(errors.RaceFound):
            prove(kernels, around)


def prove(kernels: Sequence[Operation], around: Surroundings) -> None:
    for kernel in kernels:
        check_kernel(kernel, around)


def spoilt(monkeypatch: pytest.MonkeyPatch, edit: Callable[[str], str]) -> None:
    plain = cuda_kernel.compile_ptx

    def edited(*given: object) -> str:
        text = plain(*given)  # type: ignore[arg-type]
        changed = edit(text)
        assert changed != text
        return changed

    monkeypatch.setattr(cuda_kernel, "compile_ptx", edited)


def third_left_out(text: str) -> str:
    """The block's barrier in front of the grid's second one."""
    places = [found.start() for found in re.finditer("bar.sync", text)]
    return text[: places[2]] + "// " + text[places[2] :]


EDITS: dict[str, Callable[[str], str]] = {
    "no release": lambda text: text.replace("atom.add.release.gpu", "atom.add.gpu"),
    "no acquire": lambda text: text.replace("ld.acquire.gpu", "ld.relaxed.gpu"),
    "no barrier in front": third_left_out,
}


@pytest.mark.slow
@pytest.mark.parametrize("what", EDITS)
@pytest.mark.sampled(4)
def test_the_device_misses_what_orders_blocks(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked_by(monkeypatch, (3, 32))
    spoilt(monkeypatch, EDITS[what])
    kernel = KERNELS["lu"]
    with pytest.raises(errors.LaunchError):
        kernel.run(gcg.compile(kernel.path, target="sim")[kernel.entry], {"N": 20})


@pytest.mark.slow
def test_a_grid_that_is_not_resident_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walked_by(monkeypatch, (5000, 512))
    kernel = KERNELS["lu"]
    call = gcg.compile(kernel.path, target="sim")[kernel.entry]
    with pytest.raises(errors.LaunchFailed, match="wait for each other"):
        call(np.eye(600))


GRIDS = {
    "lu": ({"N": 41}, (3, 64), 3),
    "cholesky": ({"N": 3}, (16, 32), 1),
    "seidel-2d": ({"N": 40, "T": 2}, (16, 32), 2),
}
"""Extents, a team's blocks and threads per block, and the blocks with iterations."""


@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_blocks_without_iterations_are_not_launched(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, team, blocks = GRIDS[name]
    walked_by(monkeypatch, team)
    found: list[tuple[int, ...]] = []
    plain = cuda_kernel.CudaKernel.launch

    def noted(self: object, grid: tuple[int, ...], *given: object) -> None:
        found.append(grid)
        plain(self, grid, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(cuda_kernel.CudaKernel, "launch", noted)
    kernel = KERNELS[name]
    program = gcg.compile(kernel.path, target="sim", specialize=False)
    kernel.run(program[kernel.entry], size)
    assert "gcg.grid_barrier" in str(program.stages(kernel.entry)[-1][1])
    assert found[-1] == (blocks, 1, 1)


@pytest.mark.slow
def test_a_graph_of_blocks_that_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpucodegen.runtime.devices import emulated_cupy as xp

    walked_by(monkeypatch, (2, 32))
    monkeypatch.setenv("GPUCODEGEN_DEVICE", "emulated")
    kernel = KERNELS["lu"]
    (a,) = kernel.arguments()
    there = xp.asarray(a)
    call = gcg.compile(kernel.path, target="cuda")[kernel.entry]
    replay = call.bind(there, graph=True)
    there.set(a)
    replay()
    np.testing.assert_allclose(there.get(), kernel.problem.answer(a)[0], 1e-12, 1e-12)
