"""Every name that emission prints exists in each face of the intrinsics."""

from __future__ import annotations

from importlib import import_module

import pytest

from gpucodegen.dialects.shared.combiners import COMBINERS, OF_ATOMICS
from gpucodegen.emit.spelling import CONSTRUCTORS
from gpucodegen.emit.tables import scalars

OPERATIONS = (
    *(*scalars.INTRINSICS, *scalars.INTEGER_OPERATORS, *scalars.FLOAT_OPERATORS),
    *("arith.negf", "arith.select", "math.sin", "math.cos"),
)
PRINTED = {name.partition(".")[2] for name in OPERATIONS} | {
    *(*CONSTRUCTORS.values(), *(row.operation for row in OF_ATOMICS.values())),
    *("floordiv", "floormod", "mulsi_high", "mului_high"),
}


@pytest.mark.parametrize("face", ["cpu", "cuda"])
def test_faces_have_what_is_printed(face: str):
    module = import_module(f"gpucodegen.intrinsics.{face}")
    assert not {name for name in PRINTED if not hasattr(module, name)}


def test_intrinsics_combine_by_the_operations_of_the_table():
    from gpucodegen.intrinsics.atomics import DIRECT
    from gpucodegen.intrinsics.elementwise import ELEMENTWISE

    combined = {row.operation for row in OF_ATOMICS.values()}
    assert combined <= set(ELEMENTWISE)
    assert set(DIRECT) < {name for name in combined if not COMBINERS[name].is_float}
