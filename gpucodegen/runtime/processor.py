"""The host processor: vector unit, caches, threads and CPU quotas.

Plans ask `cpu` alone; `stated` replaces the processor for planning, for example by one
of `PROCESSORS`, and for compiling where the host can run its code:
``with stated(PROCESSORS["avx2-512k"]): ...``.  The features of these are those of
LLVM's processor of that name as far as kernels use them, so newer processors of the
kind run them too. `quota` reads the CPU time limits of Linux cgroups: a container of
``--cpus=2`` on 64 cores sees all 64, and 64 threads use up the quota of a period
together, then all stall until the next one.  Nothing heavy is imported.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from gpucodegen.intrinsics.framework import features
from gpucodegen.intrinsics.framework.features import host_features
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import kept_bytes

GROUPS = Path("/proc/self/cgroup")
ROOT = Path("/sys/fs/cgroup")
CONTROLLER = "cpu"


@cache
def quota() -> float:
    """Processors' worth of CPU time of this process, read once; 0: unlimited."""
    return told_quota(GROUPS, ROOT)


def told_quota(groups: Path, root: Path) -> float:
    """The least quota of the groups that ``groups`` lists, and of their ancestors.

    ``groups``: a file like ``/proc/self/cgroup``; ``root``: the folder of the groups.
    0 if none has a quota, or the system has no groups.
    """
    lines: list[str] = []
    with suppress(OSError, UnicodeDecodeError):
        lines = groups.read_text("utf-8").splitlines()
    found = [each for line in lines for each in _quotas(line, root)]
    return min(found, default=0.0)


def _quotas(line: str, root: Path) -> Iterator[float]:
    """The quotas of a line ``number:controllers:/group``."""
    _, _, rest = line.partition(":")
    controllers, _, group = rest.partition(":")
    if not controllers:
        read, place = _of_second_version, root
    elif CONTROLLER in controllers.split(","):
        read, place = _of_first_version, root / CONTROLLER
    else:
        return
    names = Path(group.strip("/")).parts
    # A container may see its own group as the root, which its name then is not below.
    for depth in range(len(names) + 1):
        with suppress(OSError, ValueError):
            yield from read(place.joinpath(*names[:depth]))


def _of_second_version(folder: Path) -> Iterator[float]:
    """cgroup v2, ``cpu.max``: microseconds, or ``max``, per period in microseconds."""
    share, _, period = (folder / "cpu.max").read_text("ascii").partition(" ")
    if share != "max" and int(period) > 0:
        yield int(share) / int(period)


def _of_first_version(folder: Path) -> Iterator[float]:
    """cgroup v1, two files; -1 for no limit."""
    share = int((folder / "cpu.cfs_quota_us").read_text("ascii"))
    period = int((folder / "cpu.cfs_period_us").read_text("ascii"))
    if share > 0 and period > 0:
        yield share / period


SECOND = 1 << 20
FIRST = 1 << 15
"""Bytes of caches whose size the system does not report."""
CACHES = "GPUCODEGEN_CACHES"
"""Variable with the caches to plan for, and who shares the last: ``32K,512K,32M,2``."""
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
"""Variables with the thread count of programs; the first that is set counts."""
UNITS = {"K": 10, "M": 20}


@dataclass(frozen=True, slots=True)
class Caches:
    """Bytes of the data caches: L1 and L2 of a core, and the shared cache.

    ``sharers``: the number of processors that share one such cache.

    >>> str(Caches(32 << 10, 512 << 10, 32 << 20, 8))
    '32K,512K,32M,8'
    """

    first: int = FIRST
    second: int = SECOND
    shared: int = 0
    sharers: int = 2

    def shared_by(self, threads: int) -> int:
        """Bytes of shared caches that ``threads`` threads may use together.

        Each thread has its part; if few sharers of a cache are ours, half of it is
        assumed to be used by other programs.

        >>> zen = Caches(shared=32 << 20, sharers=8)
        >>> [zen.shared_by(threads) >> 20 for threads in (1, 4, 8, 64)]
        [16, 16, 32, 256]
        """
        return max(self.shared // 2, self.shared * threads // self.sharers)

    def kept_by(self, threads: int) -> int:
        """Bytes after whose use a core still finds its data, with ``threads`` threads.

        >>> Caches(32 << 10, 1 << 20, 32 << 20, 8).kept_by(1) >> 20
        8
        """
        return kept_bytes(self.second, self.shared_by(threads), self.first)

    def __str__(self) -> str:
        sizes = map(_size, (self.first, self.second, self.shared))
        return ",".join((*sizes, str(self.sharers)))


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor by its LLVM name, with its caches and the threads of a program.

    >>> Cpu("haswell", frozenset({"sse2", "avx", "avx2", "fma"})).vector_bits
    256
    """

    name: str
    features: frozenset[str]
    caches: Caches = Caches()
    threads: int = 2

    @property
    def vector_bits(self) -> int:
        """Width of the widest vector register."""
        return 8 * features.register_bytes(self.features)

    @property
    def vector_registers(self) -> int:
        return 32 if self.features & {"avx512f", "neon"} else 16

    @property
    def word_parts(self) -> int:
        """Bits of the narrowest integers that are multiplied several per word."""
        return features.word_parts(self.features)

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables with which a process compiles and plans for it."""
        return {
            "NUMBA_CPU_NAME": self.name,
            "NUMBA_CPU_FEATURES": ",".join(f"+{one}" for one in sorted(self.features)),
            CACHES: str(self.caches),
        }

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.vector_registers} vector registers of"
            f" {self.vector_bits} bits, caches {self.caches}"
        )


_STATED: ContextVar[Cpu | None] = ContextVar("stated", default=None)


@contextmanager
def stated(processor: Cpu) -> Generator[Cpu]:
    """Plans for this processor; planned code still runs on the host.

    >>> from gpucodegen.runtime.processor import NEON
    >>> with stated(NEON):
    ...     cpu().vector_bits
    128
    """
    before = _STATED.set(processor)
    try:
        yield processor
    finally:
        _STATED.reset(before)


def cpu() -> Cpu:
    """The processor to plan for: the stated one, or the target of Numba."""
    found = _STATED.get()
    if found is not None:
        return found
    return Cpu(features.cpu_name(), features.cpu_features(), caches(), thread_count())


def facts() -> object:
    """All inputs of plans besides the processor that Numba compiles for.

    For cache keys, without importing Numba or LLVM.
    """
    found = _STATED.get()
    told = found.variables if found else str(caches())
    return told, thread_count()


def host_name() -> str:
    """The processor and its vector width, for keys of measurements."""
    found = cpu()
    return f"{found.name}-{found.vector_bits}x{found.threads}"


def caches() -> Caches:
    """Sizes from ``GPUCODEGEN_CACHES`` or the system, else usual ones.

    No shared cache where the system does not report one.

    >>> 0 < caches().first < caches().second
    True
    """
    *sizes, sharers = f"{os.environ.get(CACHES, '')},,,".split(",")[:4]
    first, second, shared = map(_bytes, sizes)
    if first and second:
        return Caches(first, second, shared, int(sharers) if sharers.isdigit() else 2)
    return _told_caches()


@cache
def _told_caches() -> Caches:
    data, second, shared = (_bytes(_told(i, "size")) for i in (0, 2, 3))
    sharers = _members(_told(3, "shared_cpu_list"))
    return Caches(data or FIRST, second or SECOND, shared, sharers or cores())


def _told(index: int, fact: str) -> str:
    """A property of the caches in Linux's order: L1 data, L1 instructions, L2, L3."""
    with suppress(OSError):
        place = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/{fact}")
        return place.read_text("ascii").strip()
    return ""


def _members(text: str) -> int:
    """The length of a Linux list such as ``0-3,8``.

    >>> [_members(text) for text in ("0-3,8-11", "0,2", "")]
    [8, 2, 0]
    """
    ranges = [list(map(int, part.split("-"))) for part in text.split(",") if part]
    return sum(ends[-1] - ends[0] + 1 for ends in ranges)


def _bytes(text: str) -> int:
    """A size as Linux writes it; 0 for anything else.

    >>> [_bytes(text) for text in ("48K", "2M", "0K", "", "many")]
    [49152, 2097152, 0, 0, 0]
    """
    number, unit = text.strip()[:-1], text.strip()[-1:].upper()
    return int(number) << UNITS[unit] if number.isdigit() and unit in UNITS else 0


def _size(number: int) -> str:
    whole = number and not number & (1 << UNITS["M"]) - 1
    return f"{number >> 20}M" if whole else f"{number >> 10}K"


def thread_count() -> int:
    """Threads of a parallel kernel, unless a program asks for another number.

    It is at most the number that can run at a time, whatever variables say.
    """
    found = _STATED.get()
    if found is not None:
        return found.threads
    return min(wanted_threads() or processors(), processors())


def wanted_threads(names: tuple[str, ...] = THREADS) -> int:
    """The thread count that environment variables request; 0 if none does."""
    for name in names:
        chosen = os.environ.get(name, "").partition(",")[0].strip()
        if chosen.isdigit() and int(chosen) > 0:
            return int(chosen)
    return 0


def processors() -> int:
    """Processors that this process may keep busy: its cores, or its CPU quota."""
    return min(cores(), -int(-quota() // 1)) if quota() else cores()


def cores() -> int:
    """Cores on which this thread may run now."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


K, M = 1 << 10, 1 << 20
OLDEST = frozenset("cx8 fxsr mmx sse sse2".split())
"""Features of every x86-64 processor."""
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
