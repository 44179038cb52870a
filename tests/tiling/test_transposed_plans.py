"""Plans of products whose left factor is transposed: blocks of whole squares."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucodegen.tiling.machine.processor import Machine, VectorUnit
from gpucodegen.tiling.machine.product_plan import plan_contraction
from gpucodegen.tiling.machine.product_problem import Problem, Stripes, TileSizes

UNITS = st.sampled_from([VectorUnit(512, 32), VectorUnit(256, 16), VectorUnit(128, 32)])
EXTENTS = st.integers(1, 2500)


@pytest.mark.slow
@given(EXTENTS, EXTENTS, EXTENTS, UNITS, st.integers(1, 8), st.booleans())
def test_blocks_begin_where_copied_squares_do(
    rows: int, columns: int, steps: int, unit: VectorUnit, threads: int, uneven: bool
):
    problem = Problem(rows, columns, (steps,), 1, 32, True, False)
    problem = replace(problem, left_is_transposed=True, uneven=uneven)
    for sizes in (TileSizes(), TileSizes(row_block=100)):
        plan = plan_contraction(problem, Machine(threads, unit), sizes)
        tiling = plan.tiling
        assert tiling.row_block % tiling.rows == 0 or tiling.row_block >= rows
        if tiling.left_stride:
            assert tiling.row_block % tiling.lanes == 0 or tiling.row_block >= rows
        if tiling.left_stride and isinstance(plan, Stripes):
            assert plan.left_rows % tiling.lanes == 0
