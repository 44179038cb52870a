"""Translates a kernel to Python: one function per basic block, made on first use.

An `EntryProgram` is made from an entry.  Its functions take the registers, the running
batch and the mask of the lanes (None: all), and return the predicate of the instruction
that ends the block, if it has one. Runs of independent ``fma.rn.f32``, as register
tiles have, become one array operation on stacked registers (`MultiplyAdds`): with few
lanes, a NumPy call costs more than its arithmetic.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gpucodegen.ptx import floats, integers
from gpucodegen.ptx.control_flow import Nesting, nesting
from gpucodegen.ptx.entries import Entry, Instruction
from gpucodegen.ptx.faults import Problem, Unsupported
from gpucodegen.ptx.floats import round_sum
from gpucodegen.ptx.integers import select
from gpucodegen.ptx.translation.arithmetic_rules import (
    COMPARISON_RULES,
    FLOAT_RULES,
    INTEGER_RULES,
    floating,
    is_float,
)
from gpucodegen.ptx.translation.control_rules import (
    CONTROL_RULES,
    LEAVING,
    WARP_RULES,
    barrier_name,
    branch_index,
)
from gpucodegen.ptx.translation.conversion_rules import CONVERSION_RULES
from gpucodegen.ptx.translation.matrix_rules import (
    MATRIX_RULES,
    WARPGROUP_RULES,
    visit_rows,
)
from gpucodegen.ptx.translation.memory_rules import (
    COUNTING_RULES,
    MBARRIER_RULES,
    MEMORY_RULES,
)
from gpucodegen.ptx.translation.operands import (
    Line,
    OperandText,
    Site,
    Untranslatable,
    Write,
    is_atomic,
    is_block_barrier,
    is_collective,
    is_fine,
    is_whole_barrier,
)
from gpucodegen.ptx.translation.slices import Role, Slice
from gpucodegen.ptx.types import Array, Chosen, Mask, Value
from gpucodegen.records import dataclass

_LEAST = 4
_STACKED = 8192
"""Elements from which on stacking gains nothing."""


@dataclass(frozen=True, slots=True)
class InstructionRun:
    """Several instructions as one call, and as single lines."""

    instructions: tuple[Instruction, ...]
    call: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class MultiplyAdds:
    """``R[targets] = R[factors[left]] * R[factors[right]] + R[addends]``."""

    targets: list[int]
    factors: list[int]
    left: Array
    right: Array
    addends: list[int]
    kinds: list[str]
    """The storage of the targets: floats, or words that hold floats."""

    def update(self, registers: list[Any], lanes: int) -> None:
        """Executes the run for all lanes."""
        wide = [_over(registers[r], lanes).astype("f8") for r in self.factors]
        step = max(1, _STACKED // lanes)
        if step < _LEAST:
            for n, target in enumerate(self.targets):
                product = wide[int(self.left[n])] * wide[int(self.right[n])]
                addend = _over(registers[self.addends[n]], lanes).astype("f8")
                registers[target] = round_sum(product, addend).view(self.kinds[n])
            return
        stacked = np.stack(wide)
        for first in range(0, len(self.targets), step):
            part = slice(first, first + step)
            product = stacked[self.left[part]]
            product *= stacked[self.right[part]]
            addends = np.stack([_over(registers[r], lanes) for r in self.addends[part]])
            results = round_sum(product, addends.astype("f8"))
            kept = zip(self.targets[part], self.kinds[part], results, strict=True)
            for target, kind, row in kept:
                registers[target] = row.view(kind)


def _over(value: Any, lanes: int) -> Array:
    """A register as f32, one value per lane."""
    single = value if value.dtype.kind == "f" else value.view("f4")
    return np.full(lanes, single) if single.ndim == 0 else single


def fused_run(
    body: list[Instruction], start: int, o: OperandText
) -> InstructionRun | None:
    """The longest run of independent ``fma.rn.f32`` that starts at ``start``."""
    written: set[str] = set()
    rows: list[list[int]] = []
    for at in range(start, len(body)):
        x = body[at]
        if x.opcode != "fma":
            break
        numbers = [o.entry.registers.number(a) for a in x.operands]
        known = [n for n in numbers if n is not None]
        plain = x.name == "fma.rn.f32" and not x.predicate and len(known) == 4
        if not plain or written & set(x.operands):
            break
        written.add(x.operands[0])
        rows.append(known)
    if len(rows) < _LEAST:
        return None
    targets, left, right, addends = (list(column) for column in zip(*rows, strict=True))
    factors = sorted({*left, *right})
    place = {register: at for at, register in enumerate(factors)}
    registers = MultiplyAdds(
        targets,
        factors,
        np.array([place[r] for r in left]),
        np.array([place[r] for r in right]),
        addends,
        [o.entry.registers.storage[r] for r in targets],
    )
    some = tuple(body[start : start + len(rows)])
    call = f"{o.constant(registers)}.update(R, S.lanes)"
    return InstructionRun(
        some, call, tuple(line for x in some for line in floating(x, o))
    )


RULES = (
    INTEGER_RULES
    | COMPARISON_RULES
    | CONVERSION_RULES
    | MEMORY_RULES
    | WARP_RULES
    | MATRIX_RULES
    | MBARRIER_RULES
    | WARPGROUP_RULES
    | CONTROL_RULES
)
COUNTED = COUNTING_RULES | {"ldmatrix": visit_rows, "stmatrix": visit_rows}
"""Accesses of which a slice only needs the addresses."""
_REGISTER = re.compile(r"%\w+")
BlockFunction = Callable[[list[Any], Any, Mask], Value]
Step = tuple[Instruction, list[Line]] | InstructionRun

NAMES: dict[str, Any] = {
    name: getattr(module, name)
    for module in (integers, floats, floats, integers, integers, floats)
    for name in vars(module)
    if not name.startswith("_") and name != "annotations"
}


def ends_block(x: Instruction) -> bool:
    """Whether an instruction may transfer control."""
    return x.opcode in LEAVING or is_block_barrier(x)


def merge(mask: Mask, new: Value, old: Value) -> Value:
    """Writes a register for the active lanes only."""
    if mask is None:
        return new
    return select(mask, new, old)


def guard(predicate: Value, mask: Mask) -> Chosen:
    """The lanes of a predicated instruction: None for all, False for none."""
    if predicate.ndim == 0:
        return mask if predicate else False
    both = predicate if mask is None else predicate & mask
    if both.all():
        return None
    return both if both.any() else False


class EntryProgram:
    """The basic blocks of one entry; with a ``slice_``, only its instructions run."""

    def __init__(
        self, entry: Entry, variables: Collection[str], slice_: Slice | None = None
    ) -> None:
        self.entry = entry
        self.slice = slice_
        self.operands = OperandText(entry, variables)
        instructions = entry.instructions
        leaders = {0, len(instructions), *entry.labels.values()}
        leaders |= {x.index + 1 for x in instructions if ends_block(x)}
        leaders |= {x.index + 1 for x in instructions if x.opcode == "wgmma"}
        meetings = _meetings(instructions, leaders)
        starts = sorted(leaders | meetings)
        self.ranges = list(itertools.pairwise(starts))
        self.block_at = {start: n for n, start in enumerate(starts)}
        self.meetings = frozenset(self.block_at[start] for start in meetings)
        """Basic blocks at whose first instruction the lanes of a warp meet."""
        self.is_fine = any(map(is_fine, instructions))
        self.has_atomics = any(map(is_atomic, instructions))
        self.ends: list[Instruction | None] = []
        self.steps: list[list[Step]] = []
        self.end_values: dict[int, str] = {}
        """What comes before the last instruction of a block, by its number."""
        problems: list[Problem] = []
        for first, stop in self.ranges:
            last = instructions[stop - 1]
            self.ends.append(last if ends_block(last) else None)
            body = instructions[first : stop - ends_block(last)]
            self.steps.append(self._translated(body, problems))
            self._end_value(self.ends[-1], problems)
        if problems:
            raise Unsupported(problems)
        self._mentions: dict[int, dict[int, int]] = {}
        self._made: dict[tuple[int, bool], BlockFunction] = {}

    def function(self, number: int, masked: bool) -> BlockFunction:
        """The function of a block, for all lanes or for a mask."""
        made = self._made.get((number, masked))
        if made is None:
            made = self._made[number, masked] = self._compiled(number, masked)
        return made

    @property
    def moves_data(self) -> bool:
        """Whether asynchronous copies move data, and are not only counted."""
        return self.slice is None or "shared" in self.slice.spaces

    @cached_property
    def successors(self) -> list[tuple[int, ...]]:
        """The successors of each block; the number after the last block is the exit."""
        return list(map(self._after, range(len(self.ranges))))

    @cached_property
    def nesting(self) -> Nesting:
        return nesting(self.successors)

    @cached_property
    def ranks(self) -> list[int]:
        """Per block, the priority of its lanes over lanes in other blocks.

        It is the order of `nesting`; blocks at which lanes synchronise come last.
        """
        order = self.nesting.order
        ranks = dict(zip(order, itertools.count(), strict=False))
        return [ranks[n] + len(order) * (n in self.meetings) for n in sorted(order)]

    def _after(self, number: int) -> tuple[int, ...]:
        last, end = self.ends[number], len(self.ranges)
        after: list[int] = []
        if last is None or last.predicate or last.opcode in ("bar", "barrier"):
            after.append(number + 1)
        if last is not None and last.opcode in ("ret", "exit", "trap"):
            after.append(end)
        after += [self.block_at[self.entry.labels[x]] for x in self._labels(last)]
        return tuple(dict.fromkeys(min(block, end) for block in after))

    def _labels(self, last: Instruction | None) -> tuple[str, ...]:
        """The targets of a branch."""
        match last.opcode if last else "":
            case "bra" if last:
                return (last.operands[0],)
            case "brx" if last:
                return self.entry.targets[last.operands[1]]
            case _:
                return ()

    def mentions(self, number: int) -> dict[int, int]:
        """Registers that a block's instructions name, except wgmma, with the first one.

        The values are numbers of instructions.
        """
        if number not in self._mentions:
            found: dict[int, int] = {}
            first, stop = self.ranges[number]
            for x in self.entry.instructions[first:stop]:
                names = _REGISTER.findall(x.text) if x.opcode != "wgmma" else []
                for register in map(self.entry.registers.number, names):
                    if register is not None:
                        found.setdefault(register, x.index)
            self._mentions[number] = found
        return self._mentions[number]

    def granule(self, space: str) -> int:
        """Cell size of the race check: the narrowest access, a power of two."""
        sites = [s for s in self.operands.constants.values() if isinstance(s, Site)]
        spaces = (space, "generic", "cluster" if space == "shared" else space)
        shifts = [s.shift for s in sites if s.space in spaces]
        return min([4, *shifts])

    def _translated(
        self, body: list[Instruction], problems: list[Problem]
    ) -> list[Step]:
        steps: list[Step] = []
        if self.slice is not None:
            body = [x for x in body if self.slice.role(x) is not Role.LEFT_OUT]
        at = 0
        while at < len(body):
            run = fused_run(body, at, self.operands)
            if run is not None:
                steps.append(run)
                at += len(run.instructions)
                continue
            x = body[at]
            try:
                steps.append((x, self._lines(x)))
            except Untranslatable as refusal:
                problems.append(Problem(x.line, x.text, str(refusal)))
            except (KeyError, IndexError, ValueError):
                problems.append(Problem(x.line, x.text, "no such form"))
            at += 1
        return steps

    def _lines(self, x: Instruction) -> list[Line]:
        if "L2:cache_hint" in x.modifiers:
            x = replace(x, operands=x.operands[:-1])
        if is_float(x) and x.opcode in FLOAT_RULES:
            return floating(x, self.operands)
        if self.slice is not None and self.slice.role(x) is Role.COUNTED:
            return COUNTED[x.opcode](x, self.operands)
        rule = RULES.get(x.opcode) or FLOAT_RULES.get(x.opcode)
        if rule is None:
            raise Untranslatable("opcode")
        return rule(x, self.operands)

    def _end_value(self, end: Instruction | None, problems: list[Problem]) -> None:
        """The condition of a block's end; errors are added to ``problems``."""
        reason = ""
        try:
            match end.opcode if end else "":
                case "bra" if end and end.operands[0] not in self.entry.labels:
                    reason = "unknown label"
                case "brx" if end:
                    self.end_values[end.index] = branch_index(end, self.operands)
                case "bar" | "barrier" if end and not is_whole_barrier(end):
                    self.end_values[end.index] = barrier_name(end, self.operands)
                case _:
                    pass
        except (Untranslatable, ValueError) as refusal:
            reason = str(refusal)
        if end and reason:
            problems.append(Problem(end.line, end.text, reason))

    def _compiled(self, number: int, masked: bool) -> BlockFunction:
        lines = self._source(number, masked)
        name = f"block{number}" + ("_masked" if masked else "")
        source = f"def {name}(R, S, m):\n" + "".join(f"    {x}\n" for x in lines)
        names: dict[str, Any] = {"np": np, "merge": merge, "guard": guard}
        space = NAMES | self.operands.constants | names
        code = compile(source, f"<ptx {self.entry.name}>", "exec")
        exec(code, space)
        return space[name]

    def _source(self, number: int, masked: bool) -> list[str]:
        lines = ["q = m"]
        for step in self.steps[number]:
            if isinstance(step, InstructionRun):
                each = (_rendered(line, masked) for line in step.lines)
                lines += each if masked else [step.call]
                continue
            x, body = step
            if not x.predicate:
                lines += [_rendered(line, masked) for line in body]
                continue
            lines.append(f"q = guard({self._predicate(x)}, m)")
            lines.append("if q is not False:")
            lines += [f"    {_rendered(line, True)}" for line in body] or ["    pass"]
            lines.append("q = m")
        end = self.ends[number]
        if end is not None and end.index in self.end_values:
            lines.append(self.end_values[end.index])
        if end is not None and end.predicate:
            lines.append(f"return {self._predicate(end)}")
        return lines

    def _predicate(self, x: Instruction) -> str:
        return self.operands.read("!" * x.negated + x.predicate, "pred")


def _meetings(instructions: list[Instruction], leaders: set[int]) -> set[int]:
    """The first instruction between two leaders at which lanes synchronise."""
    found: set[int] = set()
    met = False
    for x in instructions:
        met = met and x.index not in leaders
        if is_collective(x) and not met:
            met = True
            found.add(x.index)
    return found


def _rendered(line: Line, masked: bool) -> str:
    if not isinstance(line, Write):
        return line
    register, value = line
    if masked:
        return f"R[{register}] = merge(q, {value}, R[{register}])"
    return f"R[{register}] = {value}"
