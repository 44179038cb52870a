from __future__ import annotations

from gpucodegen.emit.spelling import HOST
from gpucodegen.intrinsics import cpu, cuda
from gpucodegen.intrinsics.framework.backends import MEMORY, SHAPED
from gpucodegen.runtime.cpu import arithmetic


def test_cpu_and_cuda_have_the_same_names() -> None:
    assert set(cpu.FACTORIES) == set(cuda.FACTORIES)
    assert set(cpu.PLAIN) == set(cuda.PLAIN)


def test_factories_have_the_shared_names() -> None:
    assert set(cpu.FACTORIES) >= {*SHAPED, *MEMORY, "constant", "cmpi", "cmpf"}


def test_host_programs_have_what_is_ready_for_them() -> None:
    assert HOST.face == arithmetic.__name__
    assert all(hasattr(arithmetic, name) for name in HOST.ready)
