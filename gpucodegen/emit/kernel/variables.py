"""Which values get a Python variable, and which values share one.

A loop-carried value should read ``acc = f(acc)``: the initial value, the carried value,
what is yielded and the result share one variable where their lifetimes allow it.

Lifetimes are intervals over the operations in textual order: operation ``p`` reads at
``2p`` and writes at ``2p + 1``.  A value used inside a loop that it is defined outside
of lives to the end of that loop.  Two groups of values may share a variable iff no two
of their intervals overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine
from gpucodegen.ir.affine.expressions import Binary, linear_form
from gpucodegen.ir.operation import Block, Operation, Value

LOOPS = frozenset(
    {"affine.for", "affine.parallel", "scf.for", "scf.parallel", "scf.while"}
)
WRITTEN_INSIDE = frozenset({"affine.parallel", "scf.parallel", "scf.while"})
"""Loops that write their results in every iteration."""
CARRYING = {"affine.for": 1, "scf.for": 1}
"""Loops with carried values, and the number of block arguments before those."""
BRANCHES = frozenset({"affine.if", "scf.if", "scf.index_switch"})
VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        "cast dim subview reinterpret_cast collapse_shape expand_shape transpose "
        "memory_space_cast assume_alignment"
    ).split()
)
"""Operations that compute no value at run time, only another way to see a buffer."""


def uses_of(operations: Iterable[Operation]) -> dict[Value, int]:
    """How often each value is an operand, nested operations included."""
    counts: dict[Value, int] = {}
    for root in operations:
        for op in root.walk():
            for value in op.used:
                counts[value] = counts.get(value, 0) + 1
    return counts


def is_inlined(op: Operation, uses: Mapping[Value, int]) -> bool:
    """Whether an operation is printed at its uses instead of on its own line."""
    if op.name == "arith.constant" or op.name in VIEWS:
        return True
    return op.name == "affine.apply" and (
        uses.get(op.results[0], 0) <= 1 or _is_simple(op)
    )


def _is_simple(op: Operation) -> bool:
    """``c``, ``d0 * c`` or ``d0 + c``: shorter than the name it would get."""
    (expr,) = affine.map_of(op).results
    terms, constant = linear_form(expr)
    whole = not any(isinstance(term, Binary) for term in terms)
    shifted = list(terms.values()) == [1]
    scaled = len(terms) == 1 and not constant
    return whole and (not terms or shifted or scaled)


Interval = tuple[int, int]


@dataclass(slots=True)
class Sharing:
    """Groups of values with one variable each; every value starts alone."""

    _intervals: dict[Value, list[Interval]] = field(
        default_factory=dict[Value, list[Interval]]
    )
    _leader: dict[Value, Value] = field(default_factory=dict[Value, Value])
    _named: dict[Value, tuple[int, str]] = field(
        default_factory=dict[Value, tuple[int, str]]
    )

    @staticmethod
    def of(operations: Sequence[Operation]) -> Sharing:
        """The groups of a body."""
        lifetimes = _Lifetimes(uses_of(operations))
        lifetimes.number(operations)
        lifetimes.block(operations)
        sharing = Sharing(lifetimes.intervals(), _named=lifetimes.named())
        for first, second in lifetimes.wishes:
            sharing._merge(first, second)
        return sharing

    def leader(self, value: Value) -> Value:
        """The value that stands for the whole group."""
        while value in self._leader:
            value = self._leader[value]
        return value

    def hint(self, value: Value) -> str:
        """A name for the group: that of its outermost carried value, or its own."""
        _, name = self._named.get(self.leader(value), (0, ""))
        return name or value.name

    def _merge(self, first: Value, second: Value) -> None:
        one, other = self.leader(first), self.leader(second)
        mine, theirs = self._intervals.get(one), self._intervals.get(other)
        if one is other or mine is None or theirs is None:
            return
        if any(a < d and c < b for a, b in mine for c, d in theirs):
            return
        self._leader[other] = one
        self._intervals[one] = mine + theirs
        names = [self._named[v] for v in (one, other) if v in self._named]
        if names:
            self._named[one] = min(names)


@dataclass(slots=True)
class _Lifetimes:
    """Walks over a body: where values start and end, and which may share."""

    uses: Mapping[Value, int]
    starts: dict[Value, int] = field(default_factory=dict[Value, int])
    ends: dict[Value, int] = field(default_factory=dict[Value, int])
    wishes: list[tuple[Value, Value]] = field(default_factory=list[tuple[Value, Value]])
    _carried: list[Value] = field(default_factory=list[Value])
    _spans: dict[int, Interval] = field(default_factory=dict[int, Interval])
    _inlined: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    _loops: list[Interval] = field(default_factory=list[Interval])

    def number(self, operations: Sequence[Operation], position: int = 0) -> int:
        """Give each operation its first and last position."""
        for op in operations:
            start = position = position + 1
            for block in _blocks(op):
                position = self.number(block.operations, position + 1)
            position += bool(op.regions)
            self._spans[id(op)] = (start, position)
        return position

    def intervals(self) -> dict[Value, list[Interval]]:
        """The lifetime of each value, at least one step long."""
        return {
            value: [(start, max(start + 1, self.ends.get(value, 0)))]
            for value, start in self.starts.items()
        }

    def named(self) -> dict[Value, tuple[int, str]]:
        """Start and name of the values that loops carry."""
        return {v: (self.starts[v], v.name) for v in self._carried if v.name}

    def block(self, operations: Sequence[Operation]) -> None:
        """Record the lifetimes and wishes of a straight list of operations."""
        for op in operations:
            if is_inlined(op, self.uses):
                self._inlined.update(dict.fromkeys(op.results, op))
            else:
                self._operation(op)

    def _operation(self, op: Operation) -> None:
        start, end = self._spans[id(op)]
        self._read(op.used, start)
        skipped = CARRYING.get(op.name)
        repeats = op.name in LOOPS or _jumps(op)
        if repeats:
            # Bounds may be read again before every iteration.
            self._read(_bounds(op), end)
            self._loops.append((start, end))
        for block in _blocks(op):
            if skipped is not None:
                self._start(block.arguments[skipped:], start)
                self._carried += block.arguments[skipped:]
            self.block(block.operations)
        if repeats:
            self._loops.pop()
        if _jumps(op):
            self._keep_apart(op)
        self._start(op.results, start if op.name in WRITTEN_INSIDE else end)
        self._wish(op)

    def _keep_apart(self, op: Operation) -> None:
        """Between blocks, order in the text says nothing: values share no variable."""
        for block in _blocks(op):
            for value in (v for inner in block.operations for v in inner.results):
                self.starts.pop(value, None)

    def _start(self, values: Sequence[Value], position: int) -> None:
        self.starts.update(dict.fromkeys(values, 2 * position + 1))

    def _read(self, values: Iterable[Value], position: int) -> None:
        for value in values:
            definition = self._inlined.get(value)
            if definition is not None:
                self._read(definition.operands, position)
                continue
            end = 2 * position
            for first, last in self._loops:
                if self.starts.get(value, 0) < 2 * first:
                    end = max(end, 2 * last)
            self.ends[value] = max(end, self.ends.get(value, 0))

    def _wish(self, op: Operation) -> None:
        if op.name in CARRYING:
            block = op.body
            carried = block.arguments[CARRYING[op.name] :]
            inits = op.operands[len(op.operands) - len(carried) :]
            self.wishes += zip(carried, op.results, strict=True)
            self.wishes += zip(carried, block.operations[-1].operands, strict=True)
            self.wishes += zip(carried, inits, strict=True)
        elif op.name in BRANCHES and op.results:
            for block in _blocks(op):
                yielded = block.operations[-1].operands
                self.wishes += zip(op.results, yielded, strict=True)


def _jumps(op: Operation) -> bool:
    """Whether a region has several blocks, between which there are branches."""
    return any(len(region.blocks) > 1 for region in op.regions)


def _bounds(op: Operation) -> tuple[Value, ...]:
    carried = len(op.results) if op.name in CARRYING else 0
    return op.operands[: len(op.operands) - carried]


def _blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        yield from region.blocks
