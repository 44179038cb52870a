"""Processors by name, to plan for, and to compile for where the host can run it.

    with stated(PROCESSORS["avx2-512k"]): ...

Features are those that LLVM's processor of that name has, as far as they matter to
kernels, so that any newer one of its kind runs them.
"""

from __future__ import annotations

from gpucodegen.intrinsics.framework.features import host_features
from gpucodegen.runtime.machine.processor import Caches, Cpu

K, M = 1 << 10, 1 << 20
OLDEST = frozenset("cx8 fxsr mmx sse sse2".split())
"""What all of x86-64 have."""
HASWELL = OLDEST | frozenset(
    "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3"
    " xsave".split()
)
CASCADE = HASWELL | frozenset(
    "adx aes avx512bw avx512cd avx512dq avx512f avx512vl avx512vnni pclmul prfchw"
    " rdseed".split()
)

AVX512 = Cpu("cascadelake", CASCADE, Caches(32 * K, 1 * M, 32 * M, 8))
"""32 registers of 512 bits, a second cache of 1 MiB."""
AVX2 = Cpu("x86-64-v3", HASWELL, Caches(32 * K, 512 * K, 32 * M, 2))
"""16 registers of 256 bits, a second cache of 512 KiB: a Zen 3 of two cores."""
AVX2_SMALL = Cpu("x86-64-v3", HASWELL, Caches(32 * K, 256 * K, 8 * M, 8))
"""The same with 256 KiB: a Haswell."""
SSE2 = Cpu("x86-64", OLDEST, Caches(32 * K, 256 * K, 4 * M, 2))
"""16 registers of 128 bits; no fused multiply-add, no masks, no 16-bit floats."""
NEON = Cpu(
    "neoverse-n1",
    frozenset("aes crc dotprod fp-armv8 fullfp16 lse neon rcpc sha2".split()),
    Caches(64 * K, 1 * M, 32 * M, 8),
)
"""32 registers of 128 bits."""

PROCESSORS = {
    "avx512": AVX512,
    "avx2-512k": AVX2,
    "avx2-256k": AVX2_SMALL,
    "sse2": SSE2,
    "neon": NEON,
}


def runs_here(processor: Cpu) -> bool:
    """Whether this machine executes code for a processor.

    >>> runs_here(AVX2) or not runs_here(AVX512)
    True
    """
    return processor.features <= host_features()
