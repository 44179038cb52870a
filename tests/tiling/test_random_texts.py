from __future__ import annotations

import os

import pytest
from affine_texts import Program, programs
from hypothesis import HealthCheck, Phase, given, settings
from tiling_oracle import rows_of

import gpucodegen as gcg
from gpucodegen.passes.analysis.queries import (
    functions_with_body,
    lift_accesses,
)
from gpucodegen.tiling.proof.dependences import rows


@pytest.mark.slow
@settings(
    max_examples=300 * int(os.environ.get("GPUCODEGEN_FUZZ", "1")),
    database=None,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_dependences_of_text_equal_enumeration(program: Program):
    (function,) = functions_with_body(gcg.parse(str(program)))
    found = {
        (src, dst, depth): result
        for src, dst, depth, result in rows(lift_accesses(function, plain=False).scop)
        if result != "false"
    }
    assert found == rows_of(program.touches())
