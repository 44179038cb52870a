"""Instruction set features of the host processor for generated code."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cache

WORD = 32


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
    from numba.core import config

    if config.CPU_FEATURES is not None:
        listed = str(config.CPU_FEATURES).split(",")
        return frozenset(f[1:] for f in listed if f.startswith("+"))
    return host_features()


@cache
def host_features() -> frozenset[str]:
    """Features of the host, even if Numba compiles for fewer."""
    import llvmlite.binding as llvm

    found = llvm.get_host_cpu_features()
    return frozenset(name for name, present in found.items() if present)


def register_bytes(features: AbstractSet[str] | None = None) -> int:
    """Width of the widest vector register: 64 with AVX-512, 32 with AVX, else 16.

    ``features``: those that Numba compiles with, unless others are given.

    >>> register_bytes({"sse2", "avx"})
    32
    """
    if features is None:
        features = cpu_features()
    if "avx512f" in features:
        return 64
    return 32 if "avx" in features else 16


def word_parts(features: AbstractSet[str]) -> int:
    """Bits of the narrowest integers that are multiplied as parts of words.

    >>> word_parts({"sse2"}), word_parts({"neon"})
    (16, 32)
    """
    if "avx512vnni" in features:
        return 8
    return 16 if "sse2" in features else WORD


def has_fused_operations() -> bool:
    """Whether a fused multiply-add is one instruction."""
    return bool(cpu_features() & {"fma", "neon"})


def converts_halves() -> bool:
    """Whether an instruction converts 16-bit floats to wider ones, and back.

    Where there is none, LLVM calls functions that no library of the process has.
    """
    import llvmlite.binding as llvm

    is_x86 = llvm.get_process_triple().startswith(("x86_64", "i686"))
    return not is_x86 or "f16c" in cpu_features()
