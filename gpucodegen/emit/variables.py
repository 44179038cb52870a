"""Allocates Python variables to values, and merges common offsets and prefetches.

A loop-carried value should read ``acc = f(acc)``: the initial value, the carried value,
the yielded value and the result share one variable where their lifetimes allow it.
Lifetimes are intervals over the operations in textual order: operation ``p`` reads at
``2p`` and writes at ``2p + 1``. A value used inside a loop that it is defined outside
of lives to the end of that loop. Two groups of values may share a variable iff no two
of their intervals overlap.

Sums that several offsets have in common get a variable at their first occurrence. The
accesses of a stencil differ by constants::

    A[i * 80 + j * 9 - t + 1], A[i * 80 + j * 9 - t - 1]
    =>  _at = i * 80 + j * 9 - t
        A[_at + 1], A[_at - 1]

LLVM finds such sums itself, but Numba's time grows with every operator of the text.

Prefetches of neighbours in one buffer become one statement, since a tile fetches dozens
of cache lines and Numba's time grows with every call::

    affine.prefetch %C[%i, %j + 24], write, ...
    affine.prefetch %C[%i, %j + 32], write, ...
    affine.prefetch %C[%i, %j + 39], write, ...
    =>  prefetch_write3(C, i * 900 + j + 24, (0, 8, 15))
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace

from gpucodegen.dialects import affine
from gpucodegen.emit.expressions import Precedence, Text, binary, call, number
from gpucodegen.emit.source import SourceWriter
from gpucodegen.ir.affine import AffineExpr, Binary, linear_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.records import dataclass

LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for", "scf.while"})
WRITTEN_INSIDE = frozenset({"affine.parallel", "scf.while"})
"""Loops that write their results in every iteration."""
CARRYING = {"affine.for": 1, "scf.for": 1}
"""Loops with carried values, and their number of leading block arguments."""
BRANCHES = frozenset({"affine.if", "scf.if", "scf.index_switch"})
VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        "cast dim subview reinterpret_cast collapse_shape expand_shape transpose "
        "memory_space_cast assume_alignment"
    ).split()
)
"""Operations that compute no value at run time but another view of a buffer."""


def uses_of(operations: Iterable[Operation]) -> dict[Value, int]:
    """Number of uses of each value, in nested operations too."""
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
    """Whether a map is ``c``, ``d0 * c`` or ``d0 + c``: shorter than a name."""
    (expr,) = affine.map_of(op).results
    terms, constant = linear_form(expr)
    whole = not any(isinstance(term, Binary) for term in terms)
    shifted = list(terms.values()) == [1]
    scaled = len(terms) == 1 and not constant
    return whole and (not terms or shifted or scaled)


Interval = tuple[int, int]


@dataclass(slots=True)
class VariableAllocator:
    """Union-find of values that share a variable; every value starts alone."""

    _intervals: dict[Value, list[Interval]] = field(
        default_factory=dict[Value, list[Interval]]
    )
    _leader: dict[Value, Value] = field(default_factory=dict[Value, Value])
    _named: dict[Value, tuple[int, str]] = field(
        default_factory=dict[Value, tuple[int, str]]
    )

    @staticmethod
    def of(operations: Sequence[Operation]) -> VariableAllocator:
        lifetimes = _Lifetimes(uses_of(operations))
        lifetimes.number(operations)
        lifetimes.block(operations)
        sharing = VariableAllocator(lifetimes.intervals(), _named=lifetimes.named())
        for first, second in lifetimes.wishes:
            sharing._merge(first, second)
        return sharing

    def leader(self, value: Value) -> Value:
        """The representative of the value's group."""
        while value in self._leader:
            value = self._leader[value]
        return value

    def hint(self, value: Value) -> str:
        """The group's name hint: its outermost carried value's, or its own."""
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
    """Computes live intervals and the values that should share a variable."""

    uses: Mapping[Value, int]
    starts: dict[Value, int] = field(default_factory=dict[Value, int])
    ends: dict[Value, int] = field(default_factory=dict[Value, int])
    wishes: list[tuple[Value, Value]] = field(default_factory=list[tuple[Value, Value]])
    _carried: list[Value] = field(default_factory=list[Value])
    _spans: dict[int, Interval] = field(default_factory=dict[int, Interval])
    _inlined: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    _loops: list[Interval] = field(default_factory=list[Interval])

    def number(self, operations: Sequence[Operation], position: int = 0) -> int:
        """Number each operation's first and last position."""
        for op in operations:
            start = position = position + 1
            for block in op.blocks:
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
        """Record the lifetimes and sharing wishes of a list of operations."""
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
        for block in op.blocks:
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
        """Between blocks textual order is no execution order: share no variable."""
        for block in op.blocks:
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
            for block in op.blocks:
                yielded = block.operations[-1].operands
                self.wishes += zip(op.results, yielded, strict=True)


def _jumps(op: Operation) -> bool:
    """Whether a region has several blocks with branches between them."""
    return any(len(region.blocks) > 1 for region in op.regions)


def _bounds(op: Operation) -> tuple[Value, ...]:
    carried = len(op.results) if op.name in CARRYING else 0
    return op.operands[: len(op.operands) - carried]


LEAST = 3
"""Number of operators from which a common sum gets a variable."""

Terms = frozenset[tuple[AffineExpr, int]]


@dataclass(slots=True)
class _Sum:
    """A sum: the line of its first occurrence, its text there, and its variable."""

    line: int
    depth: int
    text: Text
    name: str = ""


@dataclass(slots=True)
class Offsets:
    """Common sums of the open blocks of one function.

    Their variables begin with an underscore, unlike other names in generated source.
    """

    writer: SourceWriter
    _scopes: list[dict[Terms, _Sum]] = field(
        default_factory=lambda: [dict[Terms, _Sum]()]
    )
    _count: int = 0

    @contextmanager
    def scope(self) -> Generator[None]:
        """A block, whose variables may be undefined after it."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    def text(
        self, expr: AffineExpr, printed: Callable[[AffineExpr], Text]
    ) -> Text | None:
        """The offset as a variable plus a constant; None if it is printed in full.

        Call it only for expressions that the next line of the writer holds.
        """
        terms, constant = linear_form(expr)
        if _operators(terms.values()) < LEAST:
            return None
        key = frozenset(terms.items())
        known = next((s[key] for s in self._scopes if key in s), None)
        if known is None:
            whole = printed(expr - constant)
            line, depth = len(self.writer.lines), self.writer.depth
            self._scopes[-1][key] = _Sum(line, depth, whole)
            return None
        if not known.name:
            if known.line == len(self.writer.lines):  # twice in the line to come
                return None
            self._define(known)
        operator = "-" if constant < 0 else "+"
        name = Text(known.name)
        rest = number(abs(constant))
        return binary(name, operator, rest, Precedence.SUM) if constant else name

    def _define(self, known: _Sum) -> None:
        """Define the variable before the line of the sum's first occurrence."""
        known.name = f"_at{self._count or ''}"
        self._count += 1
        lines = self.writer.lines
        first = lines[known.line]
        if not first.endswith(":"):
            lines[known.line] = first.replace(known.text.code, known.name, 1)
        self.writer.insert(known.line, known.depth, f"{known.name} = {known.text}")
        for other in (each for scope in self._scopes for each in scope.values()):
            other.line += other is not known and other.line >= known.line


def _operators(factors: Iterable[int]) -> int:
    """Number of operators in the text of a sum with these factors."""
    found = list(factors)
    return len(found) - 1 + sum(abs(factor) != 1 for factor in found)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A prefetch statement on the writer's last line; ``distances`` from ``first``."""

    function: str
    pointer: str
    first: AffineExpr
    end: tuple[int, int]
    """Number of lines after it, and its depth."""
    distances: tuple[int, ...] = (0,)

    def reach(self, other: _Statement) -> int | None:
        """Distance at which another prefetch starts; None if they cannot be merged."""
        terms, start = linear_form(self.first)
        others, place = linear_form(other.first)
        is_next = (self.function, self.pointer, self.end) == (
            other.function,
            other.pointer,
            other.end,
        )
        return place - start if is_next and terms == others else None


@dataclass(slots=True)
class Prefetches:
    """The prefetches of one function."""

    writer: SourceWriter
    _last: _Statement | None = None

    def add(
        self,
        function: str,
        pointer: str,
        place: AffineExpr,
        printed: Callable[[AffineExpr], Text],
    ) -> None:
        """Print a prefetch, merged with the last line if possible.

        ``printed`` gives the text of the element for a separate line.
        """
        new, last = _Statement(function, pointer, place, self._end), self._last
        distance = None if last is None else last.reach(new)
        if last is None or distance is None:
            self.writer.line(str(call(function, pointer, printed(place), "(0,)")))
            self._last = replace(new, end=self._end)
            return
        distances = (*last.distances, distance)
        self.writer.lines[-1] = self.writer.lines[-1].replace(
            f", {last.distances})", f", {distances})", 1
        )
        self._last = replace(last, distances=distances)

    @property
    def _end(self) -> tuple[int, int]:
        return len(self.writer.lines), self.writer.depth
