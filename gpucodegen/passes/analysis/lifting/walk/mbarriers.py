"""mbarriers, copies that arrive at them, and products of what these bring.

A group of barriers is an array of the block.  Who initialises one writes its cell, who
arrives or waits updates it.  What a tensor map describes is taken to be no buffer that
the kernel writes: its cells are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from gpucodegen.dialects.arith import predicate
from gpucodegen.dialects.nvgpu.types import barrier_count
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import MemRefType, element_bytes, element_type
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.passes.analysis.lifting.values.accesses import READ, WRITE, all_cells
from gpucodegen.tiling.model.scop import Access, Array, Phase, Statement, Turn

PREFIX = "nvgpu.mbarrier."
CREATE, LOAD = f"{PREFIX}create", "nvgpu.tma.async.load"
MULTIPLY, WAIT = "nvgpu.warpgroup.mma", f"{PREFIX}try_wait.parity"
PARTS = {
    f"{PREFIX}init": (Turn.INIT, 2, 1),
    f"{PREFIX}arrive": (Turn.ARRIVE, 1, None),
    f"{PREFIX}arrive.expect_tx": (Turn.ARRIVE, 2, 1),
    WAIT: (Turn.WAIT, 3, None),
}
"""What each does, and which of its operands are the barrier's and a plain number."""
UPDATE = "mbarrier"
"""How arrivals and waits combine: none of them races with another one."""
Number = Callable[[Value], int | None]


def declare(op: Operation, env: Environment) -> None:
    """``nvgpu.mbarrier.create``."""
    scope = env.lifetime if env.blocks is None else env.blocks
    name = env.names.fresh(op.result.name, "mbarrier")
    shape = (barrier_count(op.result.type),)
    env.arrays[op.result] = Array(name, shape, scope, loc=op.location)


def part(
    op: Operation,
    env: Environment,
    definitions: Mapping[Value, Operation],
    number: Number,
    name: str,
) -> Statement:
    """The statement of an operation of `PARTS`, or of a copy."""
    if op.name == LOAD:
        return _copy(op, env, name)
    turn, place, plain = PARTS[op.name]
    odd = _odd(op.operands[1], env, definitions) if turn is Turn.WAIT else None
    known = None if plain is None else number(op.operands[plain])
    if op.name == f"{PREFIX}arrive":
        known = 0
    access = _barrier(op, env, op.operands[0], op.operands[place], turn)
    return Statement(name, (access,), loc=op.location, phase=Phase(turn, known, odd))


def _barrier(
    op: Operation, env: Environment, barriers: Value, which: Value, turn: Turn
) -> Access:
    atomic = "" if turn is Turn.INIT else UPDATE
    name = env.arrays[barriers].name if barriers in env.arrays else ""
    return Access(name, WRITE, (env.text(which),), atomic=atomic, loc=op.location)


def _odd(
    parity: Value, env: Environment, definitions: Mapping[Value, Operation]
) -> str | None:
    """Where a truth value that compares two numbers is 1."""
    made = definitions.get(parity)
    if made is None or made.name != "arith.cmpi" or predicate(made) != "eq":
        return None
    one, other = env.all_texts(made.operands)
    return None if one is None or other is None else f"{one} = {other}"


def _copy(op: Operation, env: Environment, name: str) -> Statement:
    """``nvgpu.tma.async.load``."""
    (target,), (barriers,), _, _, (which,), *_ = operand_segments(op, 7)
    ty = target.type
    shape = ty.shape if isinstance(ty, MemRefType) else ()
    size = element_bytes(element_type(ty))
    known = None
    if size is not None and None not in shape:
        known = size * prod(extent or 0 for extent in shape)
    accesses = (
        _barrier(op, env, barriers, which, Turn.COPY),
        all_cells(env, op, target, WRITE),
    )
    phase = Phase(Turn.COPY, known)
    return Statement(name, accesses, loc=op.location, phase=phase)


def factors(
    op: Operation, env: Environment, definitions: Mapping[Value, Operation]
) -> list[Access] | None:
    """What ``nvgpu.warpgroup.mma`` reads; None where its descriptors are not known."""
    found: list[Access] = []
    for value in op.operands[:2]:
        made = definitions.get(value)
        if made is None or not made.operands:
            return None
        found.append(all_cells(env, op, made.operands[0], READ))
    return found
