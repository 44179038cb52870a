"""The machine: values of one activation, and the operations of regions in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.interp.handlers import handled
from gpucodegen.interp.registry import evaluator
from gpucodegen.interp.values.elements import TARGET
from gpucodegen.interp.values.not_numbers import may_make, watched
from gpucodegen.ir.operation import Block, Operation, Region, Successor, Value
from gpucodegen.ir.types import IndexType


@dataclass(frozen=True, slots=True)
class Jump:
    """A branch that is taken."""

    target: Successor


End = tuple[Operation | None, tuple[Any, ...]]
"""The terminator of a region, and the values of its operands."""


@dataclass(slots=True)
class Shared:
    """What all activations of a run share."""

    module: Module
    handlers: Mapping[str, Callable[..., Any]]
    globals: dict[Any, Any] = field(default_factory=dict[Any, Any])
    transfers: dict[object, Any] = field(default_factory=dict[object, Any])
    """What is under way, by its tag."""
    made: dict[Operation, Any] = field(default_factory=dict[Operation, Any])
    """What was worked out of an operation's attributes alone."""
    refuses_nan: bool = False
    """Whether operations must not make NaN of numbers."""
    arbitrary: bool = False
    """Whether fresh memory holds arbitrary numbers instead of none."""


@dataclass(slots=True)
class Machine:
    """One activation: of a function, or of one thread of a kernel."""

    shared: Shared
    values: dict[Value, Any] = field(default_factory=dict[Value, Any])
    thread: Any = None

    def of(self, values: Sequence[Value]) -> tuple[Any, ...]:
        """What SSA values are now."""
        return tuple([self.values[value] for value in values])

    def groups(self, op: Operation) -> dict[str, tuple[Any, ...]]:
        """The operands by the names that the dialect gives them."""
        definition = lookup(op.name)
        assert definition is not None
        return {n: self.of(v) for n, v in definition.operand_groups(op).items()}

    def once(self, op: Operation, make: Callable[[Operation], Any]) -> Any:
        """What follows from an operation alone, worked out once."""
        made = self.shared.made
        if op not in made:
            made[op] = make(op)
        return made[op]

    def forked(self, thread: Any = None) -> Machine:
        """An activation that sees these values, and keeps its own to itself."""
        return replace(self, values=dict(self.values), thread=thread or self.thread)

    def fresh(self) -> Machine:
        """An activation that sees none of these values."""
        return replace(self, values={})

    def region(self, region: Region, arguments: Sequence[Any] = ()) -> End:
        """Run a region to a terminator that leaves it."""
        block = region.blocks[0]
        while True:
            end = self.block(block, arguments)
            if not isinstance(end, Jump):
                return end
            label = end.target.label
            block = next(b for b in region.blocks if b.label is label)
            arguments = self.of(end.target.operands)

    def results(self, region: Region, arguments: Sequence[Any] = ()) -> tuple[Any, ...]:
        """What the terminator of a region passes on; nothing of an empty one."""
        return self.region(region, arguments)[1] if region.blocks else ()

    def block(self, block: Block, arguments: Sequence[Any]) -> End | Jump:
        """Run the operations of a block."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        try:
            for op in block.operations:
                if op.successors:
                    return self._evaluated(op)
                if is_end(op.name):
                    return op, self.of(op.operands)
                self.step(op)
        except errors.Error as error:
            pairs = zip(block.arguments, arguments, strict=True)
            at = [(v.name, n) for v, n in pairs if isinstance(v.type, IndexType)]
            tell_where(error, *(f"%{name} = {n}" for name, n in at if name))
            raise
        return None, ()

    def step(self, op: Operation) -> None:
        """Run one operation."""
        made = self._evaluated(op)
        if len(op.results) == 1:
            self.values[op.results[0]] = made
        elif op.results:
            self.values.update(zip(op.results, made, strict=True))

    def _evaluated(self, op: Operation) -> Any:
        try:
            handler = self.shared.handlers.get(op.name)
            if handler is not None:
                return handled(op, handler, self.of(op.operands))
            evaluate = evaluator(op.name)
            if evaluate is None:
                raise _unknown(op)
            values = self.of(op.operands)
            if self.shared.refuses_nan and may_make(op.name):
                return watched(op, values, lambda: evaluate(self, op, *values))
            return evaluate(self, op, *values)
        except errors.Error as error:
            locate(error, op)
            raise


@cache
def is_end(name: str) -> bool:
    """Whether an operation ends a region, for its parent to read."""
    if name in _EVALUATED:
        return False
    definition = lookup(name)
    return definition is not None and definition.has(Trait.TERMINATOR)


_EVALUATED = frozenset({"ub.unreachable"})


def locate(error: errors.Error, op: Operation) -> None:
    """Say in which operation an error came up, if nothing has yet."""
    if not error.place:
        error.location = op.location
    if not error.notes:
        error.notes = ((op.location, f"while '{op.name}' ran in the interpreter"),)


_WHERE = " ran in the interpreter, where "


def tell_where(error: errors.Error, *places: str) -> None:
    """Add to an error in which iteration it came up, of inner loops first."""
    if not places or not error.notes:
        return
    (location, text), *others = error.notes
    joint = ", " if _WHERE in text else ", where "
    error.notes = ((location, f"{text}{joint}{', '.join(places)}"), *others)


def _unknown(op: Operation) -> errors.Error:
    if lookup(op.name) is None:
        return errors.UnregisteredOperation(operation=op.name)
    return errors.UnsupportedOperation(operation=op.name, target=TARGET)
