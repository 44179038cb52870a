"""GPU data sheets: limits and rates per architecture, devices, and occupancy.

Sources: the tables of the CUDA programming guide (limits and operations per clock by
compute capability), the vendor's data sheets (multiprocessors, clocks, bandwidths), and
published measurements where a field says so.  The clock and the L2 cache of B200 and
the row of Orin were not checked against a source.  L2 rates are published for A100 and
Hopper only, and assumed for other devices. Estimates are compared with measurements of
an H100 in ``bench/results/gpu``.

`occupancy` follows the CUDA occupancy calculator: registers are allocated to warps in
units of 256 from four quarters of the file, shared memory in units of 128 bytes after
1024 bytes that the system reserves per block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import ceil

from gpucodegen.records import dataclass

GRID = (2**31 - 1, 65535, 65535)
"""Most blocks along x, y and z."""

WARP = 32
"""Threads of a warp, which MLIR calls a subgroup."""

WARPGROUP = 4 * WARP
"""Threads of a warpgroup, four warps that multiply together."""

STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a block may have without asking for more."""

WIDEST = 16
"""Bytes of the widest access of one thread, which divide its address."""

ALLOCATED = 256
"""Alignment in bytes of device allocations: CUDA guide, "Device Memory"."""


SCHEDULERS = 4
"""Each issues at most one instruction of a warp per clock."""
SECTOR, LINE = 32, 128
"""Bytes of a sector, the least that global memory moves, and of an L1 cache line."""


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """Limits of one multiprocessor, and the rates of its units per clock.

    ``shared`` and ``block_shared``: bytes of all blocks, and of one block with the
    system's 1024.  Rates count operations of single threads per clock; ``tensor``
    counts fused multiply-adds of 16-bit numbers with f32 sums through ``mma.sync``,
    ``warpgroup`` those through ``wgmma``, None where no figure is published.
    ``double_tensor``: f64 ones, None where tensor cores are no faster than ``double``.
    """

    warps: int
    blocks: int
    shared: int
    block_shared: int
    fma: int
    double: int
    tensor: int | None
    integer: int = 64
    special: int = 16
    warpgroup: int | None = None
    double_tensor: int | None = None
    registers: int = 65536
    shared_rate: int = 128
    l1_rate: int = 128
    l2_rate: int = 64
    """Bytes per clock from shared memory, the L1 cache, and to it from the L2 cache."""


_SM_80 = Multiprocessor(
    *(64, 32, 167936, 166912), fma=64, double=32, tensor=1024, double_tensor=64
)
_SM_86 = Multiprocessor(48, 16, 102400, 101376, fma=128, double=2, tensor=None)
_SM_87 = Multiprocessor(48, 16, 167936, 166912, fma=128, double=2, tensor=None)
_SM_89 = Multiprocessor(48, 24, 102400, 101376, fma=128, double=2, tensor=None)
_SM_90 = Multiprocessor(
    *(64, 32, 233472, 232448),
    fma=128,
    double=64,
    tensor=1329,
    warpgroup=2048,
    double_tensor=128,
)
_SM_100 = Multiprocessor(64, 32, 233472, 232448, fma=128, double=64, tensor=None)
_SM_120 = Multiprocessor(48, 24, 102400, 101376, fma=128, double=2, tensor=None)

MULTIPROCESSORS: Mapping[str, Multiprocessor] = {
    "sm_80": _SM_80,
    "sm_86": _SM_86,
    "sm_87": _SM_87,
    "sm_89": _SM_89,
    "sm_90": _SM_90,
    "sm_90a": _SM_90,
    "sm_100": _SM_100,
    "sm_100a": _SM_100,
    "sm_120": _SM_120,
    "sm_120a": _SM_120,
}
"""By the assembler's name of the architecture."""


def own_architecture(compute_capability: tuple[int, int]) -> str:
    """The architecture of a device, with its architecture-specific features (sm_90a).

    An unknown one is treated as the newest known one before it; "" is older than all.

    >>> [own_architecture(cc) for cc in ((9, 0), (8, 6), (10, 3), (7, 0))]
    ['sm_90a', 'sm_86', 'sm_100', '']
    """
    major, minor = compute_capability
    name = f"sm_{major}{minor}"
    if name in MULTIPROCESSORS:
        return f"{name}a" if f"{name}a" in MULTIPROCESSORS else name
    plain = [known for known in MULTIPROCESSORS if not known.endswith("a")]
    before = [n for n in plain if int(n[3:]) <= 10 * major + minor]
    return max(before, key=lambda known: int(known[3:]), default="")


def has_warpgroups(architecture: str) -> bool:
    """Whether kernels for an architecture may use ``wgmma``.

    >>> [has_warpgroups(name) for name in ("sm_90a", "sm_90", "sm_100a", "")]
    [True, False, False, False]
    """
    unit = MULTIPROCESSORS.get(architecture) if architecture.endswith("a") else None
    return unit is not None and unit.warpgroup is not None


def capability_of(architecture: str) -> tuple[int, int]:
    """The compute capability of an architecture name; (0, 0) for "".

    >>> [capability_of(name) for name in ("sm_90a", "sm_120", "")]
    [(9, 0), (12, 0), (0, 0)]
    """
    number = architecture.removeprefix("sm_").removesuffix("a") or "0"
    major, minor = divmod(int(number), 10)
    return major, minor


OCTETS = (8, 9)
"""The first architecture with instructions for floats of 8 bits."""
BULK_COPIES = (9, 0)
"""The first compute capability with ``cp.async.bulk``."""


def bulk_copies(architecture: str) -> int:
    """Bytes of shared memory per block where ``cp.async.bulk`` exists, else 0.

    >>> [bulk_copies(name) // 1024 for name in ("sm_90", "sm_100a", "sm_89", "")]
    [227, 227, 0, 0]
    """
    capability = capability_of(architecture)
    return most_shared(capability) if capability >= BULK_COPIES else 0


def multiplies_octets(architecture: str) -> bool:
    """Whether devices of an architecture convert or multiply 8-bit floats.

    >>> [multiplies_octets(name) for name in ("sm_89", "sm_100a", "sm_87", "")]
    [True, True, False, False]
    """
    return capability_of(architecture) >= OCTETS


def most_shared(compute_capability: tuple[int, int]) -> int:
    """The most bytes of shared memory of a block, static ones included.

    An unknown architecture has the limit of the first of its family, or the common one.

    >>> [most_shared(cc) // 1024 for cc in ((8, 0), (8, 6), (8, 9), (10, 3), (7, 0))]
    [163, 99, 99, 227, 48]
    """
    major, minor = compute_capability
    for name in (f"sm_{major}{minor}", f"sm_{major}0"):
        if name in MULTIPROCESSORS:
            return MULTIPROCESSORS[name].block_shared
    return STATIC_SHARED


def portable_shared() -> int:
    """The most bytes of shared memory per block on all of `MULTIPROCESSORS`.

    >>> portable_shared() // 1024
    99
    """
    return min(unit.block_shared for unit in MULTIPROCESSORS.values())


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """One model of GPU.

    ``clock`` in GHz is the boost clock, ``bandwidth`` of its memory in GB/s, ``l2`` the
    bytes of the L2 cache, ``l2_rate`` its bytes per clock to all multiprocessors
    together.  ``library`` holds the TFLOP/s that the vendor's library was measured to
    reach on large products, by the type of the factors: on an H100 in
    ``bench/results/gpu``, elsewhere as published.  That of an H200, which has the same
    multiprocessors and clock, is estimated from an H100.
    """

    name: str
    architecture: str
    processors: int
    clock: float
    bandwidth: float
    l2: int
    l2_rate: int
    library: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)

    @property
    def multiprocessor(self) -> Multiprocessor:
        return MULTIPROCESSORS[self.architecture]

    @property
    def flops(self) -> float:
        """Peak of f32 without tensor cores, in 1e12 operations per second.

        >>> round(DEVICES["H200"].flops, 1), round(DEVICES["A100"].flops, 1)
        (66.9, 19.5)
        """
        each = 2 * self.multiprocessor.fma
        return each * self.processors * self.clock / 1000

    @property
    def copy_bandwidth(self) -> float:
        """The bandwidth that copies reach, in GB/s: 0.9 of the peak.

        That share was published for H100 and H200.
        """
        return 0.9 * self.bandwidth


_HOPPER_LIBRARY = {"f32": 52.1, "f64": 57.3, "f16": 771.0, "tf32": 408.0}
"""cuBLAS at 4096, and PyTorch with TF32, by the H100's table."""

DEVICES: Mapping[str, GpuDevice] = {
    device.name: device
    for device in (
        GpuDevice(
            *("A100", "sm_80", 108, 1.41, 2039.0, 40 << 20, 5120),
            library={"f32": 13.8, "f16": 262.0},
        ),
        GpuDevice("RTX 3090", "sm_86", 82, 1.695, 936.0, 6 << 20, 5248),
        GpuDevice("Orin", "sm_87", 16, 1.3, 204.8, 4 << 20, 1024),
        GpuDevice("RTX 4090", "sm_89", 128, 2.52, 1008.0, 72 << 20, 8192),
        GpuDevice(
            *("H200", "sm_90", 132, 1.98, 4800.0, 50 << 20, 5500),
            library=_HOPPER_LIBRARY,
        ),
        GpuDevice(
            *("H100", "sm_90", 132, 1.98, 3350.0, 50 << 20, 5500),
            library=_HOPPER_LIBRARY,
        ),
        GpuDevice("B200", "sm_100", 148, 1.965, 8000.0, 126 << 20, 6154),
        GpuDevice("RTX 5090", "sm_120", 170, 2.41, 1792.0, 96 << 20, 8192),
    )
}
"""By name; the first device of an architecture is its default."""


def devices_of(architecture: str) -> tuple[GpuDevice, ...]:
    """The devices that run an architecture's code, the default one first.

    >>> [device.name for device in devices_of("sm_90a")]
    ['H200', 'H100']
    """
    plain = architecture.removesuffix("a")
    return tuple(d for d in DEVICES.values() if d.architecture == plain)


SYSTEM_SHARED = 1024
"""Bytes of shared memory that the system reserves per block."""
_REGISTER_UNIT, _SHARED_UNIT = 256, 128


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Resident blocks and warps of a multiprocessor; ``limits``: the binding resources.

    ``share`` is the fraction of the warps that it could hold.
    """

    blocks: int
    warps: int
    share: float
    limits: tuple[str, ...]


def occupancy(
    processor: Multiprocessor, threads: int, registers: int | None, shared: int
) -> Occupancy:
    """The occupancy of blocks of ``threads``, with registers and shared bytes of each.

    ``registers`` of a thread; None: unknown, and then no limit.  No block fits where a
    limit of one block is exceeded.

    >>> from gpucodegen.tiling.machine.gpu.devices import MULTIPROCESSORS
    >>> occupancy(MULTIPROCESSORS["sm_90"], 256, 128, 16384)
    Occupancy(blocks=2, warps=16, share=0.25, limits=('registers',))
    >>> occupancy(MULTIPROCESSORS["sm_90"], 1024, 168, 0).blocks
    0
    """
    warps = ceil(threads / WARP)
    fits = {
        "registers": _by_registers(processor, warps, registers),
        "shared memory": _by_shared(processor, shared),
        "threads": processor.warps // warps,
        "blocks": processor.blocks,
    }
    blocks = min(fits.values())
    limits = tuple(name for name, most in fits.items() if most == blocks)
    held = blocks * warps
    return Occupancy(blocks, held, held / processor.warps, limits)


def _by_registers(processor: Multiprocessor, warps: int, registers: int | None) -> int:
    if registers is None:
        return processor.blocks
    each = ceil(max(registers, 1) * WARP / _REGISTER_UNIT) * _REGISTER_UNIT
    return SCHEDULERS * (processor.registers // SCHEDULERS // each) // warps


def _by_shared(processor: Multiprocessor, shared: int) -> int:
    if shared > processor.block_shared:
        return 0
    each = ceil(shared / _SHARED_UNIT) * _SHARED_UNIT + SYSTEM_SHARED
    return processor.shared // each


def waves(blocks: int, processors: int, resident: int) -> float:
    """The number of waves of blocks over all multiprocessors, a fraction for the last.

    >>> waves(1024, 132, 2)
    3.878787878787879
    """
    return blocks / (processors * max(resident, 1))
