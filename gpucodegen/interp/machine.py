"""The interpreter's machine: values of one activation, and execution of regions.

Each operation is evaluated on the current values of its operands. Sanitized runs refuse
NaN made of numbers: they check the operations whose results are functions of their
operands, not loads and exchanges between threads. ``handlers=`` of a program are Python
functions that execute further operations; they get buffers as NumPy arrays that share
memory, tensors and vectors as copies, numbers, and the attributes by keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.interp.buffers import MemRef
from gpucodegen.interp.registry import evaluator
from gpucodegen.interp.values import (
    TARGET,
    array_of,
    canonical,
    element,
    is_array,
    numbers,
    scalar_type,
)
from gpucodegen.ir.attributes import Attribute, FloatAttr, IntegerAttr, StringAttr
from gpucodegen.ir.operation import Block, Operation, Region, Successor, Value
from gpucodegen.ir.types import (
    AnyShaped,
    ComplexType,
    FloatType,
    IndexType,
    MemRefType,
    Type,
    UnrankedMemRefType,
    element_type,
)
from gpucodegen.records import dataclass


def handled(op: Operation, handler: Callable[..., Any], operands: Sequence[Any]) -> Any:
    given = {name: plain(value) for name, value in op.attributes.items()}
    return called(op.name, handler, operands, given, op.results)


def called(
    name: str,
    handler: Callable[..., Any],
    operands: Sequence[Any],
    attributes: Mapping[str, Any],
    results: Sequence[Value],
) -> Any:
    """The results of a handler: a single value for one, a tuple for several."""
    answer = handler(*map(shown, operands), **attributes)
    answers = answer if isinstance(answer, tuple) else (answer,)
    found = answers if results else ()
    if len(found) != len(results):
        raise errors.HandlerResult(
            operation=name, expected=len(results), actual=len(found)
        )
    made = tuple(map(taken, found, results))
    return made[0] if len(made) == 1 else made


def plain(value: Attribute) -> object:
    """An attribute as a number, a string, or its text."""
    if isinstance(value, IntegerAttr | FloatAttr | StringAttr):
        return value.value
    return str(value)


def shown(value: Any) -> Any:
    """A value in the form that handlers get."""
    if isinstance(value, MemRef):
        return value.array()
    return value.copy() if isinstance(value, np.ndarray) else value


def taken(value: Any, result: Value) -> Any:
    """A handler's result as a value of the machine."""
    ty = result.type
    if not isinstance(ty, AnyShaped):
        number = value.item() if isinstance(value, np.generic | np.ndarray) else value
        return canonical(number, ty)
    of = element_type(ty)
    made = np.asarray(value)
    stored = element(of).dtype
    if made.dtype.kind == "u" and stored.kind == "i":
        made = made.astype(stored)  # MLIR's integers are bits without a sign
    if made.dtype != stored:
        made = array_of(made.reshape(-1).tolist(), made.shape, of)
    if isinstance(ty, MemRefType | UnrankedMemRefType):
        return MemRef.of(made, of)
    return made.copy()


_ARITHMETIC = frozenset({"arith", "math", "complex", "vector"})
_WHOLE = frozenset(
    f"linalg.{name}"
    for name in (
        "softmax",
        "winograd_filter_transform",
        "winograd_input_transform",
        "winograd_output_transform",
    )
)
"""Arithmetic operations of linalg without a scalar body."""


@cache
def can_make_nan(name: str) -> bool:
    """Whether an operation's results follow from its operands alone.

    >>> [can_make_nan(n) for n in ("arith.divf", "memref.load", "linalg.softmax")]
    [True, False, True]
    """
    dialect, definition = name.partition(".")[0], lookup(name)
    if definition is None:
        return False
    return name in _WHOLE or (dialect in _ARITHMETIC and definition.has(Trait.PURE))


def check_for_new_nan(
    op: Operation, values: Sequence[Any], evaluate: Callable[[], Any]
) -> Any:
    """Evaluate an operation. Raises NanMade if it makes NaN of numbers."""
    operands = [
        row
        for row in zip(values, (o.type for o in op.operands), strict=True)
        if _is_float(row[1])
    ]
    if not operands or any(first_nan(*row) is not None for row in operands):
        return evaluate()
    made = evaluate()
    several = made if len(op.results) > 1 else (made,)
    results = zip(several, (r.type for r in op.results), strict=False)
    buffers = (row for row in operands if isinstance(row[0], MemRef))
    for value, ty in (*results, *buffers):
        index = first_nan(value, ty)
        if index is not None:
            place = f" at {list(index)}" if index else ""
            given = _shown(value for value, _ in operands)
            raise errors.NanMade(operation=op.name, place=place, operands=given)
    return made


def first_nan(value: Any, ty: Type) -> tuple[int, ...] | None:
    """The index of the first NaN, or None.

    >>> from gpucodegen.ir.types import F32, VectorType
    >>> pair = np.array([1, np.nan], "f4")
    >>> first_nan(pair, VectorType((2,), F32)), first_nan(1.0, F32)
    ((1,), None)
    """
    if not _is_float(ty):
        return None
    array = value.elements() if isinstance(value, MemRef) else value
    if not is_array(array):
        return () if array != array else None  # noqa: PLR0124 - NaN alone is unlike it
    of = scalar_type(element_type(ty))
    plain = array.dtype.kind in "fc"
    flat = array.reshape(-1) if plain else np.array(numbers(array, of))
    at = np.flatnonzero(np.isnan(flat))
    if not len(at):
        return None
    return tuple(map(int, np.unravel_index(int(at[0]), array.shape)))


def _is_float(ty: Type) -> bool:
    return isinstance(scalar_type(element_type(ty)), FloatType | ComplexType)


def _shown(values: Iterable[Any]) -> str:
    """Operands in a message: numbers in full, arrays in short."""
    given = list(values)
    if any(is_array(v) or isinstance(v, MemRef) for v in given):
        return "elements"
    return " and ".join(map(str, given))


@dataclass(frozen=True, slots=True)
class Jump:
    """A taken branch: its target and the passed values."""

    target: Successor


End = tuple[Operation | None, tuple[Any, ...]]
"""The terminator of a region, and the values of its operands."""


@dataclass(slots=True)
class Shared:
    """State that all activations of a run share."""

    module: Module
    handlers: Mapping[str, Callable[..., Any]]
    globals: dict[Any, Any] = field(default_factory=dict[Any, Any])
    transfers: dict[object, Any] = field(default_factory=dict[object, Any])
    """Transfers in flight, by tag."""
    made: dict[Operation, Any] = field(default_factory=dict[Operation, Any])
    """Values computed from an operation's attributes alone."""
    refuses_nan: bool = False
    """Whether operations that make NaN of numbers are errors."""
    arbitrary: bool = False
    """Whether fresh memory holds arbitrary numbers that may be read."""


@dataclass(slots=True)
class Machine:
    """One activation: of a function, or of one thread of a kernel."""

    shared: Shared
    values: dict[Value, Any] = field(default_factory=dict[Value, Any])
    thread: Any = None

    def of(self, values: Sequence[Value]) -> tuple[Any, ...]:
        """Current values of SSA values."""
        return tuple([self.values[value] for value in values])

    def groups(self, op: Operation) -> dict[str, tuple[Any, ...]]:
        """The operands grouped by the slots of the operation's table entry."""
        definition = lookup(op.name)
        assert definition is not None
        return {n: self.of(v) for n, v in definition.operand_groups(op).items()}

    def once(self, op: Operation, make: Callable[[Operation], Any]) -> Any:
        """A value that depends on the operation alone, computed once."""
        made = self.shared.made
        if op not in made:
            made[op] = make(op)
        return made[op]

    def forked(self, thread: Any = None) -> Machine:
        """An activation that sees these values and keeps its own private."""
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
        """Values of the region's terminator; none for an empty region."""
        return self.region(region, arguments)[1] if region.blocks else ()

    def block(self, block: Block, arguments: Sequence[Any]) -> End | Jump:
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
        made = self._evaluated(op)
        if len(op.results) == 1:
            self.values[op.results[0]] = made
        elif op.results:
            self.values.update(zip(op.results, made, strict=True))

    def _evaluated(self, op: Operation) -> Any:
        try:
            name, shared, known = op.name, self.shared, self.values
            values = [known[operand] for operand in op.operands]
            if name in shared.handlers:
                return handled(op, shared.handlers[name], values)
            evaluate = evaluator(name)
            if evaluate is None:
                raise _unknown(op)
            if shared.refuses_nan and can_make_nan(name):
                return check_for_new_nan(
                    op, values, lambda: evaluate(self, op, *values)
                )
            return evaluate(self, op, *values)
        except errors.Error as error:
            locate(error, op)
            raise


@cache
def is_end(name: str) -> bool:
    """Whether an operation terminates a region and is read by its parent."""
    if name in _EVALUATED:
        return False
    definition = lookup(name)
    return definition is not None and definition.has(Trait.TERMINATOR)


_EVALUATED = frozenset({"ub.unreachable"})


def locate(error: errors.Error, op: Operation) -> None:
    """Add the operation's location to an error that has none."""
    if not error.place:
        error.location = op.location
    if not error.notes:
        error.notes = ((op.location, f"while '{op.name}' ran in the interpreter"),)


_WHERE = " ran in the interpreter, where "


def tell_where(error: errors.Error, *places: str) -> None:
    """Add the iterations of the enclosing loops to an error, innermost first."""
    if not places or not error.notes:
        return
    (location, text), *others = error.notes
    joint = ", " if _WHERE in text else ", where "
    error.notes = ((location, f"{text}{joint}{', '.join(places)}"), *others)


def _unknown(op: Operation) -> errors.Error:
    if lookup(op.name) is None:
        return errors.UnregisteredOperation(operation=op.name)
    return errors.UnsupportedOperation(operation=op.name, target=TARGET)
