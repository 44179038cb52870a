"""Every example program compiles to PTX for sm_90 without a GPU."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS

pytestmark = pytest.mark.cuda13


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kernel_compiles(name: str) -> None:
    from gpucodegen.runtime.cuda.compilation import compile_cubin, compile_ptx

    program = PROGRAMS[name]
    call = gcg.compile(program.path, target="sim")[program.entry]
    program.run(call)
    kernels = call.executable().kernels
    assert kernels
    for spec in kernels:
        text = compile_ptx(spec, (9, 0))
        assert f".entry {spec.name}" in text
        assert compile_cubin(spec, (9, 0)).spills == 0


def test_transfers_into_shared_memory_are_asynchronous_copies() -> None:
    from gpucodegen.runtime.cuda.compilation import compile_ptx

    program = PROGRAMS["dma_matmul"]
    call = gcg.compile(program.path, target="sim")[program.entry]
    program.run(call)
    (spec,) = call.executable().kernels
    assert "cp.async" in compile_ptx(spec, (9, 0))
