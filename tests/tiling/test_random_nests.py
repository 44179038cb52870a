from __future__ import annotations

import pytest
from hypothesis import given
from tiling_nests import nests, scops
from tiling_oracle import carrying_loops, expected_rows

from gpucodegen.tiling.model.isl import UNLIMITED
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Scop
from gpucodegen.tiling.proof.dependences import rows
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts


@pytest.mark.sampled(22)
@nests
@given(scops())
def test_rows_equal_enumeration(scop: Scop):
    found = {
        (src, dst, depth): result
        for src, dst, depth, result in rows(scop, UNLIMITED)
        if result != "false"
    }
    assert found == expected_rows(scop)


@pytest.mark.sampled(11)
@nests
@given(scops())
def test_loop_kinds_equal_enumeration(scop: Scop):
    verdicts = loop_verdicts(model(scop, UNLIMITED))
    sequential = {v.loop.name for v in verdicts if v.kind is not LoopKind.PARALLEL}
    assert sequential == carrying_loops(scop)
