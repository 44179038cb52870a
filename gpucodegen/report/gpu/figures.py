"""Executed counters as device work, and the figures of merit of a kernel.

`Counted.work` turns the counters of a launch into a `Work` for `estimate`; `figures_of`
turns a `KernelReport` into `Figures`, for some of which lower is better. Figures that
need the assembler or the disassembler are None without it; shares of the vendor's
library and of a copy are estimates.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import ceil, prod

from gpucodegen.ptx.control_flow import Loop
from gpucodegen.ptx.entries import Instruction
from gpucodegen.ptx.execution.cost import READS, WRITES
from gpucodegen.ptx.execution.counters import Counters
from gpucodegen.records import dataclass
from gpucodegen.report.gpu.emulated_counters import MeasuredLaunch
from gpucodegen.report.gpu.model import Figures, KernelReport, LoopFacts
from gpucodegen.sass.listing import ARITHMETIC
from gpucodegen.tiling.machine.gpu.devices import SECTOR, WARP, WARPGROUP, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import Work

_MATRIX = re.compile(r"mma\..*?m(\d+)n(\d+)k(\d+)")
FACTOR_BITS = {"s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "tf32": 32}
"""Bits of the factors of tensor cores, where they are not 16."""
_SPECIAL = frozenset(("ex2", "lg2", "sin", "cos", "rcp", "rsqrt", "sqrt", "tanh"))
_MOVES = frozenset(("mov", "bra", "ret", "exit", "trap", "cvta", "bar", "barrier"))
_MEMORY = frozenset(("ld", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "ldu"))
_FUSED = frozenset(("fma", "mad", "add", "sub", "mul"))
_ORDERING = frozenset(("acquire", "release"))
"""Modifiers of accesses through which blocks wait for each other."""
_WARPGROUP = 4
"""Warps that issue one ``wgmma`` together."""
_MATRIX_WORK = {"wgmma": "warpgroup", ".f64.": "double_tensor", "": "tensor"}
"""The field of `Work` that counts products, by a part of the instruction's name."""
_ARITHMETIC = ("fma", "double", "tensor")


def kind(x: Instruction) -> str:
    """The unit or space that a PTX instruction uses, or "other".

    >>> kind(Instruction.of("fma.rn.f32 %f1, %f2, %f3, %f1", 0, 1, None))
    'fma'
    >>> kind(Instruction.of("ld.shared.v4.b32 {%r1}, [%r2]", 0, 1, None))
    'shared'
    """
    if x.opcode in _MEMORY:
        spaces = [m for m in x.modifiers if m in ("shared", "global", "local", "param")]
        return spaces[0] if spaces else "memory"
    if "mma" in x.opcode:
        return "tensor"
    if x.opcode in _MOVES:
        return "barrier" if x.opcode in ("bar", "barrier") else "other"
    if x.opcode in _SPECIAL:
        return "special"
    types = set(x.modifiers)
    if "f64" in types:
        return "double"
    floats = types & {"f32", "f16", "bf16", "f16x2", "bf16x2"}
    return "fma" if floats and x.opcode in _FUSED else "integer"


def _waits(x: Instruction) -> bool:
    """Whether it waits for global memory, not for other blocks."""
    is_load = x.opcode in ("ld", "atom") and kind(x) == "global"
    return is_load and _ORDERING.isdisjoint(x.modifiers)


def _meets(x: Instruction) -> bool:
    """Whether it is the arrival at a grid barrier (`meet_grid`)."""
    return x.opcode == "atom" and "release" in x.modifiers


def _is_chained(x: Instruction) -> bool:
    """Whether it waits for what another block has done."""
    return x.opcode in ("ld", "atom") and "acquire" in x.modifiers


def _factor_bits(name: str) -> int:
    """Bits of a factor of such an instruction."""
    return next((n for kind, n in FACTOR_BITS.items() if f".{kind}." in name), 16)


@dataclass(frozen=True, slots=True)
class Counted:
    """The counters of a launch, with the loop that executes most."""

    launch: MeasuredLaunch

    @property
    def counters(self) -> Counters:
        """The counters of the executed blocks."""
        return self.launch.counters

    @property
    def warps(self) -> int:
        """The number of executed warps."""
        return self.counters.blocks * ceil(self.launch.threads / WARP)

    def executed(self, blocks: frozenset[int] | None = None) -> Counter[str]:
        """Executed warp instructions by kind, of some basic blocks or all."""
        counts: Counter[str] = Counter()
        program = self.counters.program
        for number, (first, stop) in enumerate(program.ranges):
            if blocks is None or number in blocks:
                for x in program.entry.instructions[first:stop]:
                    counts[kind(x)] += self.counters.warps[number]
        return +counts

    @property
    def main(self) -> Loop | None:
        """The loop with most arithmetic, else most instructions; the smallest such.

        `sass.listing.main_loop` is its counterpart for machine code.
        """

        def weight(loop: Loop) -> tuple[int, int]:
            counts = self.executed(loop.blocks)
            work = sum(counts[name] for name in _ARITHMETIC)
            return work, (-1 if work else 1) * counts.total()

        return max(self.counters.program.nesting.loops, key=weight, default=None)

    @property
    def outermost(self) -> Loop | None:
        """The largest loop that contains the main one."""
        main = self.main
        if main is None:
            return None
        found = self.counters.program.nesting.loops
        around = [loop for loop in found if main.blocks <= loop.blocks]
        return max(around, key=lambda loop: len(loop.blocks))

    def trip(self, main: Loop | None) -> LoopFacts:
        """One trip of a loop by a warp; the whole kernel if there is no loop."""
        program = self.counters.program
        every = frozenset(range(len(program.ranges)))
        blocks = every if main is None else main.blocks
        trips = self.warps if main is None else self._trips(main)
        inside = self.executed(blocks)
        indices = {
            x.index
            for number in blocks
            for x in program.entry.instructions[slice(*program.ranges[number])]
        }
        return LoopFacts(
            trips / self.warps,
            len(indices),
            inside.total() / trips,
            self._traffic("shared", indices) / trips,
            self._traffic("global", indices) / trips,
            {name: count // trips for name, count in inside.most_common()},
        )

    def _trips(self, loop: Loop) -> int:
        """The trips of warps through a loop: the most visits to a block of its own."""
        found = self.counters.program.nesting.loops
        inner = [other.blocks for other in found if other.blocks < loop.blocks]
        own = loop.blocks.difference(*inner)
        return max(1, *(self.counters.warps[n] for n in own or [loop.header]))

    def _traffic(self, space: str, indices: set[int]) -> int:
        return sum(
            traffic.cost
            for (where, index), traffic in self.counters.traffic.items()
            if (where == "shared") == (space == "shared") and index in indices
        )

    def memory(self, sizes: Mapping[int, int], held: float) -> float:
        """The bytes that the device memory moves in one launch.

        Every array is read once and written once, as far as blocks touch it; ``sizes``
        are those of the allocations by their first offset.  What a loop reads again
        that follows another one comes from memory again if the blocks that run
        together touch more than the ``held`` bytes that a cache keeps of each.
        """
        moved = self._moved(sizes)
        if self._touched_by_a_block() <= held:
            return sum(moved.values())
        each = self.counters.read_by_phases
        again = (
            moved[READS, start] * (each[start] / count - 1)
            for (way, start), count in self.counters.footprint.items()
            if way == READS and each[start] > count
        )
        return sum(moved.values()) + sum(again)

    def _touched_by_a_block(self) -> float:
        sectors = self.counters.footprint.total()
        return sectors * SECTOR / max(self.counters.blocks, 1)

    def _moved(self, sizes: Mapping[int, int]) -> Mapping[tuple[str, int], float]:
        """Bytes by direction and allocation, of single accesses and of tensors."""
        found = defaultdict[tuple[str, int], float](float)
        for key, count in self.counters.footprint.items():
            found[key] += count * SECTOR * self.launch.scale
        for (way, first), bytes_ in self.counters.tensors.items():
            found[way, max(start for start in sizes if start <= first)] += bytes_
        return {key: min(sizes[key[1]], n) for key, n in found.items()}

    def _results(self, sizes: Mapping[int, int]) -> float:
        """The bytes of `memory` in arrays that are written, in both directions."""
        moved = self._moved(sizes)
        written = {start for way, start in moved if way == WRITES}
        return sum(n for (_, start), n in moved.items() if start in written)

    def _operands(self, sizes: Mapping[int, int]) -> float:
        """The bytes of `memory` in arrays that are only read."""
        return sum(self._moved(sizes).values()) - self._results(sizes)

    def work(
        self, sizes: Mapping[int, int], machine: LoopFacts | None, held: float
    ) -> Work:
        """The work of one launch for a device's units.

        ``machine``: the main loop of the machine code, which replaces that of the PTX
        where it is known.  ``sizes``, ``held``: as in `memory`.
        """
        scale, counters = self.launch.scale, self.counters
        totals, kinds = counters.totals(), self.executed()
        instructions = float(kinds.total())
        if machine is not None and self.main is not None:
            inside = self.executed(self.main.blocks)
            trips = machine.trips * self.warps
            instructions += trips * machine.stated - inside.total()
            for name, of_machine in (
                ("integer", ("integer", "compare")),
                ("special", ("MUFU",)),
            ):
                there = sum(machine.kinds.get(kind, 0) for kind in of_machine)
                kinds[name] += round(trips * there) - inside[name]
        barriers = kinds["barrier"] / self.warps
        work = Work(
            self.launch.blocks,
            self.launch.threads,
            instructions * scale,
            kinds["fma"] * scale,
            kinds["double"] * scale,
            kinds["integer"] * scale,
            kinds["special"] * scale,
            wavefronts=totals["shared cost"] * scale,
            sectors=totals["global cost"] * scale,
            block_sectors=sum(counters.footprint.values()) * scale,
            memory=self.memory(sizes, held),
            waits=self._visits(_waits) / self.warps,
            barriers=barriers,
            meetings=self._visits(_meets) / counters.blocks,
            copy_waits=self._copy_waits(),
            results=self._results(sizes),
            operands=self._operands(sizes),
            staged=self._staged() * scale,
            chained=self._visits(_is_chained) / counters.blocks,
        )
        products = {unit: n * scale for unit, n in self._products().items()}
        return replace(work, **products)

    def _visits(self, asked: Callable[[Instruction], bool]) -> int:
        """Visits of warps to basic blocks with such an instruction."""
        program = self.counters.program
        found = (
            number
            for number, (first, stop) in enumerate(program.ranges)
            if any(map(asked, program.entry.instructions[first:stop]))
        )
        return sum(self.counters.warps[number] for number in found)

    def _executed(
        self, selected: Callable[[Instruction], bool]
    ) -> Iterator[tuple[Instruction, int]]:
        """Such instructions, with the warps that executed each."""
        program = self.counters.program
        for number, (first, stop) in enumerate(program.ranges):
            for x in filter(selected, program.entry.instructions[first:stop]):
                yield x, self.counters.warps[number]

    def _copy_waits(self) -> float:
        """Waits of a warp for ``cp.async``; N + 1 groups in flight share a latency."""
        found = self._executed(lambda x: tuple(x.modifiers) == ("async", "wait_group"))
        return sum(n / (int(x.operands[0]) + 1) for x, n in found) / self.warps

    def _staged(self) -> float:
        """Bytes of the operands of ``wgmma``, B once for all consumers of a block."""
        consumers = max(1, self.launch.threads // WARPGROUP - 1)
        total = 0.0
        for name, count in self.counters.instructions().items():
            found = _MATRIX.search(name)
            if found and name.startswith("wgmma"):
                m, n, k = map(int, found.groups())
                bits = (m + n / consumers) * k * _factor_bits(name)
                total += bits / 8 * count / _WARPGROUP
        return total

    @property
    def arithmetic(self) -> str:
        """The type of factors: of tensor cores' where there are some."""
        counts, kinds = self.executed(), ("f64", "f32")
        names = " ".join(filter(_MATRIX.search, self.counters.instructions()))
        if not names:
            return kinds[counts["double"] <= counts["fma"]]
        kinds = (*FACTOR_BITS, "f64")
        return next((kind for kind in kinds if f".{kind}." in f"{names}."), "f16")

    def _products(self) -> Counter[str]:
        """Fused multiply-adds on tensor cores, by the field of `Work`.

        Those of 8 and 32 bits count as parts and multiples of one of 16 bits.
        """
        totals: Counter[str] = Counter()
        for name, count in self.counters.instructions().items():
            found = _MATRIX.search(name)
            if found:
                unit = next(u for part, u in _MATRIX_WORK.items() if part in name)
                together = _WARPGROUP if unit == "warpgroup" else 1
                each = int(found[1]) * int(found[2]) * int(found[3])
                totals[unit] += each * count * _factor_bits(name) // (16 * together)
        return totals


FULL_TILE = 64
"""Multiply-adds of a thread for each k, in a tile of 8 x 8 elements."""


def figures_of(kernel: KernelReport, device: GpuDevice) -> Figures:
    launch, machine, limits = kernel.launch, kernel.machine_accesses, kernel.limits
    blocks = prod(launch.grid)
    waves = ceil(blocks / device.processors)
    stores, loads = launch.spill_stores, launch.spill_loads
    is_copy = limits.peak.startswith("copies")
    library = None if is_copy else limits.library
    return Figures(
        _arithmetic(kernel),
        None if machine is None else _narrowest(machine.widths),
        _wavefronts(kernel, "executed"),
        _wavefronts(kernel, "unmerged"),
        launch.registers,
        None if stores is None or loads is None else stores + loads,
        launch.resident_blocks,
        kernel.outer_loop.kinds.get("barrier", 0),
        blocks,
        blocks / (waves * device.processors),
        _in_flight(kernel, device),
        _used(kernel, ("load", "copy")),
        _used(kernel, ("store",)),
        None if library is None else sum(library) / 2,
        limits.share_of_peak if is_copy else None,
    )


def _arithmetic(kernel: KernelReport) -> float | None:
    loop = kernel.machine_loop
    if loop is None:
        return None
    return sum(loop.kinds.get(name, 0) for name in ARITHMETIC) / max(loop.stated, 1)


def _narrowest(widths: Mapping[str, Mapping[int, int]]) -> dict[str, int]:
    return {opcode: min(found) // 8 for opcode, found in widths.items()}


def _wavefronts(kernel: KernelReport, rule: str) -> float | None:
    total = sum(
        row.requests * getattr(row, rule)
        for row in kernel.accesses
        if (row.space, row.direction) == ("shared", "load")
    )
    counts = kernel.execution.mix.items()
    work = sum(count for name, count in counts if _multiplies(name))
    return FULL_TILE * total / work if total and work else None


def _multiplies(name: str) -> bool:
    x = Instruction.of(name, 0, 1, None)
    return x.opcode == "fma" and kind(x) in ("fma", "double")


def _in_flight(kernel: KernelReport, device: GpuDevice) -> float | None:
    """Bytes in flight of the blocks of one multiprocessor."""
    if kernel.machine_accesses is None:
        return None
    each = prod(kernel.launch.grid) / device.processors
    threads = min(each, kernel.launch.resident_blocks) * prod(kernel.launch.block)
    return threads * kernel.machine_accesses.in_flight


def _used(kernel: KernelReport, directions: tuple[str, ...]) -> float | None:
    """The share of the sectors' bytes that threads requested."""
    rows = [
        row
        for row in kernel.accesses
        if row.space == "global" and row.direction in directions
    ]
    moved = sum(row.moved for row in rows)
    return sum(row.used * row.moved for row in rows) / moved if moved else None
