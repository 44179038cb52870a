"""Every name that emission prints exists in each face of the intrinsics."""

from __future__ import annotations

from importlib import import_module

import pytest

from gpucodegen.dialects.affine.reductions import COMBINERS
from gpucodegen.emit import scalars
from gpucodegen.emit.kinds import CONSTRUCTORS

OPERATIONS = (
    *(*scalars.INTRINSICS, *scalars.INTEGER_OPERATORS, *scalars.FLOAT_OPERATORS),
    *("arith.negf", "arith.select", "math.sin", "math.cos"),
)
PRINTED = {name.partition(".")[2] for name in OPERATIONS} | {
    *(*CONSTRUCTORS.values(), *COMBINERS.values()),
    *("floordiv", "floormod", "mulsi_high", "mului_high"),
}


@pytest.mark.parametrize(
    "face", ["cpu", "sim", pytest.param("cuda", marks=pytest.mark.cuda13)]
)
def test_faces_have_what_is_printed(face: str):
    module = import_module(f"gpucodegen.intrinsics.{face}")
    assert not {name for name in PRINTED if not hasattr(module, name)}
