from __future__ import annotations

from gpucodegen.intrinsics import cpu, sim

HOST_ONLY = {"prange"}


def test_cpu_and_emulator_have_the_same_names() -> None:
    assert set(cpu.FACTORIES) == set(sim.FACTORIES)
    assert set(cpu.PLAIN) == set(sim.PLAIN)


def test_cuda_and_emulator_have_the_same_names() -> None:
    from gpucodegen.intrinsics import cuda

    assert set(cuda.FACTORIES) == set(sim.FACTORIES)
    assert set(cuda.PLAIN) == set(sim.PLAIN)


def test_factories_give_the_same_intrinsic_twice() -> None:
    assert cpu.FACTORIES["vload"](8, "f32") is cpu.FACTORIES["vload"](8, "f32")
