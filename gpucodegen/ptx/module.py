"""A PTX module: loaded as a driver loads it, launched with packed arguments.

Comes in: PTX text; then grids, blocks, packed parameters and a `Memory`.  Goes out:
changed memory and a `Run` with counters, or a `Fault`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from gpucodegen.ptx.execution.batch import Batch
from gpucodegen.ptx.execution.counting.counters import Counters
from gpucodegen.ptx.execution.launch import Extents, Launch
from gpucodegen.ptx.execution.marks import Marks
from gpucodegen.ptx.memory import Memory, reserved
from gpucodegen.ptx.parsing.entries import Entry
from gpucodegen.ptx.parsing.parser import ModuleParser, ParsedModule
from gpucodegen.ptx.translation.program import EntryProgram

LANES = 4096
"""Threads of as many blocks as fit here run side by side."""


@dataclass(frozen=True, slots=True)
class Run:
    """A launch that went well; ``counters`` if it was measured."""

    launch: Launch
    counters: Counters | None = None

    def totals(self) -> dict[str, int]:
        """Sums over the launch: see `Counters.totals`; empty if it was not measured."""
        return self.counters.totals() if self.counters else {}

    def table(self, rows: int = 12) -> str:
        """The counters as text; empty if the launch was not measured."""
        return self.counters.table(rows) if self.counters else ""


class Module:
    """The kernels and variables of a PTX text.

    ``weak_alignment`` places shared arrays at no more than the alignment that they
    declare, as a linker may.

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
        self._programs: dict[str, EntryProgram] = {}
        self._loaded: WeakKeyDictionary[Memory, dict[str, int]] = WeakKeyDictionary()

    @cached_property
    def _parsed(self) -> ParsedModule:
        return ModuleParser(self.text, self.weak_alignment).parsed

    @property
    def entries(self) -> dict[str, Entry]:
        """The kernels by name."""
        return self._parsed.entries

    def program(self, name: str) -> EntryProgram:
        """A kernel translated; raises `Unsupported` with all lines that cannot be."""
        if name not in self._programs:
            entry, variables = self.entries[name], self._parsed.variables
            self._programs[name] = EntryProgram(entry, variables)
        return self._programs[name]

    def load(self, memory: Memory) -> Mapping[str, int]:
        """Addresses of the module's variables in a memory, with their first contents.

        They are allocated at the first launch there.
        """
        if memory not in self._loaded:
            places: dict[str, int] = {}
            for name, contents in self._parsed.variables.items():
                places[name] = memory.allocate(contents.nbytes)
                memory.bytes(places[name], contents.nbytes)[:] = contents.view("u1")
            self._loaded[memory] = places
        return self._loaded[memory]

    def unload(self, memory: Memory) -> None:
        """Free the module's variables in a memory."""
        for address in self._loaded.pop(memory, {}).values():
            memory.free(address)

    def launch(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        parameters: bytes,
        memory: Memory,
        *,
        dynamic_shared: int = 0,
        check: bool = True,
        measure: bool = False,
    ) -> Run:
        """Run a kernel to its end.

        ``parameters`` are packed as `Entry.parameters` says; ``dynamic_shared`` is in
        bytes.  ``check=False`` leaves out races and unwritten shared memory, bounds
        and alignment stay.  Raises `Fault`, `Unsupported`, and `ValueError` for a
        launch that no driver would take.
        """
        entry = self.entries[name]
        program = self.program(name)
        launch = Launch(
            entry,
            program,
            _extents(grid),
            _extents(block),
            bytes(parameters),
            memory,
            dynamic_shared,
            {key: np.int64(at) for key, at in self.load(memory).items()},
            check,
            measure,
        )
        _check(launch)
        counters = Counters(program) if measure else None
        marks = _global_marks(launch) if check else None
        side_by_side = max(1, LANES // launch.threads)
        with np.errstate(all="ignore"):
            for first in range(0, launch.blocks, side_by_side):
                blocks = min(side_by_side, launch.blocks - first)
                Batch(launch, first, blocks, marks, counters).run()
        return Run(launch, counters)


def _extents(sizes: int | Sequence[int]) -> Extents:
    given = [sizes] if isinstance(sizes, (int, np.integer)) else list(sizes)
    x, y, z = (int(size) for size in [*given, 1, 1, 1][:3])
    return x, y, z


def _check(launch: Launch) -> None:
    """What a driver refuses before anything runs."""
    entry = launch.entry
    if min(*launch.grid, *launch.block) < 1:
        raise ValueError(f"{entry.name}: an empty grid or block")
    if entry.max_threads is not None and launch.threads > entry.max_threads:
        raise ValueError(
            f"{entry.name}: {launch.threads} threads, at most {entry.max_threads}"
        )
    if len(launch.parameters) < entry.parameter_bytes:
        raise ValueError(
            f"{entry.name}: {len(launch.parameters)} bytes of parameters, "
            f"not {entry.parameter_bytes}"
        )


def _global_marks(launch: Launch) -> Marks:
    """Marks for all cells of global memory, none of which is touched yet."""
    shift = launch.program.granule("global")
    cells = (launch.memory.top >> shift) + 1
    writers, readers = (np.frombuffer(reserved(8 * cells), np.int64) for _ in range(2))
    return Marks(writers, readers, shift, shared=False)
