"""What the host's processor offers to generated code."""

from __future__ import annotations

from functools import cache


@cache
def cpu_name() -> str:
    """The processor that Numba compiles for."""
    import llvmlite.binding as llvm
    from numba.core import config

    name = config.CPU_NAME or llvm.get_host_cpu_name()
    return str(llvm.get_host_cpu_name() if name == "host" else name)


@cache
def cpu_features() -> frozenset[str]:
    """Features that Numba compiles with, as LLVM names them: ``avx512f``, ``fma``."""
    import llvmlite.binding as llvm
    from numba.core import config

    if config.CPU_FEATURES is not None:
        listed = str(config.CPU_FEATURES).split(",")
        return frozenset(f[1:] for f in listed if f.startswith("+"))
    found = llvm.get_host_cpu_features()
    return frozenset(name for name, present in found.items() if present)


def register_bytes() -> int:
    """Width of the widest vector register: 64 with AVX-512, 32 with AVX, else 16."""
    features = cpu_features()
    if "avx512f" in features:
        return 64
    return 32 if "avx" in features else 16


def has_fused_operations() -> bool:
    """Whether a fused multiply-add is one instruction."""
    return bool(cpu_features() & {"fma", "neon"})
