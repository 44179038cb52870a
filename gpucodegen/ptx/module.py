"""A PTX module: loaded and launched like through a driver, on emulated memory.

A `Module` is made from PTX text.  `Module.launch` takes grid, block, packed parameters
and a `Memory`; it changes memory and returns a `Run` with counters, or raises a
`Fault`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from weakref import WeakKeyDictionary, finalize, ref

import numpy as np

from gpucodegen.ptx.entries import Entry
from gpucodegen.ptx.execution.barriers import cluster_order
from gpucodegen.ptx.execution.batch import Batch
from gpucodegen.ptx.execution.counters import Counters
from gpucodegen.ptx.execution.lanes import STEPS, Extents, Launch
from gpucodegen.ptx.execution.shadow_memory import ShadowMemory
from gpucodegen.ptx.execution.vector_clocks import BlockReaders, LastReaders
from gpucodegen.ptx.memory import Memory, reserved
from gpucodegen.ptx.parser import ModuleParser, ParsedModule
from gpucodegen.ptx.translation.program import EntryProgram
from gpucodegen.ptx.translation.slices import slice_of
from gpucodegen.ptx.types import Array
from gpucodegen.records import dataclass

CLUSTER = 16
"""Blocks of the largest cluster."""
LANES = 4096
"""Threads of as many blocks as fit here run side by side."""


@dataclass(frozen=True, slots=True)
class Run:
    """A completed launch; ``counters`` if it was measured.

    ``marks`` is the shadow memory of global memory if it was checked.
    """

    launch: Launch
    counters: Counters | None = None
    marks: ShadowMemory | None = None

    def totals(self) -> dict[str, int]:
        """Sums over the launch: see `Counters.totals`; empty if it was not measured."""
        return self.counters.totals() if self.counters else {}

    def table(self, rows: int = 12) -> str:
        """The counters as text; empty if the launch was not measured."""
        return self.counters.table(rows) if self.counters else ""


@dataclass(frozen=True, slots=True)
class _Variables:
    """The addresses of a module's variables in a memory; ``free`` frees them once."""

    places: Mapping[str, int]
    free: Callable[[], object]


def _free(memory: ref[Memory], places: Sequence[int]) -> None:
    known = memory()
    if known is not None:
        for address in places:
            known.free(address)


class Module:
    """The kernels and variables of a PTX text.

    ``weak_alignment`` aligns shared arrays no more than they declare, as a linker may.

    >>> module = Module('''
    ... .visible .entry fill(.param .u64 fill_0, .param .u32 fill_1)
    ... { .reg .b32 %r<4>; .reg .b64 %d<4>;
    ...   ld.param.u64 %d1, [fill_0]; ld.param.u32 %r1, [fill_1];
    ...   mov.u32 %r2, %tid.x; mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2;
    ...   st.global.u32 [%d3], %r1; ret; }''')
    >>> memory = Memory(limit=1 << 16)
    >>> address = memory.allocate(16)
    >>> packed = np.uint64(address).tobytes() + np.int32(7).tobytes()
    >>> run = module.launch("fill", 1, 4, packed, memory)
    >>> memory.bytes(address, 16).view(np.int32).tolist()
    [7, 7, 7, 7]
    """

    def __init__(self, text: str, *, weak_alignment: bool = False) -> None:
        self.text, self.weak_alignment = text, weak_alignment
        self._programs: dict[tuple[str, bool], EntryProgram] = {}
        self._loaded: WeakKeyDictionary[Memory, _Variables] = WeakKeyDictionary()

    @cached_property
    def _parsed(self) -> ParsedModule:
        return ModuleParser(self.text, self.weak_alignment).parsed

    @property
    def entries(self) -> dict[str, Entry]:
        return self._parsed.entries

    def program(self, name: str, *, sliced: bool = False) -> EntryProgram:
        """A translated kernel; raises `Unsupported` with all untranslatable lines.

        ``sliced``: only its slice, as in `launch`.
        """
        if (name, sliced) not in self._programs:
            entry, variables = self.entries[name], self._parsed.variables
            kept = slice_of(entry) if sliced else None
            self._programs[name, sliced] = EntryProgram(entry, variables, kept)
        return self._programs[name, sliced]

    def load(self, memory: Memory) -> Mapping[str, int]:
        """Addresses of the module's initialised variables in a memory.

        They are allocated at the first launch there.
        """
        if memory not in self._loaded:
            places: dict[str, int] = {}
            for name, contents in self._parsed.variables.items():
                places[name] = memory.allocate(contents.nbytes)
                memory.bytes(places[name], contents.nbytes)[:] = contents.view("u1")
            free = finalize(self, _free, ref(memory), tuple(places.values()))
            free.atexit = False
            self._loaded[memory] = _Variables(places, free)
        return self._loaded[memory].places

    def unload(self, memory: Memory) -> None:
        """Frees the module's variables in a memory, as the module's end does."""
        loaded = self._loaded.pop(memory, None)
        if loaded is not None:
            loaded.free()

    def launch(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        parameters: bytes,
        memory: Memory,
        *,
        dynamic_shared: int = 0,
        cluster: int | Sequence[int] | None = None,
        cooperative: bool = False,
        check: bool = True,
        measure: bool = False,
        sliced: bool = False,
        output: Callable[[str], object] | None = None,
        only: Sequence[int] | None = None,
        patience: int = -1,
        steps: int = STEPS,
        trace: bool = False,
    ) -> Run:
        """Runs a kernel to its end.

        ``parameters`` are packed as `Entry.parameters` says; ``dynamic_shared`` is in
        bytes.  ``cluster`` has the blocks of a cluster along x, y, z; the default is
        that of the text.  Blocks of a ``cooperative`` launch all run side by side.
        ``check=False`` turns off the checks of races and unwritten shared memory;
        bounds and alignment are always checked.  ``output`` takes the text that the
        kernel prints, in place of the standard output.  ``measure`` counts executed
        operations; then ``only`` may name the blocks to run, with their clusters, by
        their numbers in the grid, x fastest, and ``patience`` the number of visits to
        basic blocks after which they end. ``sliced``: a measured launch that is not
        checked executes only what addresses, conditions and synchronisation depend on
        (`gpucodegen.ptx.translation.slices`); its counters are those of the whole
        kernel, its results are not. ``steps``: the visits after which thread
        blocks that run side by side count as endless, 0 for no limit. ``trace`` records
        in the run's marks also the accesses of a single thread.  Raises `Fault`,
        `Unsupported`, and `ValueError` for a launch that no driver would accept.
        """
        entry = self.entries[name]
        program = self.program(name, sliced=sliced and measure and not check)
        extents, blocks = _cluster(entry, cluster), _extents(grid)
        launch = Launch(
            entry,
            program,
            blocks,
            _extents(block),
            bytes(parameters),
            memory,
            dynamic_shared,
            {key: np.int64(at) for key, at in self.load(memory).items()},
            check,
            measure,
            output or sys.stdout.write,
            extents,
            patience,
            steps,
            trace,
        )
        _check(launch)
        counters = Counters(program) if measure else None
        marks = _global_marks(launch, cooperative) if check else None
        together = launch.cluster_blocks
        side_by_side = max(1, LANES // launch.threads // together) * together
        side_by_side = launch.blocks if cooperative else side_by_side
        with np.errstate(all="ignore"):
            numbers = _blocks_in_order(launch, only)
            for first in range(0, len(numbers), side_by_side):
                some = np.array(numbers[first : first + side_by_side])
                Batch(launch, some, marks, counters).run()
                if counters is not None:
                    counters.end_of_batch(len(some))
        return Run(launch, counters, marks)


def _blocks_in_order(launch: Launch, only: Sequence[int] | None) -> Sequence[int]:
    """The blocks to run, cluster by cluster; all without ``only``.

    A grid has up to 2**31 blocks: without clusters, none of them is listed.
    """
    if launch.cluster_blocks == 1:
        return range(launch.blocks) if only is None else only
    numbers = cluster_order(launch.grid, launch.cluster)
    if only is not None:
        clusters = numbers.reshape(-1, launch.cluster_blocks)
        numbers = clusters[np.isin(clusters, only).any(1)].reshape(-1)
    return numbers.tolist()


def _extents(sizes: int | Sequence[int]) -> Extents:
    given = [sizes] if isinstance(sizes, (int, np.integer)) else list(sizes)
    x, y, z = (int(size) for size in [*given, 1, 1, 1][:3])
    return x, y, z


def _cluster(entry: Entry, given: int | Sequence[int] | None) -> Extents:
    """The extents of a cluster, given by the text or by the launch."""
    said = None if entry.cluster is None else _extents(entry.cluster)
    wanted = said or (1, 1, 1) if given is None else _extents(given)
    if said not in (None, wanted):
        raise ValueError(f"{entry.name}: a cluster of {wanted} blocks, not {said}")
    return wanted


def _check(launch: Launch) -> None:
    """Raises `ValueError` for a launch that a driver would refuse."""
    entry = launch.entry
    if min(*launch.grid, *launch.block) < 1:
        raise ValueError(f"{entry.name}: an empty grid or block")
    if entry.max_threads is not None and launch.threads > entry.max_threads:
        raise ValueError(
            f"{entry.name}: {launch.threads} threads, at most {entry.max_threads}"
        )
    uneven = any(g % c for g, c in zip(launch.grid, launch.cluster, strict=True))
    if uneven or not 1 <= launch.cluster_blocks <= CLUSTER:
        raise ValueError(
            f"{entry.name}: clusters of {launch.cluster} blocks in a grid of "
            f"{launch.grid}, at most {CLUSTER} blocks each"
        )
    if len(launch.parameters) < entry.parameter_bytes:
        raise ValueError(
            f"{entry.name}: {len(launch.parameters)} bytes of parameters, "
            f"not {entry.parameter_bytes}"
        )


def _global_marks(launch: Launch, cooperative: bool) -> ShadowMemory:
    """Empty shadow memory for global memory.

    Blocks of a cooperative launch have separate words for their reads.
    """
    shift = launch.program.granule("global")
    cells = (launch.memory.top >> shift) + 1
    program = launch.program

    def words() -> Array:
        return np.frombuffer(reserved(8 * cells), np.int64)

    def accesses() -> LastReaders:
        return LastReaders(words(), shared=False, fine=program.is_fine)

    writers, atomics = words(), accesses()
    readers: LastReaders | BlockReaders = accesses()
    if cooperative and launch.blocks > 1:
        readers = BlockReaders([accesses() for _ in range(launch.blocks)])
    changed = atomics if program.has_atomics else None
    return ShadowMemory(writers, readers, changed, shift, shared=False)
