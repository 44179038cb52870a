"""Kernel specifications: the records that the emitter passes to the runtime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: a flat ``pointer`` to elements, or a ``scalar``.

    ``dtype`` is MLIR's spelling of the element or value type, or ``tag``.
    """

    name: str
    kind: str
    dtype: str
    writable: bool = True


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """A kernel as source text.

    ``source`` is a module: a header that imports from ``gpucodegen.intrinsics`` and an
    undecorated function ``name``.  ``block``: the static block size of a CUDA kernel;
    ``resident``: the intended blocks per multiprocessor, which bounds registers;
    ``parallel``: a CPU kernel uses ``prange``, on ``threads`` threads (0: as many as
    environment variables say). ``dynamic_shared``: its launches provide the
    ``shared_bytes`` of a block, which it does not declare. ``cooperative``: its blocks
    wait for each other, so all of them run at once. ``specific``: it needs
    architecture-specific features, such as those of sm_90a. ``bulk``: it uses bulk
    copies, which GPUs have from sm_90 on. ``arch``: the architecture that the program
    was compiled for, as "sm_90a"; "": only features of all devices. ``index_bits``: the
    width of a GPU kernel's indices. ``wide``: its source with 64-bit indices, for
    launches with buffers that 32 bits do not reach; "" where no launch needs it.
    ``fastmath`` holds LLVM flags; "contract" allows fused multiply-add.
    """

    name: str
    source: str
    params: tuple[Param, ...]
    block: tuple[int, int, int] | None = None
    parallel: bool = False
    shared_bytes: int = 0
    resident: int | None = None
    fastmath: tuple[str, ...] = ("contract",)
    threads: int = 0
    cooperative: bool = False
    dynamic_shared: bool = False
    specific: bool = False
    bulk: bool = False
    arch: str = ""
    index_bits: int = 32
    wide: str = ""

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """(kind, dtype) of every parameter."""
        return tuple((p.kind, p.dtype) for p in self.params)

    def with_wide_indices(self) -> KernelSpec | None:
        """The same kernel with 64-bit indices; None where there is none.

        >>> params = Param("a", "pointer", "f32"), Param("n", "scalar", "index")
        >>> KernelSpec("k", "...", params, wide="___").with_wide_indices().params[1]
        Param(name='n', kind='scalar', dtype='i64', writable=True)
        """
        if not self.wide:
            return None
        params = tuple(
            replace(p, dtype="i64") if (p.kind, p.dtype) == ("scalar", "index") else p
            for p in self.params
        )
        return replace(self, source=self.wide, params=params, index_bits=64, wide="")


@dataclass(frozen=True, slots=True)
class Constant:
    """The contents of read-only global memory.

    ``values`` is None if it is uninitialised, and holds one number for a splat.
    """

    shape: tuple[int, ...]
    dtype: str
    values: Any


@dataclass(frozen=True, slots=True)
class StatedLaunch:
    """A host function that allocates its results, launches one kernel and returns.

    ``order``: the sources of the kernel's values: numbers are argument positions; then
    ``results``, by extents and element type, then the words for reports, then ``maps``:
    tensor maps, each of an argument, with the extents of its boxes, swizzle and
    promotion.  ``single``: it returns one array, no tuple. ``words``: the number of
    words in which the kernel reports accesses that it left out, and ``told``: their
    meanings. ``grid`` and ``block``: blocks and threads of a kernel that has some.
    ``numbers``: the results that are returned as the number which they hold.
    """

    kernel: str
    order: tuple[int, ...]
    results: tuple[tuple[tuple[int, ...], str], ...] = ()
    single: bool = False
    words: int = 0
    told: tuple[Any, ...] = ()
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    maps: tuple[tuple[int, tuple[int, ...], int, int], ...] = ()
    numbers: tuple[int, ...] = ()
