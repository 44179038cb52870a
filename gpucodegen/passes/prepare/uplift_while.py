"""Uplift of counted ``scf.while`` loops to ``scf.for``, as MLIR names it.

    scf.while (%i = %l, %x = %y) {                 scf.for %k = %l to %u step 1
      %c = arith.cmpi slt, %i, %u                      iter_args(%x = %y) {
      scf.condition(%c) %i, %x               =>      %i = arith.index_cast %k
    } do { ..                                        ..
      scf.yield %i + 1, %f                           scf.yield %f
    }                                              }

The condition compares a carried integer with a bound that the loop does not change, and
nothing else; the body adds a positive constant to the integer.  The sum must not wrap
before the loop ends: with step 1 it cannot, else the bound is a constant that leaves
room.  Integers of the same type that count alike follow from the counter.  A carried
value that the body yields unchanged is not carried any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from gpucodegen.dialects import arith, scf
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import INDEX, IntegerType, Type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class UpliftWhile(ModulePass, name="uplift-while", looks_for="scf.while"):
    """Counted ``scf.while`` loops become ``scf.for``.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%n: i32, %x: f32) -> f32 {
    ...   %zero = arith.constant 0 : i32
    ...   %one = arith.constant 1 : i32
    ...   %i, %y = scf.while (%i = %zero, %y = %x) : (i32, f32) -> (i32, f32) {
    ...     %goes_on = arith.cmpi slt, %i, %n : i32
    ...     scf.condition(%goes_on) %i, %y : i32, f32
    ...   } do {
    ...   ^bb0(%i: i32, %y: f32):
    ...     %next = arith.addi %i, %one : i32
    ...     %z = arith.mulf %y, %y : f32
    ...     scf.yield %next, %z : i32, f32
    ...   }
    ...   return %y : f32
    ... }''')
    >>> made = UpliftWhile().apply(module).functions["f"].body.operations
    >>> [op.name for op in made if op.dialect == "scf"]
    ['scf.for']
    """

    def apply(self, module: Module) -> Module:
        constants = {
            op.result: value
            for op in module.walk()
            if op.name == "arith.constant" and len(op.results) == 1
            for value in [arith.constant_value(op)]
            if isinstance(value, int)
        }
        uplift = _Uplift(constants)
        (root,) = rewrite_bottom_up(module.operation, uplift.rewrite)
        return Module(substitute_values(root, uplift.final()))


@dataclass(frozen=True, slots=True)
class _Counter:
    """The counted value: ``position`` among the carried ones, its bound and step."""

    position: int
    bound: Value
    step: int


@dataclass(slots=True)
class _Uplift:
    """``constants``: integers; ``replaced``: results that equal another value."""

    constants: dict[Value, int]
    replaced: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def final(self) -> dict[Value, Value]:
        """The replacements, each by a value that stays."""
        return {value: self._end(value) for value in self.replaced}

    def _end(self, value: Value) -> Value:
        while value in self.replaced:
            value = self.replaced[value]
        return value

    def rewrite(self, op: Operation) -> Sequence[Operation] | None:
        if op.name != "scf.while" or not _forwards_all(scf.While(op)):
            return None
        made = self._without_invariants(op)
        counter = self._counter(scf.While(made))
        if counter is None:
            return [made]
        b = Builder(op.location)
        self._counted(b, made, counter)
        return b.operations

    def _without_invariants(self, op: Operation) -> Operation:
        """The loop without the carried values that its body yields unchanged."""
        loop = scf.While(op)
        yielded = loop.after.operations[-1].operands
        kept: list[int] = []
        same: dict[Value, Value] = {}
        for n, init in enumerate(loop.inits):
            own = loop.after.arguments[n]
            if yielded[n] not in (own, init):
                kept.append(n)
                continue
            same |= dict.fromkeys((own, loop.before.arguments[n]), init)
            self.replaced[op.results[n]] = init
        if not same:
            return op

        def fewer(values: Sequence[Value]) -> tuple[Value, ...]:
            return tuple(values[n] for n in kept)

        def block(old: Block, first: int) -> Region:
            *body, end = old.operations
            passed = (*end.operands[:first], *fewer(end.operands[first:]))
            changed = [substitute_values(o, same) for o in body]
            last = substitute_values(end.with_(operands=passed), same)
            return Region((Block(fewer(old.arguments), (*changed, last), old.label),))

        regions = block(loop.before, 1), block(loop.after, 0)
        operands, results = fewer(loop.inits), fewer(op.results)
        return op.with_(operands=operands, results=results, regions=regions)

    def _counter(self, loop: scf.While) -> _Counter | None:
        *asked, end = loop.before.operations
        made = {value: o for o in asked for value in o.results}
        compare = made.get(end.operands[0])
        if compare is None or compare.name != "arith.cmpi":
            return None
        if not all(map(has_no_effect, asked)):
            return None
        tested, bound = compare.operands
        predicate = arith.predicate(compare)
        if predicate in _MIRRORED:
            tested, bound, predicate = bound, tested, _MIRRORED[predicate]
        if predicate != "slt" or tested not in loop.before.arguments:
            return None
        position = loop.before.arguments.index(tested)
        is_fixed = bound not in loop.before.arguments and (
            bound not in made or bound in self.constants
        )
        step = self._step(loop.after, position) if is_fixed else None
        if step is None or not self._fits(bound, step):
            return None
        return _Counter(position, bound, step)

    def _step(self, body: Block, position: int) -> int | None:
        """The positive constant that an iteration adds to a carried integer."""
        own, value = body.arguments[position], body.operations[-1].operands[position]
        sums = [o for o in body.operations if value in o.results]
        if not sums or sums[0].name != "arith.addi" or own not in sums[0].operands:
            return None
        steps = [self.constants.get(v) for v in sums[0].operands if v is not own]
        return steps[0] if steps and steps[0] is not None and steps[0] > 0 else None

    def _fits(self, bound: Value, step: int) -> bool:
        width = bound.type.width if isinstance(bound.type, IntegerType) else 64
        last = self.constants.get(bound)
        most = (1 << (width - 1)) - 1
        return width > 1 and (
            step == 1 or (last is not None and last - 1 + step <= most)
        )

    def _counted(self, b: Builder, op: Operation, counter: _Counter) -> None:
        loop, at = scf.While(op), counter.position
        ty, init, bound = loop.inits[at].type, loop.inits[at], counter.bound
        if any(bound in o.results for o in loop.before.operations):
            bound = b.constant(self.constants[bound], ty)
        lower, upper = (_cast(b, v, INDEX) for v in (init, bound))
        step = b.constant(counter.step, INDEX)
        inner = Builder(op.location)
        iv = Value(INDEX, loop.after.arguments[at].name, op.location)
        number = _cast(inner, iv, ty)
        *body, end = loop.after.operations
        shifts = {at: 0} | self._shifts(loop, counter)
        kept = [n for n in range(len(loop.inits)) if n not in shifts]
        passed = tuple(end.operands[n] for n in kept)
        named = {
            loop.after.arguments[n]: _shifted(inner, number, by)
            for n, by in shifts.items()
        }
        done = [*inner.operations, *body, end.with_(operands=passed)]
        made = scf.for_(
            lower,
            upper,
            step,
            body=[substitute_values(o, named) for o in done],
            iv=iv,
            inits=[loop.inits[n] for n in kept],
            iters=[loop.after.arguments[n] for n in kept],
            location=op.location,
        )
        results = tuple(op.results[n] for n in kept)
        b.operations.append(made.with_(results=results))
        last = _last(b, init, bound, counter.step)
        self.replaced |= {
            op.results[n]: _shifted(b, last, by) for n, by in shifts.items()
        }

    def _shifts(self, loop: scf.While, counter: _Counter) -> dict[int, int]:
        """The other integers that count alike, as differences from the counter."""
        init = loop.inits[counter.position]
        first = self.constants.get(init)
        found: dict[int, int] = {}
        for n, other in enumerate(loop.inits):
            if n == counter.position or other.type != init.type:
                continue
            own = self.constants.get(other)
            by = 0 if other is init else None
            if own is not None and first is not None:
                by = own - first
            if by is not None and self._step(loop.after, n) == counter.step:
                found[n] = by
        return found


_MIRRORED = {"sgt": "slt"}


def _forwards_all(loop: scf.While) -> bool:
    """Whether the condition passes on the carried values as they are."""
    return loop.before.operations[-1].operands[1:] == loop.before.arguments


def _cast(b: Builder, value: Value, ty: Type) -> Value:
    if value.type == ty:
        return value
    return b.value("arith.index_cast", (value,), ty, hint=value.name)


def _shifted(b: Builder, value: Value, by: int) -> Value:
    if by == 0:
        return value
    shift = b.constant(by, value.type)
    return b.value("arith.addi", (value, shift), value.type, hint=value.name)


def _last(b: Builder, init: Value, bound: Value, step: int) -> Value:
    """The counter behind the loop: ``init + step * ceil((bound - init) / step)``.

    It is ``init`` if the bound is smaller.
    """
    end = b.value("arith.maxsi", (init, bound), init.type, hint=init.name)
    if step == 1:
        return end
    by = b.constant(step, init.type)
    span = b.value("arith.subi", (end, init), init.type)
    trips = b.value("arith.ceildivui", (span, by), init.type)
    way = b.value("arith.muli", (trips, by), init.type)
    return b.value("arith.addi", (init, way), init.type)
