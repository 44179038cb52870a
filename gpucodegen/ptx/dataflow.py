"""Static cost of a kernel's accesses, by data flow of `abstract_values`.

`States` computes the registers at every basic block, as a fixpoint over all control
paths; `requests` turns the addresses of each access into sectors or wavefronts.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import field
from math import gcd

import numpy as np

from gpucodegen.ptx.abstract_values import (
    COMPARISONS,
    RULES,
    UNKNOWN,
    Fact,
    Known,
    compare,
    exact,
    join,
    same,
)
from gpucodegen.ptx.control_flow import Divergence, divergent_blocks, postdominators
from gpucodegen.ptx.entries import Instruction, integer
from gpucodegen.ptx.execution import cost
from gpucodegen.ptx.translation.operands import SHARED_START, Site, address_parts, place
from gpucodegen.ptx.translation.program import EntryProgram
from gpucodegen.ptx.types import WARP, Array
from gpucodegen.records import dataclass

PATIENCE = 4
"""How often a block's state may grow before bounds of unknown numbers are dropped."""
Extents = tuple[int, int, int]
Registers = dict[str, Fact]
_FLOAT_TYPES = frozenset(("f16", "bf16", "f16x2", "bf16x2", "f32", "f64"))


@dataclass(frozen=True, slots=True)
class Setting:
    """Launch extents, and the parameters by offset in bytes."""

    program: EntryProgram
    block: Extents
    grid: Extents
    parameters: Mapping[int, int]

    @property
    def threads(self) -> Array:
        """Numbers of a block's threads."""
        return np.arange(self.block[0] * self.block[1] * self.block[2])


@dataclass(slots=True)
class State:
    """The registers at the start of a block; ``active``: threads that reach it."""

    registers: Registers
    active: Array


@dataclass(slots=True)
class States:
    """The states of all blocks of a kernel.

    After a branch on which threads may disagree, all threads are taken to run both
    ways.
    """

    setting: Setting
    at: dict[int, State] = field(default_factory=dict[int, State])
    _apart: dict[int, Divergence] = field(default_factory=dict[int, Divergence])
    _joins: Counter[int] = field(default_factory=Counter[int])

    def __post_init__(self) -> None:
        after = self.setting.program.successors
        meets = postdominators(after)
        self.at[0] = State({}, np.ones(len(self.setting.threads), bool))
        waiting = {0}
        while waiting:
            number = min(waiting)
            waiting.discard(number)
            for target, state in self._leave(number, after[number]):
                if target < len(after) and self._join(target, state):
                    waiting.add(target)
            if self._is_apart(number) and number not in self._apart:
                self._apart[number] = divergent_blocks(after, meets[number], number)
                waiting |= {
                    block for block in self._apart[number].joins if block in self.at
                }

    def facts(self, number: int) -> Iterator[tuple[Instruction, Registers]]:
        """The instructions of a block, each with the registers before it."""
        first, stop = self.setting.program.ranges[number]
        registers = dict(self.at[number].registers)
        for x in self.setting.program.entry.instructions[first:stop]:
            yield x, registers
            self._execute(x, registers)

    def active(self, number: int, x: Instruction, registers: Registers) -> Array:
        """Threads that execute an instruction, if known."""
        here = self.at[number].active
        return here & self._holds(x, registers) if x.predicate else here

    def _holds(self, x: Instruction, registers: Registers) -> Array:
        fact = registers.get(x.predicate)
        if fact is None or not fact.is_exact:
            return np.ones(len(self.setting.threads), bool)
        holds = np.broadcast_to(fact.own != 0, len(self.setting.threads))
        return ~holds if x.negated else holds

    def _after(self, number: int) -> Registers:
        last = deque(self.facts(number), maxlen=1)
        return last[0][1] if last else dict(self.at[number].registers)

    def _is_apart(self, number: int) -> bool:
        """Whether threads may differ on the branch that ends a block."""
        end = self.setting.program.ends[number]
        if end is None or not end.predicate:
            return False
        fact = self._after(number).get(end.predicate)
        return fact is None or not fact.is_uniform

    def _leave(
        self, number: int, after: tuple[int, ...]
    ) -> Iterator[tuple[int, State]]:
        registers = self._after(number)
        here = self.at[number].active
        end = self.setting.program.ends[number]
        if end is None or not end.predicate or len(after) < 2:
            yield from ((target, State(registers, here)) for target in after)
            return
        fact = registers.get(end.predicate)
        known = fact is not None and fact.is_exact
        taken = self._holds(end, registers)
        stay = ~taken if known else taken
        for target, mask in zip(after, (stay, taken), strict=True):
            if (here & mask).any():
                yield target, State(registers, here & mask)

    def _join(self, target: int, new: State) -> bool:
        """Merges a state into a block; whether it changed."""
        old = self.at.get(target)
        if old is None:
            kept = {n: self._met(target, n, f) for n, f in new.registers.items()}
            self.at[target] = State(kept, new.active)
            return True
        differs = any(target in a.joins for a in self._apart.values())
        self._joins[target] += 1
        widen = self._joins[target] > PATIENCE
        changed = False
        for name in old.registers.keys() | new.registers.keys():
            had, comes = old.registers.get(name), new.registers.get(name)
            if same(had, comes):
                both = had
            else:
                both = None if differs else join(had, comes, widen=widen)
            both = self._met(target, name, both)
            if not same(had, both) or name not in old.registers:
                old.registers[name], changed = both, True
        active = old.active | new.active
        changed |= bool((active != old.active).any())
        old.active = active
        return changed

    def _met(self, target: int, name: str, fact: Fact) -> Fact:
        """A register after a loop that threads leave at different times."""
        if fact is None or fact.is_exact:
            return fact
        for found in self._apart.values():
            if found.meets == target and name in self._written(found.inside):
                return None
        return fact

    def _written(self, blocks: frozenset[int]) -> set[str]:
        program = self.setting.program
        return {
            x.operands[0]
            for block in blocks
            for x in program.entry.instructions[slice(*program.ranges[block])]
            if x.operands
        }

    def _execute(self, x: Instruction, registers: Registers) -> None:
        if not x.operands or x.opcode in ("st", "bra", "bar", "red", "cp"):
            return
        result = self._result(x, registers)
        for name in x.operands[0].strip("{}").replace("|", ",").split(","):
            registers[name.strip()] = None if x.predicate else result

    def _result(self, x: Instruction, registers: Registers) -> Fact:
        if x.opcode == "ld":
            return self._parameter(x) if "param" in x.modifiers else None
        if _FLOAT_TYPES & set(x.modifiers):
            return None
        values = [self.operand(text, registers) for text in x.operands[1:]]
        if x.opcode == "setp" and x.modifiers[0] in COMPARISONS and len(values) == 2:
            rule = compare(x.modifiers[0])
        else:
            rule = RULES.get(x.opcode)
        if rule is None:
            return None
        known = [value for value in values if value is not None]
        try:
            return rule(*known) if len(known) == len(values) else None
        except TypeError:  # a form with more operands, such as a carry
            return None

    def _parameter(self, x: Instruction) -> Fact:
        name, _, offset = x.operands[1].strip("[] ").partition("+")
        places = {p.name: p.offset for p in self.setting.program.entry.parameters}
        at = places.get(name.strip(), -1) + int(offset or 0)
        value = self.setting.parameters.get(at)
        return UNKNOWN if value is None else exact(value)

    def operand(self, text: str, registers: Registers) -> Fact:
        """The abstract value of an operand."""
        if text in registers:
            return registers[text]
        entry = self.setting.program.entry
        if text in entry.shared.variables:
            return exact(SHARED_START + entry.shared.variables[text].offset)
        if text.startswith("%"):
            return self._special(text)
        number = integer(text)
        return None if number is None else exact(number)

    def _special(self, text: str) -> Fact:
        name, _, letter = text[1:].partition(".")
        setting, axis = self.setting, "xyz".find(letter)
        if name == "laneid":
            return exact(setting.threads % 32)
        if name == "warpid":
            return exact(setting.threads // 32)
        if axis < 0 or not letter:
            return None
        match name:
            case "tid":
                return exact(place(setting.threads, setting.block, axis))
            case "ntid":
                return exact(setting.block[axis])
            case "nctaid":
                return exact(setting.grid[axis])
            case "ctaid":
                return exact(0, 1, setting.grid[axis] - 1)
            case _:
                return None


SECTOR = 32


@dataclass(frozen=True, slots=True)
class Request:
    """One access, with its cost for an average warp of a block.

    ``least`` and ``most``: sectors of 32 bytes in global memory, wavefronts in shared
    memory; they differ where the alignment is unknown.  None where the addresses are
    unknown.
    """

    site: Site
    least: float | None
    most: float | None


def requests(states: States) -> Iterator[Request]:
    """A kernel's accesses to global and shared memory, in textual order."""
    program = states.setting.program
    sites: dict[int, list[Site]] = {}
    for constant in program.operands.constants.values():
        if isinstance(constant, Site) and constant.space in ("global", "shared"):
            sites.setdefault(constant.index, []).append(constant)
    for number in sorted(states.at):
        for x, registers in states.facts(number):
            for site in sites.get(x.index, ()):
                active = states.active(number, x, registers)
                yield _request(states, site, x, registers, active)


def _request(
    states: States, site: Site, x: Instruction, registers: Registers, active: Array
) -> Request:
    fact = _address(states, site, x, registers)
    if fact is None or not active.any():
        return Request(site, None, None)
    own = np.broadcast_to(fact.own, len(active)) + site.offset
    rows = np.full(-(-len(active) // WARP) * WARP, -1, np.int64)
    rows[: len(active)] = np.where(active, own - (own.min() & -128), -1)
    rows = rows.reshape(-1, WARP)
    rows = rows[(rows >= 0).any(1)]
    if site.space == "shared":
        if fact.step % 4:
            return Request(site, None, None)
        found = [cost.wavefronts(rows, site.width)]
    else:
        step = gcd(fact.step, SECTOR) if fact.step else SECTOR
        step = max(step, site.width)
        shifts = range(0, SECTOR, step)
        found = [cost.sectors(np.where(rows < 0, -1, rows + by)) for by in shifts]
    return Request(site, min(found) / len(rows), max(found) / len(rows))


def _address(
    states: States, site: Site, x: Instruction, registers: Registers
) -> Known | None:
    """The register or variable of the operand in brackets; the site has its offset.

    None for a box of a tensor map, which has coordinates.
    """
    places = [text for text in x.operands if text.startswith("[")]
    plain = [text for text in places if "{" not in text]
    if len(places) > 1:  # a copy: its first plain place is in shared memory
        places = plain[:1] if site.space == "shared" else places[1:2]
    places = [text for text in places if text in plain]
    return states.operand(address_parts(places[0])[0], registers) if places else None
