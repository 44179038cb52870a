"""Generated text is Numba CUDA: numba-cuda's own compiler takes it as it is."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS

pytestmark = pytest.mark.ptxas


@pytest.mark.parametrize("name", PROGRAMS)
def test_numba_cuda_compiles_the_text(name: str) -> None:
    from tests.gpu.numba_cuda import ptx

    program = PROGRAMS[name]
    call = gcg.compile(program.path, target="cuda")[program.entry]
    program.run(call)
    for spec in call.executable().kernels:
        text = ptx(spec)
        assert f".entry {spec.name}(" in text
        assert ".extern .func" not in text
