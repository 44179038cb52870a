"""Every example program compiles to PTX without a GPU, for every architecture."""

from __future__ import annotations

from functools import cache

import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS
from gpucodegen import errors
from gpucodegen.intrinsics.cuda import assembly
from gpucodegen.runtime.cuda.compilation import compile_cubin, compile_ptx, llvm_text
from gpucodegen.runtime.host import generated_code
from gpucodegen.runtime.host.spec import KernelSpec


@cache
def kernels(name: str) -> tuple[KernelSpec, ...]:
    program = PROGRAMS[name]
    call = gcg.compile(program.path, target="cuda")[program.entry]
    program.run(call)
    made = tuple(call.executable().kernels)
    assert made
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.drawn(10)
def test_every_kernel_compiles(name: str) -> None:
    for spec in kernels(name):
        text = compile_ptx(spec, (9, 0))
        assert f".entry {spec.name}(" in text
        assert spec.block is None or ".reqntid" in text


def test_addresses_of_asynchronous_copies_are_defined() -> None:
    (spec,) = kernels("matmul")
    text = llvm_text(spec, generated_code.DIRECT)
    copies = [line for line in text.splitlines() if "cp.async.c" in line]
    assert copies
    assert all(line.count("noundef") == line.count("$") for line in copies)


@pytest.mark.ptxas
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(6, long=("dma_matmul_f16", "jacobi_2d", "heat_3d"))
def test_no_kernel_spills(name: str) -> None:
    for spec in kernels(name):
        assert compile_cubin(spec, (9, 0)).spills == 0


@pytest.mark.slow
@pytest.mark.parametrize("architecture", assembly.ARCHITECTURES)
def test_every_architecture(architecture: str) -> None:
    (spec,) = kernels("matmul")
    digits = architecture.removeprefix("sm_").removesuffix("a")
    suffix = ("a",) if architecture.endswith("a") else ()
    text = compile_ptx(spec, (int(digits[:-1]), int(digits[-1]), *suffix))
    assert f".target {architecture}" in text


@pytest.mark.slow
def test_a_newer_device_gets_the_code_of_an_older_one() -> None:
    (spec,) = kernels("matmul")
    assert ".target sm_120" in compile_ptx(spec, (19, 9))


@pytest.mark.slow
def test_transfers_into_shared_memory_are_asynchronous_copies() -> None:
    (spec,) = kernels("dma_matmul")
    assert "cp.async" in compile_ptx(spec, (9, 0))


@pytest.mark.slow
def test_fused_operations_are_a_choice() -> None:
    program = PROGRAMS["matmul"]
    for exact in (False, True):
        call = gcg.compile(program.path, target="cuda", exact=exact)[program.entry]
        program.run(call)
        (spec,) = call.executable().kernels
        assert ("fma.rn.f32" in compile_ptx(spec)) == (not exact)


@pytest.mark.slow
def test_instructions_name_the_lines_of_the_program() -> None:
    (spec,) = kernels("matmul")
    text = compile_ptx(spec)
    assert "matmul.mlir" in text
    assert ".loc" in text


CALL = """
target triple = "nvptx64-nvidia-cuda"
declare float @tanf(float)
define ptx_kernel void @k(ptr %p) {
  %x = load float, ptr %p
  %y = call float @tanf(float %x)
  store float %y, ptr %p
  ret void
}
"""


def test_what_no_gpu_has_is_refused_by_name() -> None:
    with pytest.raises(errors.NoDeviceFunction, match="tanf"):
        assembly.ptx(CALL, "sm_90")


@pytest.mark.slow
def test_bodies_of_tiles_are_repeated() -> None:
    """16 steps of the inner loop multiply 4 x 4 elements each."""
    (spec,) = kernels("matmul")
    text = compile_ptx(spec)
    assert text.count("fma.rn.f32") >= 2 * 16
