"""Runs of independent fused multiply-adds: one array operation for many registers.

Register tiles are updated by dozens of ``fma.rn.f32`` in a row.  While a batch has few
lanes, a call of NumPy costs more than its arithmetic, so a run is stacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen.ptx.numerics.rounding import round_sum
from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import Line, OperandText
from gpucodegen.ptx.translation.rules.floats import floating
from gpucodegen.ptx.types import Array

_LEAST = 4
_STACKED = 8192
"""Elements from which on stacking gains nothing."""


@dataclass(frozen=True, slots=True)
class InstructionRun:
    """Some instructions: one call that does them all, and lines that do each."""

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
    """How the targets are kept: as floats, or as words that hold floats."""

    def update(self, registers: list[Any], lanes: int) -> None:
        """Carry out the run for all lanes."""
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
    """A register as f32, one for each lane."""
    single = value if value.dtype.kind == "f" else value.view("f4")
    return np.full(lanes, single) if single.ndim == 0 else single


def fused_run(
    body: list[Instruction], start: int, o: OperandText
) -> InstructionRun | None:
    """The run of independent ``fma.rn.f32`` on registers from a place of a list on."""
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
