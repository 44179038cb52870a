"""What this machine has: processor features and GPUs.  Nothing heavy at import."""

from __future__ import annotations

import importlib.util
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpucodegen import errors


@dataclass(frozen=True, slots=True)
class Gpu:
    """One CUDA device."""

    name: str
    compute_capability: tuple[int, int]
    memory: int
    multiprocessors: int

    def __str__(self) -> str:
        major, minor = self.compute_capability
        return (
            f"{self.name}, sm_{major}{minor}, {self.multiprocessors} multiprocessors,"
            f" {self.memory >> 30} GiB"
        )


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor as Numba compiles for it."""

    name: str
    features: frozenset[str]
    vector_bytes: int
    vector_registers: int
    threads: int

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.vector_registers} vector registers of"
            f" {8 * self.vector_bytes} bits, {self.threads} threads"
        )


@cache
def cpu() -> Cpu:
    """The host's processor."""
    from gpucodegen.intrinsics.host import cpu_features, cpu_name, register_bytes

    features = cpu_features()
    many = "avx512f" in features or "neon" in features
    return Cpu(
        cpu_name(), features, register_bytes(), 32 if many else 16, thread_count()
    )


def host_name() -> str:
    """The processor and its vector width, for keys of what was measured here."""
    host = cpu()
    return f"{host.name}-{8 * host.vector_bytes}x{host.threads}"


def host_vector_unit() -> tuple[int, int]:
    """(bits of a vector register, number of vector registers)."""
    return 8 * cpu().vector_bytes, cpu().vector_registers


def host_word_parts() -> int:
    """Bits of the narrowest integers that are multiplied as parts of 32-bit words.

    >>> host_word_parts() in {8, 16, 32}
    True
    """
    from gpucodegen.intrinsics.words import word_parts

    return word_parts()


def cache_bytes(otherwise: int = 1 << 20) -> int:
    """Bytes of a core's second-level cache; ``otherwise`` where nobody tells.

    >>> cache_bytes() >= 1 << 16
    True
    """
    return _cache_bytes(2) or otherwise


def first_cache_bytes(otherwise: int = 1 << 15) -> int:
    """Bytes of a core's first cache of data; ``otherwise`` where nobody tells.

    >>> first_cache_bytes() >= 1 << 12
    True
    """
    return _cache_bytes(0) or otherwise


def shared_cache_bytes() -> int:
    """Bytes of the third-level cache, which cores share; 0 where nobody tells.

    >>> shared_cache_bytes() >= 0
    True
    """
    return _cache_bytes(3)


def _cache_bytes(index: int) -> int:
    """Of the caches as Linux counts them: data, instructions, then the other levels."""
    with suppress(OSError, ValueError):
        place = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size")
        return int(place.read_text("ascii").strip().removesuffix("K")) << 10
    return 0


THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
"""Variables that say on how many threads programs run; the first that is set does."""


def thread_count() -> int:
    """Threads that a parallel kernel runs on, unless a program asks for others."""
    for name in THREADS:
        chosen = os.environ.get(name, "").partition(",")[0].strip()
        if chosen.isdigit() and int(chosen) > 0:
            return int(chosen)
    return processors()


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def gpus() -> tuple[Gpu, ...]:
    """The CUDA devices that CuPy can reach; none without CuPy or a driver."""
    if importlib.util.find_spec("cupy") is None:
        return ()
    import cupy

    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError:
        return ()
    return tuple(_gpu(runtime.getDeviceProperties(i)) for i in range(count))


def _gpu(facts: dict[str, object]) -> Gpu:
    name = facts["name"]
    return Gpu(
        name.decode() if isinstance(name, bytes) else str(name),
        (int(str(facts["major"])), int(str(facts["minor"]))),
        int(str(facts["totalGlobalMem"])),
        int(str(facts["multiProcessorCount"])),
    )


def missing_for_cuda() -> tuple[str, str] | None:
    """(what is missing to run on a GPU, the remedy), or None if nothing is."""
    if gpus():
        return None
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed", "Run pip install 'gpucodegen[cuda13]'"
    if not has_cuda_compiler():
        return "numba-cuda is not installed", "Run pip install 'gpucodegen[cuda13]'"
    return (
        "no CUDA device or driver was found",
        "Run on a machine with an NVIDIA GPU, or use target='cpu' or target='sim'",
    )


def require_cuda() -> None:
    """Refuse a CUDA request that this machine cannot serve."""
    missing = missing_for_cuda()
    if missing is not None:
        reason, hint = missing
        raise errors.NoDevice(reason=reason, hint=hint)


def require_cuda_compiler() -> None:
    """Refuse a request for PTX without the compiler that makes it."""
    if not has_cuda_compiler():
        raise errors.NoDevice(
            reason="numba-cuda is not installed",
            hint="Run pip install 'gpucodegen[cuda13]'",
        )


def has_cuda_compiler() -> bool:
    """Whether CUDA kernels can be compiled here, with or without a GPU."""
    try:
        return importlib.util.find_spec("numba_cuda") is not None
    except ModuleNotFoundError:
        return False


def describe() -> list[str]:
    """Lines for ``gpucodegen doctor``."""
    lines = [f"CPU         {cpu()}"]
    lines += [f"GPU         {gpu}" for gpu in gpus()]
    missing = missing_for_cuda()
    if missing is not None:
        lines.append(f"GPU         none: {missing[0]}. {missing[1]}")
    compiler = "yes" if has_cuda_compiler() else "no: pip install 'gpucodegen[cuda13]'"
    lines.append(f"CUDA text compiles without a GPU: {compiler}")
    return lines
