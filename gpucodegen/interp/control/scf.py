"""scf: loops and branches."""

from __future__ import annotations

from typing import Any

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.elements import bits_of
from gpucodegen.interp.values.indices import given, steps
from gpucodegen.ir.data.packing import wrapped
from gpucodegen.ir.operation import Operation


def _for(
    m: Machine, op: Operation, lower: int, upper: int, step: int, *carried: Any
) -> Any:
    bits = bits_of(op.operands[0].type)
    sign = "u" if "unsignedCmp" in op.attributes else ""
    lower, upper = (wrapped(n, bits, sign) for n in (lower, upper))
    for at in steps(lower, upper, wrapped(step, bits, sign)):
        carried = m.results(op.regions[0], (wrapped(at, bits), *carried))
    return given(carried)


def _if(m: Machine, op: Operation, condition: int) -> Any:
    return given(m.results(op.regions[0 if condition else 1]))


def _while(m: Machine, op: Operation, *carried: Any) -> Any:
    before, after = op.regions
    while True:
        condition, *passed = m.results(before, carried)
        if not condition:
            return given(tuple(passed))
        carried = m.results(after, tuple(passed))


def _execute_region(m: Machine, op: Operation) -> Any:
    return given(m.results(op.regions[0]))


def _index_switch(m: Machine, op: Operation, chosen: int) -> Any:
    """The region of the case, else the first, which is the default."""
    cases = op.numbers("cases")
    number = cases.index(chosen) + 1 if chosen in cases else 0
    return given(m.results(op.regions[number]))


OPERATIONS: dict[str, Evaluate] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.execute_region": _execute_region,
    "scf.index_switch": _index_switch,
}
