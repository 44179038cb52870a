"""Operands of contractions, their iteration domains and loops over their axes.

`Operand` is an array element per iteration, or a value computed from elements.
`domain_of` gives a perfect nest of ``affine.for``, whose bounds may depend on outer
loops, as normalised axes of its smallest enclosing box and affine guards that are >= 0
exactly at the iterations:

    { x in box : guard(x) >= 0 for all guards }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap, Dim, linear_form
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, from_map, replace_values
from gpucodegen.passes.framework.nests import Axis, inner_operations
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Operand:
    """An array and its index expressions over the axes' normalised positions.

    ``steps``: scalar operations, the last of which gives the value, with the places of
    the loads among them; empty if the value is the element itself.  The array is then
    one that depends on every axis that the value depends on.  ``location``: the access
    in the program.
    """

    memref: Value
    indices: tuple[Index, ...]
    steps: tuple[tuple[Operation, Operand | None], ...] = ()
    location: Location = field(default=UNKNOWN, compare=False)

    def coefficient(self, dimension: int, axis: Axis) -> int:
        return coefficients(self.indices[dimension]).get(axis.iv, 0)

    def mentions(self, axis: Axis) -> bool:
        return any(axis.iv in index.values for index in self.indices)

    def dimensions_of(self, axis: Axis) -> list[int]:
        """Dimensions whose index depends on the axis."""
        return [d for d, index in enumerate(self.indices) if axis.iv in index.values]

    def is_strided(self, axes: Iterable[Axis]) -> bool:
        """Whether some axis moves the place by several elements of a dimension."""
        every = [(d, axis) for axis in axes for d in self.dimensions_of(axis)]
        return any(self.coefficient(d, axis) != 1 for d, axis in every)

    def at(self, positions: Mapping[Value, Index]) -> list[Index]:
        """Index expressions with positions put in for the axes."""
        return [replace_values(index, dict(positions)) for index in self.indices]

    @property
    def accesses(self) -> tuple[Operand, ...]:
        """All elements from which the value is computed."""
        return tuple(place for _, place in self.steps if place) or (self,)

    def multiplied(self, scale: Value, multiply: str) -> Operand:
        """``scale`` times the value."""
        return self._then(multiply, scale)

    def negated(self) -> Operand:
        return self._then("arith.negf")

    def converted(self, operation: str, ty: Type) -> Operand:
        """The value in another type."""
        return self._then(operation, ty=ty)

    @property
    def element(self) -> Operand:
        """The element itself, without the scalar operations."""
        return Operand(self.memref, self.indices)

    @property
    def is_of_one(self) -> bool:
        """Whether the value depends on no other element."""
        return set(self.accesses) == {self.element}

    def seen(self, element: Operand) -> Operand:
        """The value with its element as one of another array."""
        steps = tuple((op, place and element) for op, place in self.steps)
        return Operand(element.memref, element.indices, steps)

    def _then(self, operation: str, *others: Value, ty: Type | None = None) -> Operand:
        """The operand with another operation on its value."""
        steps = self.steps
        if not steps:
            element = Value(element_type(self.memref.type), self.memref.name)
            load = Operation("affine.load", (self.memref,), (element,))
            steps = ((load, self.element),)
        last = steps[-1][0].result
        made = Operation(operation, (*others, last), (last.renewed(ty),))
        return replace(self, steps=(*steps, (made, None)))

    def value(self, b: Builder, at: Mapping[Value, Index], hint: str = "") -> Value:
        made: dict[Value, Value] = {}
        for op, place in self.steps:
            if place is None:
                b.operations.append(clone(op, made))
            else:
                made[op.result] = place.value(b, at, hint)
        if not self.steps:
            where = b.location if self.location is UNKNOWN else self.location
            here = Builder(where, b.operations)
            return here.load(self.memref, self.at(at), hint)
        return made[self.steps[-1][0].result]


def buffer_of(b: Builder, axes: Sequence[Axis], element: Type, hint: str) -> Operand:
    """A new buffer that has a dimension for each axis, and its element for them."""
    ty = MemRefType(tuple(axis.extent for axis in axes), element)
    buffer = b.allocate("memref.alloc", ty, hint)
    return Operand(buffer, tuple(Index.of(axis.iv) for axis in axes))


def coefficients(index: Index) -> dict[Value, int]:
    """Coefficient per value of a linear index; quasi-affine terms have none."""
    terms, _ = linear_form(index.expr)
    return {index.values[t.position]: c for t, c in terms.items() if isinstance(t, Dim)}


def is_linear(index: Index) -> bool:
    """Whether an index has no quotient and no remainder."""
    return all(isinstance(t, Dim) for t in linear_form(index.expr)[0])


def access(op: Operation, axes: Sequence[Axis]) -> Operand:
    """The operand of an ``affine.load`` or ``store``, over normalised positions."""
    attribute = op.attributes["map"]
    assert isinstance(attribute, AffineMapAttr)
    memref = 0 if op.results else 1
    indices = from_map(attribute.map, op.operands[memref + 1 :])
    positions = {axis.iv: axis.at(axis.iv) for axis in axes}
    return Operand(
        op.operands[memref],
        tuple(replace_values(index, positions) for index in indices),
        location=op.location,
    )


@dataclass(frozen=True, slots=True)
class Domain:
    """The box and the guards of a nest, outermost axis first, and its body."""

    axes: tuple[Axis, ...]
    guards: tuple[Index, ...]
    body: tuple[Operation, ...]


def interval(index: Index, axes: Sequence[Axis]) -> tuple[int, int] | None:
    """Least and largest value over the box; None if it depends on anything else.

    >>> from gpucodegen.ir.types import INDEX
    >>> from gpucodegen.ir.operation import Operation
    >>> i = Axis(Value(INDEX, "i"), 8, 0, 1, Operation("affine.for"))
    >>> interval(Index.of(i.iv) * -2 + 1, [i])
    (-13, 1)
    """
    last = {axis.iv: axis.extent - 1 for axis in axes if axis.count is None}
    if not is_linear(index) or not last.keys() >= set(index.values):
        return None
    _, constant = linear_form(index.expr)
    ends = [factor * last[value] for value, factor in coefficients(index).items()]
    low, high = (sum(choose(0, end) for end in ends) for choose in (min, max))
    return constant + low, constant + high


def domain_of(op: Operation, *, parametric: bool = False) -> Domain | None:
    """The domain of the perfect nest rooted at a loop, if its bounds are affine.

    ``parametric``: extents may be dynamic.
    """
    axes: list[Axis] = []
    guards: list[Index] = []
    while True:
        found = bounded(op, axes) or (_counted(op, axes) if parametric else None)
        if found is None:
            return None
        axis, cuts = found
        axes.append(axis)
        guards += cuts
        inner = inner_operations(op)
        if len(inner) == 1 and inner[0].name == "affine.for":
            op = inner[0]
            continue
        is_straight = not any(o.regions for o in inner)
        return Domain(tuple(axes), tuple(guards), inner) if is_straight else None


def bounded(op: Operation, outer: Sequence[Axis]) -> tuple[Axis, list[Index]] | None:
    """The axis of a loop, and its guards where bounds depend on ``outer``.

    None for a loop that never runs.
    """
    if op.name != "affine.for" or op.results:
        return None
    loop = affine.For(op)
    lowers = _over(loop.lower_map, loop.lower_operands, outer)
    uppers = _over(loop.upper_map, loop.upper_operands, outer)
    low = [interval(bound, outer) for bound in lowers]
    high = [interval(bound, outer) for bound in uppers]
    if None in low or None in high:
        return None
    first = max(b[0] for b in low if b)
    end = min(b[1] for b in high if b)
    moving = [bound for bound in (*lowers, *uppers) if bound.constant is None]
    if moving and loop.step != 1:
        return None
    if end <= first:
        return None
    axis = Axis(loop.iv, -(-(end - first) // loop.step), first, loop.step, op)
    here = axis.at(axis.iv)
    cuts = [here - bound for bound in lowers if bound.constant is None]
    cuts += [bound - here - 1 for bound in uppers if bound.constant is None]
    return axis, cuts


def _counted(op: Operation, outer: Sequence[Axis]) -> tuple[Axis, list[Index]] | None:
    """The axis of a loop from a constant to one end that no outer loop moves."""
    if op.name != "affine.for" or op.results:
        return None
    loop = affine.For(op)
    lowers = _over(loop.lower_map, loop.lower_operands, outer)
    uppers = _over(loop.upper_map, loop.upper_operands, outer)
    first = lowers[0].constant
    if len(lowers) > 1 or len(uppers) > 1 or first is None:
        return None
    (end,) = uppers
    if end.constant is not None or any(axis.iv in end.values for axis in outer):
        return None
    count = (end - first).ceildiv(loop.step) if loop.step > 1 else end - first
    return Axis(loop.iv, 0, first, loop.step, op, count), []


def _over(
    map_: AffineMap, operands: Sequence[Value], outer: Sequence[Axis]
) -> list[Index]:
    """The bounds over the normalised positions of the outer loops."""
    positions = {axis.iv: axis.at(axis.iv) for axis in outer}
    return [replace_values(bound, positions) for bound in from_map(map_, operands)]


Positions = dict[Value, Index]
"""The position of each axis, by its loop variable."""


@dataclass(frozen=True, slots=True)
class Range:
    """Part of an axis: from ``lower`` to the smallest of ``uppers``, by ``stride``.

    ``skipped``: positions omitted at its start, if positive.
    """

    axis: Axis
    lower: Index | Value | int
    uppers: Sequence[Index | int]
    stride: int = 1
    skipped: Index = ZERO

    @staticmethod
    def whole(axis: Axis) -> Range:
        """The axis from end to end."""
        return Range(axis, 0, [axis.extent])

    def inside(self, at: Positions) -> Index:
        """Position of the axis, counted from the start of the range."""
        return at[self.axis.iv] - self.lower

    @property
    def lowers(self) -> list[Index]:
        """The lower bounds, whose maximum is the start."""
        first = Index.of(self.lower)
        return [first] if self.skipped == ZERO else [first, first + self.skipped]


def parts_of(position: Index, axes: Sequence[Axis]) -> Positions:
    """The positions of axes that are joined to one, the slowest first."""
    found: Positions = {}
    inside = 1
    for axis in reversed(axes):
        place = position // inside
        found[axis.iv] = place if axis is axes[0] else place % axis.extent
        inside *= axis.extent
    return found


def nested(
    b: Builder,
    ranges: Sequence[Range],
    at: Positions,
    body: Callable[[Builder, Positions], None],
) -> None:
    """Sequential loops over ranges, outermost first."""
    if not ranges:
        body(b, at)
        return
    first, *rest = ranges
    b.loop(
        first.lowers,
        list(first.uppers),
        lambda i, iv: nested(i, rest, at | {first.axis.iv: Index.of(iv)}, body),
        step=first.stride,
        hint=first.axis.name,
    )


Piece = Callable[[Builder, Positions, int], None]
"""Builds a piece of a range from its position and length."""


def in_pieces(b: Builder, part: Range, size: int, at: Positions, piece: Piece) -> None:
    """Pieces of a range, ``size`` long, and the remainder at the axis' end.

    The range begins at a multiple of the size, and ends at one, or with the axis.
    """
    axis, rest = part.axis, part.axis.extent % size
    whole, uppers = axis.extent - rest, [Index.of(upper) for upper in part.uppers]
    if whole:
        ends = [whole if upper.constant == axis.extent else upper for upper in uppers]
        full = replace(part, uppers=ends, stride=size)
        nested(b, [full], at, lambda i, here: piece(i, here, size))
    if rest:
        to_the_end = [upper - axis.extent for upper in uppers]
        end = at | {axis.iv: Index.of(whole)}
        b.guard(to_the_end, lambda i: piece(i, end, rest))


def grid(
    b: Builder,
    extents: Sequence[int],
    body: Callable[[Builder, Sequence[Value]], None],
    hints: Sequence[str],
    *,
    parallel: bool,
) -> None:
    """``body`` for every point of a box: in parallel, or in order."""

    def ordered(inner: Builder, ivs: tuple[Value, ...]) -> None:
        if len(ivs) == len(extents):
            body(inner, ivs)
            return
        extent, hint = extents[len(ivs)], hints[len(ivs)]
        inner.loop(0, extent, lambda i, iv: ordered(i, (*ivs, iv)), hint=hint)

    if parallel and extents:
        b.parallel(extents, body, hints)
    else:
        ordered(b, ())


Values = Sequence[Value]
Step = Callable[[Builder, Positions, Values], Values]
"""Adds one step of the reduction to an accumulator."""


def carried(
    b: Builder,
    ranges: Sequence[Range],
    at: Positions,
    values: Values,
    step: Step,
) -> Values:
    """Loops over the reduction ranges that carry the accumulators."""
    if not ranges:
        return step(b, at, values)
    first, *rest = ranges

    def body(inner: Builder, iv: Value, now: Values) -> Values:
        here = at | {first.axis.iv: Index.of(iv)}
        return carried(inner, rest, here, now, step)

    bounds = (first.lower, list(first.uppers))
    return b.carried_loop(
        *bounds, values, body, step=first.stride, hint=first.axis.name
    )
