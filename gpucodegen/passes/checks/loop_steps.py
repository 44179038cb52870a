"""Checks of loop steps that are known only at run time: a step must be positive.

``scf.for`` loops whose step is not proven positive get a check.  It refuses the call in
front of the outermost enclosing loop where all its operands are known and the loop
surely runs; otherwise it skips the loop and reports it.  When a check moves out of an
outer loop, that loop must have an iteration for the inner one to run, so its condition
becomes: lower < upper of that loop, and the check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.integer_ranges import Range, range_of_value
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Value,
    ValueMap,
    clone,
    single_block,
)
from gpucodegen.ir.types import I1, INDEX
from gpucodegen.passes.checks.guard_conditions import STEP, Check, refusing, reporting
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import definitions, in_functions
from gpucodegen.passes.lower_affine.expressions import (
    bound_value,
    compare,
    condition,
)
from gpucodegen.records import dataclass

Definitions = Mapping[Value, Operation]
Build = Callable[[Builder], Value]


@dataclass(frozen=True, slots=True)
class CheckLoopSteps(ModulePass, name="check-loop-steps", looks_for="scf.for"):
    """Refuses calls in which a loop would run with a step that is not positive."""

    def apply(self, module: Module) -> Module:
        return in_functions(module, _function)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A check of a step: it fails if all of ``terms`` hold, which use ``needs``."""

    loop: Operation
    step: Value
    terms: tuple[Build, ...]
    needs: frozenset[Value]

    def within(self, term: Build, needs: frozenset[Value]) -> _Pending:
        """The check moved out of an operation that runs the loop where a term holds."""
        return replace(self, terms=(term, *self.terms), needs=self.needs | needs)

    def built(self, defined: Definitions) -> tuple[list[Operation], Check]:
        """Operations that evaluate the check, from the values that it needs."""
        b = Builder(self.loop.location)
        bad = _joined(b, "andi", [term(b) for term in self.terms])
        used = [v for op in b.operations for v in op.operands]
        computed = _computed([*used, self.step], defined)
        copies: ValueMap = {}
        made = [clone(op, copies) for op in [*computed, *b.operations]]
        step, cast = copies.get(self.step, self.step), Builder(b.location)
        if step.type != INDEX:
            step = cast.value("arith.index_cast", (step,), INDEX)
        known = (("step", step),)
        check = Check(b.location, "", STEP, 0, known, copies[bad])
        return [*made, *cast.operations], check


def _computed(values: Iterable[Value], defined: Definitions) -> list[Operation]:
    """The arithmetic that computes values, in order; it is movable."""
    found: dict[Operation, None] = {}

    def visit(value: Value) -> None:
        op = defined.get(value)
        if op is not None and op not in found and _is_movable(op):
            for operand in op.operands:
                visit(operand)
            found[op] = None

    for value in values:
        visit(value)
    return list(found)


def _is_movable(op: Operation) -> bool:
    """Whether an operation is pure and cannot fail."""
    if op.name in {"affine.apply", "affine.min", "affine.max"}:
        return True
    return op.dialect == "arith" and "div" not in op.name and "rem" not in op.name


def _leaves(values: Iterable[Value], defined: Definitions) -> frozenset[Value]:
    """The values from which arithmetic computes others."""
    given = list(values)
    made = _computed(given, defined)
    used = {*given, *(v for op in made for v in op.operands)}
    return frozenset(used.difference(v for op in made for v in op.results))


def _function(function: Operation) -> list[Operation]:
    checker = _Checker(definitions(function), _sizes(function))
    if not any(found for op in function.walk() for found in checker.own(op)):
        return [function]
    is_straight = len(function.regions[0].blocks) == 1

    def checked(block: Block) -> Block:
        made: list[Operation] = []
        for op in block.operations:
            rebuilt, pending = checker.operation(op)
            for one in pending:
                before, check = one.built(checker.defined)
                at = _after(made, one.needs) if is_straight else len(made)
                made[at:at] = [*before, refusing(check)]
            made.append(rebuilt)
        return block.with_operations(made)

    return [function.with_blocks(checked)]


def _after(operations: Sequence[Operation], needs: frozenset[Value]) -> int:
    """The first position at which all values are defined."""
    makers = (i + 1 for i, op in enumerate(operations) if needs & {*op.results})
    return max(makers, default=0)


def _sizes(function: Operation) -> dict[Value, Range]:
    """The sizes of grids and blocks, which are positive."""
    found: dict[Value, Range] = {}
    size = Range(1, (1 << 31) - 1)
    for op in function.walk():
        if op.name in {"gpu.block_dim", "gpu.grid_dim"}:
            found[op.result] = size
        elif op.name == "gpu.launch":
            found |= dict.fromkeys(op.regions[0].blocks[0].arguments[6:12], size)
    return found


@dataclass(frozen=True, slots=True)
class _Checker:
    defined: Mapping[Value, Operation]
    sizes: Mapping[Value, Range]

    def own(self, op: Operation) -> Iterator[_Pending]:
        for *_, step in _bounds(op):
            if range_of_value(step, self.defined, self.sizes).low > 0:
                continue

            def is_bad(b: Builder, step: Value = step) -> Value:
                zero = b.constant(0, step.type)
                return compare(b, "sle", step, zero)

            yield _Pending(op, step, (is_bad,), _leaves([step], self.defined))

    def operation(self, op: Operation) -> tuple[Operation, list[_Pending]]:
        """An operation with checks inside, and the checks that belong before it."""
        pending = list(self.own(op))
        if not op.regions:
            return op, pending
        inside = {v for o in op.walk() if o is not op for v in o.results}
        blocks = op.blocks
        inside.update(v for o in op.walk() for v in o.block_arguments)

        def checked(block: Block) -> Block:
            runs = _runs(op, blocks.index(block))
            made: list[Operation] = []
            for inner in block.operations:
                rebuilt, found = self.operation(inner)
                stay: list[_Pending] = []
                for one in found:
                    if runs is None or one.needs & inside:
                        stay.append(one)
                    else:
                        term, values = runs
                        needs = _leaves(values, self.defined)
                        pending.append(one.within(term, needs))
                made += self._guarded(rebuilt, stay)
            return block.with_operations(made)

        return op.with_blocks(checked), pending

    def _guarded(self, op: Operation, checks: Sequence[_Pending]) -> list[Operation]:
        """An operation that is left out, and reported, where a check fails."""
        if not checks:
            return [op]
        made: list[Operation] = []
        bad: list[Value] = []
        reports: list[Operation] = []
        for one in checks:
            before, check = one.built(self.defined)
            made += before
            bad.append(check.bad)
            reports.append(reporting(check))
        b = Builder(op.location)
        fails = _joined(b, "ori", bad)
        results = tuple(v.renewed() for v in op.results)
        inits = op.operands[len(op.operands) - len(results) :] if results else ()
        branches = [
            single_block([*ops, Operation("scf.yield", values, location=op.location)])
            for ops, values in (
                (reports, inits),
                ([op.with_(results=results)], results),
            )
        ]
        choice = Operation("scf.if", (fails,), op.results, regions=tuple(branches))
        return [*made, *b.operations, choice.with_(location=op.location)]


def _bounds(op: Operation) -> Iterator[tuple[Value, Value, Value]]:
    """Lower bound, upper bound and step of each variable of a loop."""
    if op.name == "scf.for":
        lower, upper, step, *_ = op.operands
        yield lower, upper, step


def _runs(op: Operation, number: int) -> tuple[Build, Sequence[Value]] | None:
    """The condition under which a block of an operation runs, and its operands.

    None where a check cannot move out: other operations, and those with results that
    cannot be skipped.
    """
    bounds = list(_bounds(op))
    if bounds:
        pairs = [(lower, upper) for lower, upper, _ in bounds]

        def has_iterations(b: Builder) -> Value:
            return _joined(b, "andi", [compare(b, "slt", *pair) for pair in pairs])

        return has_iterations, [v for pair in pairs for v in pair]
    if op.name == "affine.for" or (op.name == "affine.parallel" and not op.results):
        return _affine_runs(op)
    if op.results or op.name not in {"scf.if", "affine.if", "gpu.launch"}:
        return None

    def holds(b: Builder) -> Value:
        if op.name == "gpu.launch":
            return b.constant(1, I1)
        found = condition(b, op) if op.name == "affine.if" else op.operands[0]
        one = b.constant(1, I1)
        return b.value("arith.xori", (found, one), I1) if number else found

    return holds, () if op.name == "gpu.launch" else op.operands


def _affine_runs(op: Operation) -> tuple[Build, Sequence[Value]]:
    if op.name == "affine.for":
        loop = affine.For(op)
        maps = [(loop.lower_map, loop.upper_map)]
    else:
        loop = affine.Parallel(op)
        maps = list(zip(loop.lower_maps, loop.upper_maps, strict=True))

    def counts(b: Builder) -> Value:
        found = [b.constant(1, I1)]
        for low, high in maps:
            lower = bound_value(b, "affine.max", low, loop.lower_operands)
            upper = bound_value(b, "affine.min", high, loop.upper_operands)
            found.append(compare(b, "slt", lower, upper))
        return _joined(b, "andi", found)

    return counts, (*loop.lower_operands, *loop.upper_operands)


def _joined(b: Builder, name: str, found: Sequence[Value]) -> Value:
    return reduce(lambda x, y: b.value(f"arith.{name}", (x, y), I1), found)
