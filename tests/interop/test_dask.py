from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.interop.texts import GRIDS

X = np.random.default_rng(7).random((60, 50), np.float32)
K = np.float32(0.1)


@pytest.fixture(scope="module")
def program() -> gcg.Program:
    return gcg.compile(GRIDS, target="cpu", threads=1, specialize=False)


@pytest.fixture(scope="module")
def da() -> Any:
    return pytest.importorskip("dask.array")


@pytest.fixture(autouse=True)
def in_this_thread() -> Any:
    pytest.importorskip("cloudpickle")
    dask: Any = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


def heated(x: np.ndarray, steps: int) -> np.ndarray:
    x = x.astype(float)
    for _ in range(steps):
        around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        new = x.copy()
        new[1:-1, 1:-1] += float(K) * around
        x = new
    return x


HALOS = {
    "heat": ((((-1, 1), (-1, 1)), (1, 1)), ()),
    "two_steps": ((((-2, 0), (0, 2)), (1, 1)), ()),
    "many_steps": ((((-8, 0), (0, 8)), (1, 1)), (0, 0, 4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HALOS)
def test_how_far_values_travel(program: gcg.Program, name: str) -> None:
    (cells, border), arguments = HALOS[name]
    found = gcg.dask.halo(program[name], arguments)
    assert (found.cells, found.border) == (cells, border)


def test_the_former_name_is_refused_with_the_new_one() -> None:
    with pytest.raises(AttributeError, match=r"gpucodegen\.dask\.halo"):
        _ = gcg.dask.reach


REFUSED = {
    "in_place": "travel along loop",
    "prefix": "depends on all cells along dimension 0",
    "every_other": "writes some cells of b and leaves others out",
    "first_of_row": "depends on all cells along dimension 1",
    "where": "depends on all cells along dimension 0",
    "total": "depends on all cells along dimension 0",
    "many_steps": "travel along loop t",
}


@pytest.mark.cases("name", REFUSED)
def test_what_no_halo_is_deep_enough_for(program: gcg.Program, name: str) -> None:
    with pytest.raises(errors.NoStencil, match=REFUSED[name]):
        gcg.dask.halo(program[name])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("together", [1, 2, 5, 7])
@pytest.mark.parametrize("chunks", [(20, 17), (60, 9)])
def test_steps_of_a_stencil(
    da: Any, program: gcg.Program, together: int, chunks: tuple[int, int]
) -> None:
    grid = da.from_array(X, chunks=chunks)
    found = gcg.dask.stencil(
        program.heat, grid, numbers=[K], steps=5, together=together
    )
    np.testing.assert_allclose(found.compute(), heated(X, 5), rtol=1e-5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "numbers"), [("two_steps", []), ("many_steps", [3])])
def test_functions_of_several_steps(
    da: Any, program: gcg.Program, name: str, numbers: list[int]
) -> None:
    a, b = X.copy(), X.copy()
    program[name](a, b, *numbers)
    grid = da.from_array(X, chunks=(20, 25))
    found = gcg.dask.stencil(program[name], grid, numbers=numbers)
    np.testing.assert_array_equal(found.compute(), a)
    assert not np.array_equal(a, X)


def test_arguments_of_a_stencil(da: Any, program: gcg.Program) -> None:
    grid = da.from_array(X, chunks=20)
    with pytest.raises(errors.WrongArgumentCount):
        gcg.dask.stencil(program.heat, grid)
    with pytest.raises(errors.InvalidOption):
        gcg.dask.stencil(program.heat, grid, numbers=[K], together=0)
    assert gcg.dask.stencil(program.heat, grid, numbers=[K], steps=0) is grid


@pytest.mark.slow
def test_products_and_sums(da: Any, program: gcg.Program) -> None:
    grid = da.from_array(X, chunks=(20, 10))
    found = gcg.dask.matmul(grid, grid.T.rechunk((10, 20)), target="cpu", every=2)
    wanted = X.astype(float) @ X.T.astype(float)
    np.testing.assert_allclose(found.compute(), wanted, rtol=1e-5)
    total = gcg.dask.reduce(program.total, da.from_array(X, chunks=(20, 50)), np.sum)
    np.testing.assert_allclose(total.compute(), X.astype(float).sum(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_convolutions(da: Any, layout: str) -> None:
    random = np.random.default_rng(1).random
    x, w = random((2, 20, 18, 3), np.float32), random((3, 4, 3, 2), np.float32)
    chunks = (2, 10, 18, 3)
    if layout == "NCHW":
        x, w = x.transpose(0, 3, 1, 2).copy(), w.transpose(3, 2, 0, 1).copy()
        chunks = (1, 3, 7, 6)
    blocks = da.from_array(x, chunks=chunks)
    found = gcg.dask.conv2d(blocks, w, layout=layout, target="cpu")
    wanted = gcg.kernels.conv2d(x, w, layout=layout, target="cpu")
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.compute(), wanted, rtol=1e-5)


def test_functions_on_blocks(da: Any) -> None:
    grid = da.from_array(X[:, 0].copy(), chunks=9)
    text = """func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = arith.addf %x, %x : tensor<?xf32>
      return %y : tensor<?xf32>
    }"""
    double = gcg.compile(text, target="cpu", threads=1).double
    mapped = gcg.dask.map_blocks(double, grid)
    assert mapped.dtype == np.float32
    np.testing.assert_array_equal(mapped.compute(), 2 * X[:, 0])
    blocked = gcg.dask.blockwise(double, "i", grid, "i")
    np.testing.assert_array_equal(blocked.compute(), 2 * X[:, 0])


LIMIT = 480 * 2**20
"""Bytes that a worker may hold: its own code takes about half."""


def peak() -> int:
    """The most memory that this process held, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def numbered(corner: tuple[int, int], shape: tuple[int, int]) -> np.ndarray:
    """Cells that only their places tell apart."""
    rows = (np.arange(shape[0], dtype="f4") + corner[0] * shape[0]) * 7 % 11
    columns = (np.arange(shape[1], dtype="f4") + corner[1] * shape[1]) * 3 % 11
    return rows[:, None] + columns


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_arrays_three_times_the_memory_of_a_worker(
    da: Any, program: gcg.Program, tmp_path: Any, record_property: Any
) -> None:
    """A stencil in time and a product, of which blocks and sums are checked."""
    distributed: Any = pytest.importorskip("distributed")
    shape, block = (36_000, 10_000), (1_000, 2_500)
    assert shape[0] * shape[1] * 4 > 2.8 * LIMIT
    grid = da.map_blocks(
        lambda block_id: numbered(block_id, block),
        chunks=tuple((b,) * (n // b) for n, b in zip(shape, block, strict=True)),
        dtype="f4",
        meta=np.empty((0, 0), "f4"),
    )
    cluster = distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit=LIMIT,
        local_directory=str(tmp_path),
        dashboard_address=None,
    )
    with cluster, distributed.Client(cluster) as client:
        started = client.run(peak)
        steps = gcg.dask.stencil(program.heat, grid, numbers=[K], steps=4, together=4)
        ones = da.ones((shape[1], 8), chunks=(block[1], 8), dtype="f4")
        product = gcg.dask.matmul(steps, ones, target="cpu")
        corner, column = client.gather(
            client.compute([steps[980:1020, 2480:2520], product[:, 0]])
        )
        ended = client.run(peak)
    around = numbered((0, 0), (2000, 5000))[960:1040, 2460:2540]
    wanted = heated(around, 4)[20:-20, 20:-20]
    np.testing.assert_allclose(corner, wanted, rtol=1e-5)
    row = heated(numbered((0, 0), (30, shape[1])), 4)[10].sum()
    np.testing.assert_allclose(column[10], row, rtol=1e-4)
    assert column.shape == (shape[0],)
    record_property("MiB at first", max(started.values()) >> 20)
    record_property("MiB at most", max(ended.values()) >> 20)
    assert started.keys() == ended.keys(), "no worker was killed for its memory"
