"""Generated text is Numba CUDA: numba-cuda's own compiler takes it as it is."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS
from tests.programs.warp_texts import each

pytestmark = pytest.mark.ptxas


OF_ARRAYS = {"dense_layer"}
"""A loop carries an array of a tile's pieces, for which numba-cuda has no type."""


@pytest.mark.drawn(3)
@pytest.mark.slow
@pytest.mark.cases("name", sorted(PROGRAMS.keys() - OF_ARRAYS), parts=12)
def test_numba_cuda_compiles_the_text(name: str) -> None:
    from tests.gpu.numba_cuda import ptx

    program = PROGRAMS[name]
    call = gcg.compile(program.path, target="cuda", verify=False)[program.entry]
    program.run(call)
    for spec in call.executable().kernels:
        text = ptx(spec)
        assert f".entry {spec.name}(" in text
        assert ".extern .func" not in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("block", [(40, 1, 1), (64, 1, 1)])
def test_numba_cuda_compiles_what_lanes_exchange(block: tuple[int, int, int]) -> None:
    from tests.gpu.numba_cuda import ptx

    n = block[0]
    values = [
        "%r = gpu.all_reduce add %v {} : (i32) -> i32",
        "%r = gpu.subgroup_reduce maxui %v : (i32) -> i32",
        "%r = gpu.subgroup_broadcast %v, first_active_lane : i32",
        """%m = arith.constant -1 : i32
        nvvm.bar.warp.sync %m : i32
        %t = arith.cmpi eq, %v, %m : i32
        %r = gpu.ballot %t : i32""",
    ]
    call = gcg.compile(each(values, "i32", block, len(values)), target="cuda").f
    call(np.zeros(n, "i4"), np.zeros((len(values), n), "i4"))
    (spec,) = call.executable().kernels
    text = ptx(spec)
    for name in ("shfl.sync", "redux.sync", "vote.sync", "bar.warp.sync"):
        assert name in text
    assert ".extern .func" not in text
