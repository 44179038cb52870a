"""Elements of buffers as expressions over the operations of a straight block.

The element ``T[place]`` of a local buffer, as an operation at some position reads it,
is the body of the last elementwise operation before it that wrote the buffer, at the
iteration that writes the element. Other elements are leaves: those of arguments, and
sums or maxima along an axis (`Reduced`), whose terms are expressions again
(`Elements.reduction`). Places are affine in the axes of the expression.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from gpucodegen.dialects import arith, linalg
from gpucodegen.dialects.gcg import alias_groups
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.affine import AffineExpr, Const, Dim, substitute
from gpucodegen.ir.attributes import Attribute, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, I32, INDEX, IntegerType, MemRefType, Type
from gpucodegen.records import dataclass

Place = tuple[AffineExpr, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a buffer, or a scalar of the program (whose place is empty)."""

    source: Value
    place: Place


@dataclass(frozen=True, slots=True)
class Reduced:
    """An element of a buffer that the reduction at ``position`` in the block wrote."""

    position: int
    source: Value
    place: Place


@dataclass(frozen=True, slots=True)
class Position:
    """An index of the iteration, as an index or an integer of 32 bits and more."""

    expr: AffineExpr
    type: Type = INDEX


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float
    type: Type


@dataclass(frozen=True, slots=True)
class Scalar:
    """An operation on scalars, without its fastmath flags."""

    name: str
    operands: tuple[Expression, ...]
    type: Type
    attributes: tuple[tuple[str, Attribute], ...] = ()

    @property
    def predicate(self) -> int:
        """The number of a comparison's predicate."""
        found = dict(self.attributes).get("predicate")
        return found.value if isinstance(found, IntegerAttr) else -1


Expression = Element | Reduced | Position | Number | Scalar


class Unknown(Exception):
    """An element that is no expression of this kind; the caller does not rewrite."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """``initial``, combined with the terms along an axis."""

    combiner: str
    term: Expression
    initial: Expression


_OLD = Value(INDEX, "old")


@dataclass(frozen=True, slots=True)
class Buffers:
    """The buffers that are accessed by one name each, and where in a block.

    ``owned``: allocations, and arguments that overlap no other argument.  ``writers``
    and ``readers``, of such buffers: positions of operations in the block that may do
    so.  ``roots``: the buffers of views.
    """

    owned: Collection[Value]
    roots: Mapping[Value, Value]
    writers: Mapping[Value, list[int]]
    readers: Mapping[Value, list[int]]

    @staticmethod
    def of(function: Operation, operations: Sequence[Operation]) -> Buffers:
        groups = zip(function.body.arguments, alias_groups(function), strict=False)
        owned = {v for v, group in groups if group is None}
        roots: dict[Value, Value] = {}
        names: dict[Value, set[Value]] = {}
        for op in function.walk():
            if op.name in ALLOCATIONS:
                owned.add(op.result)
            elif op.name in _VIEWS:
                source = op.operands[0]
                roots[op.result] = roots.get(source, source)
            elif op.name not in HARMLESS:
                for value in op.used:
                    names.setdefault(roots.get(value, value), set()).add(value)
        single = {v for root, (v, *more) in names.items() if root in owned and not more}
        writers: dict[Value, list[int]] = {v: [] for v in single}
        readers: dict[Value, list[int]] = {v: [] for v in single}
        for position, op in enumerate(operations):
            if op.name in HARMLESS or op.name in _VIEWS or op.name in ALLOCATIONS:
                continue
            written = _outputs(op)
            for value in {v for inner in op.walk() for v in inner.used} & single:
                if written is None or value in written:
                    writers[value].append(position)
                if written is None or _reads(op, value):
                    readers[value].append(position)
        return Buffers(owned, roots, writers, readers)

    def root(self, value: Value) -> Value:
        return self.roots.get(value, value)


_VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        *("cast", "collapse_shape", "expand_shape", "memory_space_cast"),
        *("reinterpret_cast", "reshape", "subview", "transpose"),
    )
)
HARMLESS = frozenset({"memref.dealloc", "memref.dim"})


def _outputs(op: Operation) -> tuple[Value, ...] | None:
    return linalg.Structured(op).outputs if is_structured(op) else None


def _reads(op: Operation, value: Value) -> bool:
    generic = linalg.Structured(op)
    if value in generic.inputs:
        return True
    old = generic.body.arguments[-1]
    return any(old in inner.used for inner in generic.body.operations)


@dataclass(slots=True)
class Elements:
    """The operations of a block; ``numbers``: operations that make constants.

    ``first``: the position of the first operation of which an expression was made.
    """

    operations: Sequence[Operation]
    numbers: Mapping[Value, Operation]
    buffers: Buffers
    first: int
    _bodies: dict[tuple[int, Place], Expression] = field(
        default_factory=dict[tuple[int, "Place"], "Expression"]
    )

    def element(self, source: Value, before: int, place: Place) -> Expression:
        """The element as the operation at ``before`` reads it."""
        if not isinstance(source.type, MemRefType):
            return self._scalar(source)
        written = [at for at in self.buffers.writers.get(source, ()) if at < before]
        if not written:
            return Element(source, place)
        at = written[-1]
        if not is_structured(self.operations[at]):
            return Element(source, place)
        generic = linalg.Structured(self.operations[at])
        if "reduction" in generic.iterator_types:
            return Reduced(at, source, place)
        self.first = min(self.first, at)
        key = at, place
        if key not in self._bodies:
            loops = loops_of(generic, place)
            self._bodies[key] = self._result(at, loops, self._old(at, place))
        return self._bodies[key]

    def _old(self, at: int, place: Place) -> Expression | None:
        """The element before an operation that reads what it overwrites."""
        generic = linalg.Structured(self.operations[at])
        *_, old = generic.body.arguments
        used = {v for op in generic.body.operations for v in op.used}
        return self.element(generic.outputs[0], at, place) if old in used else None

    def reduction(
        self, found: Reduced, along: AffineExpr, *, opaque: bool = False
    ) -> Reduction:
        """The reduction of an element, whose terms lie ``along`` the reduced axis.

        ``opaque``: what the reduction reads is not followed further.
        """
        at = found.position
        generic = linalg.Structured(self.operations[at])
        if generic.iterator_types.count("reduction") != 1:
            raise Unknown
        loops = loops_of(generic, found.place, along)
        made = self._result(at, loops, Element(_OLD, ()), opaque=opaque)
        if not isinstance(made, Scalar) or len(made.operands) != 2:
            raise Unknown
        terms = [x for x in made.operands if x != Element(_OLD, ())]
        if len(terms) != 1:
            raise Unknown
        self.first = min(self.first, at)
        initial = self.element(found.source, at, found.place)
        return Reduction(made.name, terms[0], initial)

    def _result(
        self,
        at: int,
        loops: Sequence[AffineExpr],
        old: Expression | None,
        *,
        opaque: bool = False,
    ) -> Expression:
        """The value that an iteration of a structured operation yields."""
        generic = linalg.Structured(self.operations[at])
        known: dict[Value, Expression] = {}
        pairs = zip(generic.body.arguments, generic.inputs, strict=False)
        for (argument, source), map_ in zip(pairs, generic.indexing_maps, strict=False):
            place = tuple(substitute(r, loops) for r in map_.results)
            is_leaf = opaque and isinstance(source.type, MemRefType)
            known[argument] = (
                Element(source, place) if is_leaf else self.element(source, at, place)
            )
        if old is not None:
            known[generic.body.arguments[-1]] = old
        *body, last = generic.body.operations
        for op in body:
            known[op.result] = self._scalar_operation(op, known, loops)
        return known.get(last.operands[0]) or self._scalar(last.operands[0])

    def _scalar_operation(
        self,
        op: Operation,
        known: Mapping[Value, Expression],
        loops: Sequence[AffineExpr],
    ) -> Expression:
        if op.name == "linalg.index":
            return Position(loops[op.integer("dim")])
        number = arith.constant_value(op)
        if number is not None:
            return Number(number, op.result.type)
        if op.regions or len(op.results) != 1 or op.dialect not in ("arith", "math"):
            raise Unknown
        operands = tuple(known.get(v) or self._scalar(v) for v in op.operands)
        attributes = tuple(
            sorted((k, v) for k, v in op.attributes.items() if k not in _FLAGS)
        )
        return simplified(Scalar(op.name, operands, op.result.type, attributes))

    def _scalar(self, value: Value) -> Expression:
        made = self.numbers.get(value)
        number = arith.constant_value(made) if made else None
        return Element(value, ()) if number is None else Number(number, value.type)


_FLAGS = frozenset({"fastmath", "overflowFlags"})


def is_structured(op: Operation) -> bool:
    return op.name == "linalg.generic" and len(linalg.Structured(op).outputs) == 1


def loops_of(
    generic: linalg.Structured, place: Place, along: AffineExpr | None = None
) -> list[AffineExpr]:
    """The iteration that writes the element at a place; ``along``: the reduced axis."""
    kinds = generic.iterator_types
    loops: list[AffineExpr | None] = [
        along if kind == "reduction" else None for kind in kinds
    ]
    for result, where in zip(generic.indexing_maps[-1].results, place, strict=True):
        if isinstance(result, Dim):
            loops[result.position] = where
        elif not isinstance(result, Const):
            raise Unknown
    found = [loop for loop in loops if loop is not None]
    if len(found) != len(loops):
        raise Unknown
    return found


def simplified(x: Scalar) -> Expression:
    """The same value with fewer operations.

    Sums of positions are exact if their values fit their type, which the caller checks.
    """
    match x:
        case Scalar("arith.index_cast" | "arith.trunci", (Position(expr),)) if (
            not isinstance(x.type, IntegerType) or x.type.width >= I32.width
        ):
            return Position(expr, x.type)
        case Scalar("arith.addi", (Position(expr), Number(value))):
            return Position(expr + int(value), x.type)
        case Scalar("arith.addi", (Number(value), Position(expr))):
            return Position(expr + int(value), x.type)
        case Scalar("arith.addi", (Position(expr), Position(other))):
            return Position(expr + other, x.type)
        case Scalar("arith.subi", (Position(expr), Position(other))):
            return Position(expr - other, x.type)
        case Scalar("arith.subi", (Position(expr), Number(value))):
            return Position(expr - int(value), x.type)
        case Scalar("arith.andi", (Number(value), other)) if x.type == I1:
            return other if value else Number(0, I1)
        case Scalar("arith.andi", (other, Number(value))) if x.type == I1:
            return other if value else Number(0, I1)
        case Scalar("arith.select", (Number(value), first, second)):
            return first if value else second
        case Scalar("arith.select", (condition, Number(one), Number(zero))) if (
            x.type == I1 and one and not zero
        ):
            return condition
        case Scalar("arith.maximumf" | "arith.maxnumf", (Number(value), other)) if (
            value == float("-inf")
        ):
            return other
        case _:
            return x
