"""Runs of independent fused multiply-adds: one array operation for many registers.

Register tiles are updated by dozens of ``fma.rn.f32`` in a row.  While a batch has few
lanes, a call of NumPy costs more than its arithmetic, so a run is stacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen.ptx.numerics.floats import round_sum
from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import Operands
from gpucodegen.ptx.types import Array

_LEAST = 4
_STACKED = 8192
"""Elements from which on stacking gains nothing."""


@dataclass(frozen=True, slots=True)
class Run:
    """``R[targets] = R[factors[left]] * R[factors[right]] + R[addends]``."""

    instructions: tuple[Instruction, ...]
    call: str
    lines: tuple[tuple[int, str], ...]

    def masked_lines(self) -> list[str]:
        """The same, one after another under the mask."""
        return [f"R[{r}] = merge(q, {value}, R[{r}])" for r, value in self.lines]


@dataclass(frozen=True, slots=True)
class Registers:
    """Which registers a run reads and writes."""

    targets: list[int]
    factors: list[int]
    left: Array
    right: Array
    addends: list[int]

    def update(self, registers: list[Any], lanes: int) -> None:
        """Carry out the run for all lanes."""
        wide = [_over(registers[r], lanes).astype("f8") for r in self.factors]
        step = max(1, _STACKED // lanes)
        if step < _LEAST:
            for target, a, b, c in zip(
                self.targets, self.left, self.right, self.addends, strict=True
            ):
                registers[target] = round_sum(
                    wide[a] * wide[b], _over(registers[c], lanes).astype("f8")
                )
            return
        stacked = np.stack(wide)
        for first in range(0, len(self.targets), step):
            part = slice(first, first + step)
            product = stacked[self.left[part]]
            product *= stacked[self.right[part]]
            addends = np.stack([_over(registers[r], lanes) for r in self.addends[part]])
            results = round_sum(product, addends.astype("f8"))
            for target, row in zip(self.targets[part], results, strict=True):
                registers[target] = row


def _over(value: Any, lanes: int) -> Array:
    """A register as f32, one for each lane."""
    single = value if value.dtype.kind == "f" else value.view("f4")
    return np.full(lanes, single) if single.ndim == 0 else single


def fused_run(body: list[Instruction], o: Operands) -> Run | None:
    """The run of independent ``fma.rn.f32`` on registers with which a list begins."""
    written: set[str] = set()
    some: list[Instruction] = []
    for x in body:
        plain = x.name == "fma.rn.f32" and not x.predicate
        if not plain or written & set(x.operands):
            break
        numbers = [o.entry.registers.number(a) for a in x.operands]
        if None in numbers:
            break
        if any(o.entry.registers.storage[n] != "f4" for n in numbers if n is not None):
            break
        written.add(x.operands[0])
        some.append(x)
    if len(some) < _LEAST:
        return None
    rows = [[o.entry.registers.number(a) or 0 for a in x.operands] for x in some]
    targets, left, right, addends = (list(column) for column in zip(*rows, strict=True))
    factors = sorted({*left, *right})
    place = {register: at for at, register in enumerate(factors)}
    registers = Registers(
        targets,
        factors,
        np.array([place[r] for r in left]),
        np.array([place[r] for r in right]),
        addends,
    )
    texts = [f"fma32(R[{a}], R[{b}], R[{c}])" for _, a, b, c in rows]
    return Run(
        tuple(some),
        f"{o.constant(registers)}.update(R, S.lanes)",
        tuple(zip(targets, texts, strict=True)),
    )
