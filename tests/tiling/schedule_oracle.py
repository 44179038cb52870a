"""Brute force for schedules: run their loops and compare with the original order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import add, floordiv, mod, mul, sub

from tiling_oracle import Touch, conflicts, execute

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Scop, statements
from gpucodegen.tiling.proof.dependences import dependences
from gpucodegen.tiling.schedule.schedule import Schedule, Unit, UnitNest
from gpucodegen.tiling.schedule.schedule_ast import (
    Expression,
    Guard,
    LoopNode,
    Name,
    Node,
    Number,
    StatementNode,
)

Instance = tuple[str, tuple[int, ...]]
Env = dict[str, int]
OPERATORS = {"+": add, "-": sub, "*": mul, "floordiv": floordiv, "mod": mod}


@dataclass(frozen=True, slots=True)
class Execution:
    """An instance, the iteration of the parallel loop around it, and what is around."""

    instance: Instance
    worker: int | None
    region: tuple[int, ...]


def nest_of(scop: Scop) -> UnitNest:
    """Each statement that touches memory as a unit of its own."""
    built = model(scop)
    units = tuple(Unit((s.name,)) for s in statements(scop.body) if s.accesses)
    return UnitNest(built, dependences(built), units)


def value(expression: Expression, env: Env) -> int:
    match expression:
        case Name(text):
            return env[text]
        case Number(number):
            return number
        case _:
            left, right = value(expression.left, env), value(expression.right, env)
            return OPERATORS[expression.operator](left, right)


def run(
    nodes: tuple[Node, ...],
    schedule: Schedule,
    env: Env,
    around: tuple[int, ...] = (),
    worker: tuple[int | None, tuple[int, ...]] = (None, ()),
) -> Iterator[Execution]:
    """Every execution of the loops of a schedule, in order."""
    for node in nodes:
        match node:
            case LoopNode():
                lower = max(value(bound, env) for bound in node.lowers)
                upper = min(value(bound, env) for bound in node.uppers)
                for i in range(lower, upper, node.step):
                    mine = worker
                    if node.dimension in schedule.parallel:
                        mine = (i, around)
                    inner = {**env, node.name: i}
                    yield from run(node.body, schedule, inner, (*around, i), mine)
            case Guard():
                holds = all(
                    found == 0 if c.equality else found >= 0
                    for c in node.constraints
                    for found in (value(c.expression, env),)
                )
                branch = node.body if holds else node.orelse
                yield from run(branch, schedule, env, around, worker)
            case StatementNode():
                values = tuple(value(v, env) for v in node.values)
                yield Execution((node.name, values), *worker)


def instance(touch: Touch) -> Instance:
    return touch.statement, touch.values(len(touch.around))


def assert_equivalent(
    scop: Scop, schedule: Schedule, nodes: tuple[Node, ...], **parameters: int
) -> None:
    """Each instance runs once, and after all that it depends on."""
    touches = execute(scop, **parameters)
    executed = list(run(nodes, schedule, dict(parameters)))
    expected = Counter(dict.fromkeys(map(instance, touches), 1))
    assert Counter(e.instance for e in executed) == expected
    at = {e.instance: (position, e) for position, e in enumerate(executed)}
    for a, b in conflicts(touches):
        first, second = instance(a), instance(b)
        if first == second:
            continue
        (early, x), (late, y) = at[first], at[second]
        assert early < late, (first, second)
        assert x.region != y.region or x.worker == y.worker, (first, second)
