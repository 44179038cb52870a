"""Plans of products whose left factor is transposed: blocks of whole squares."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gpucodegen.tiling.machine.products.plan import plan_contraction
from gpucodegen.tiling.machine.products.problem import CpuModel, CpuTiles, Problem
from gpucodegen.tiling.machine.products.register_tile import VectorUnit

UNITS = st.sampled_from([VectorUnit(512, 32), VectorUnit(256, 16), VectorUnit(128, 32)])
EXTENTS = st.integers(1, 2500)


@given(EXTENTS, EXTENTS, EXTENTS, UNITS, st.integers(1, 8), st.booleans())
def test_blocks_begin_where_copied_squares_do(
    rows: int, columns: int, steps: int, unit: VectorUnit, threads: int, uneven: bool
):
    problem = Problem(rows, columns, (steps,), 1, 32, True, False)
    problem = replace(problem, left_is_transposed=True, uneven=uneven)
    for tiles in (CpuTiles(), CpuTiles(row_block=100)):
        plan = plan_contraction(problem, CpuModel(threads, unit), tiles)
        assert plan.row_block % plan.rows == 0 or plan.row_block >= rows
        if plan.left_stride:
            assert plan.row_block % plan.lanes == 0 or plan.row_block >= rows
            assert plan.left_rows % plan.lanes == 0
