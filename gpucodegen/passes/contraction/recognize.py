"""Contraction recognition: find sums of products in affine nests.

A perfect nest is a contraction when its body is ``C[..] = C[..] + f(A[..]) * g(B[..])``
with scalar functions f and g, every loop of C appears alone in one index of C, and its
loops are row, column, batch or reduction axes.  Bounds of the loops of C may depend on
each other: then C is a triangle or a band.  Profitability is decided per target
(`paying_contraction`).

f and g are scalar operations on elements and values from outside, such as
``alpha * A[i, k]`` or a conversion to a wider type; the arithmetic keeps the program's
types.  The product may be scaled by an outside value, ``alpha * (A[i, k] * B[k, j])``.
A subtracted product has a negated operand, which rounds to the same value:

    c - a b = c + (-a) b

`Pointwise` applies scalar operations to whole tiles in registers.  A value has only the
tile axes that it depends on: a bias along the columns is one row, loaded once per tile
and broadcast where needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache

from gpucodegen.dialects import affine
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.gcg import Parts
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.locations import Location
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import (
    INDEX,
    FloatType,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.passes.analysis.lifting.reductions import is_reassociable
from gpucodegen.passes.contraction.operands import (
    Domain,
    Operand,
    Positions,
    access,
    domain_of,
    interval,
    is_linear,
)
from gpucodegen.passes.contraction.windows import Image
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.contraction import Moves, roles_of
from gpucodegen.tiling.proof.dependences import Dependence

Extents = Mapping[Axis, int]
"""Cells of a tile along the axes that it spans."""
Step = tuple[Operation, Operand | None]
"""An operation; for a load or store, its place over the axes of the result."""
Span = tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """The cells from ``at`` on."""

    at: Positions
    extents: Extents

    def type(self, element: Type, span: Span) -> Type:
        """The type of a value with some of the axes."""
        shape = tuple(self.extents[axis] for axis in span)
        return VectorType(shape, element) if span else element

    def spanned(self, place: Operand) -> Span:
        """The axes that move a place."""
        return tuple(axis for axis in self.extents if place.mentions(axis))

    def read(self, b: Builder, place: Operand, hint: str = "") -> Value:
        """The elements at a place, with the axes that move it."""
        span, indices = self.spanned(place), place.at(self.at)
        ty = self.type(element_type(place.memref.type), span)
        if not isinstance(ty, VectorType):
            return b.load(place.memref, indices, hint)
        dimensions = [place.dimensions_of(axis)[0] for axis in span]
        if dimensions == [len(indices) - 1]:
            return b.vector_load(place.memref, indices, ty, hint)
        return b.transfer_read(place.memref, indices, ty, dimensions, hint=hint)

    def write(self, b: Builder, place: Operand, value: Value) -> None:
        """Store a value that has all axes of the tile.

        Elements of a strided place are stored one by one; its tiles have one axis.
        """
        indices = place.at(self.at)
        if not self.extents:
            b.store(value, place.memref, indices)
            return
        if place.is_strided(self.extents):
            ((axis, count),) = self.extents.items()
            for n in range(count):
                at = self.at | {axis.iv: self.at[axis.iv] + n}
                b.store(b.element(value, n), place.memref, place.at(at))
            return
        dimensions = [place.dimensions_of(axis)[0] for axis in self.extents]
        if dimensions == [len(indices) - 1]:
            b.vector_store(value, place.memref, indices)
            return
        b.transfer_write(value, place.memref, indices, dimensions)


@dataclass(frozen=True, slots=True)
class Pointwise:
    """Operations on one cell; the values at the places ``stored`` are kept.

    ``sums``: the place that holds the finished sums when the operations start. Their
    value is given in registers, so this place need not exist in memory.  A step that
    `is_position` takes the variable of an axis.
    """

    steps: tuple[Step, ...]
    stored: tuple[Operand, ...]
    sums: Operand | None = None

    @property
    def places(self) -> tuple[Operand, ...]:
        """All places that the operations access, in memory or in registers."""
        accessed = (place for _, place in self.steps if place)
        return (*accessed, *self.stored, *((self.sums,) if self.sums else ()))

    @property
    def positions(self) -> frozenset[Value]:
        """The variables of axes that the operations compute with."""
        return frozenset(op.operands[0] for op, _ in self.steps if is_position(op))

    def moved(self, to: Callable[[Operand], Operand]) -> Pointwise:
        """The same operations at other places."""
        steps = ((op, place and to(place)) for op, place in self.steps)
        return replace(
            self,
            steps=tuple(steps),
            stored=tuple(map(to, self.stored)),
            sums=self.sums and to(self.sums),
        )

    def value(self, b: Builder, tile: Tile, place: Operand) -> Value:
        """The value at a place after the operations."""
        cells = _Cells(b, tile)
        cells.run(self.steps)
        return cells.whole(cells.held[place], "acc")

    def store(self, b: Builder, tile: Tile, value: Value) -> None:
        """Run the operations on the sums ``value``, and store the kept values."""
        kept = self.kept(b, tile, value)
        for target, result in zip(self.stored, kept, strict=True):
            tile.write(b, target, result)

    def kept(self, b: Builder, tile: Tile, value: Value) -> tuple[Value, ...]:
        """The values at the places ``stored`` after a run on the sums ``value``."""
        assert self.sums is not None
        cells = _Cells(b, tile, {self.sums: value}, spans={value: tuple(tile.extents)})
        cells.run(self.steps)
        return tuple(cells.whole(cells.held[target]) for target in self.stored)


def is_position(op: Operation) -> bool:
    """Whether an operation converts a loop variable to an integer."""
    return op.name == "arith.index_cast" and op.operands[0].type == INDEX


def computed(b: Builder, tile: Tile, steps: Sequence[Step]) -> Value:
    """The value of the last of some operations at every cell of a tile."""
    cells = _Cells(b, tile)
    cells.run(steps)
    return cells.whole(cells.values[steps[-1][0].result])


@dataclass(slots=True)
class _Cells:
    """The values at the cells of a tile while operations on them are built.

    ``held``: the known values of places.  ``spans``: the axes of a built value.
    """

    b: Builder
    tile: Tile
    held: dict[Operand, Value] = field(default_factory=dict[Operand, Value])
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    spans: dict[Value, Span] = field(default_factory=dict[Value, Span])

    def run(self, steps: Sequence[Step]) -> None:
        for op, place in steps:
            if place is None:
                self._compute(op)
            elif op.results:
                self.values[op.result] = self._read(place, op.result.name)
            else:
                (stored, *_) = op.operands
                self.held[place] = self.values.get(stored, stored)

    def _compute(self, op: Operation) -> None:
        if op.operands and op.operands[0] in self.tile.at:
            self._compute_position(op)
            return
        operands = [self.values.get(value, value) for value in op.operands]
        spanned = {axis for value in operands for axis in self.spans.get(value, ())}
        span = tuple(axis for axis in self.tile.extents if axis in spanned)
        is_choice = op.name == "arith.select" and not self.spans.get(operands[0])
        uniform = operands[: int(is_choice)]
        spread = [*uniform, *(self._spread(v, span) for v in operands[len(uniform) :])]
        copy = clone(op)
        results = tuple(v.renewed(self.tile.type(v.type, span)) for v in copy.results)
        made = copy.with_(operands=tuple(spread), results=results)
        self.b.operations.append(made)
        self.values.update(zip(op.results, results, strict=True))
        self.spans.update(dict.fromkeys(results, span))

    def _compute_position(self, op: Operation) -> None:
        """The positions of the cells along an axis."""
        b, (iv,) = self.b, op.operands
        span = tuple(axis for axis in self.tile.extents if axis.iv is iv)
        count = self.tile.extents[span[0]] if span else 1
        each = [
            b.value(op.name, (b.index(self.tile.at[iv] + n),), op.result.type)
            for n in range(count)
        ]
        made = b.from_elements(each, op.result.name) if span else each[0]
        self.values[op.result], self.spans[made] = made, span

    def _read(self, place: Operand, hint: str) -> Value:
        if place not in self.held:
            value = self.tile.read(self.b, place, hint)
            self.held[place] = value
            self.spans[value] = self.tile.spanned(place)
        return self.held[place]

    def whole(self, value: Value, hint: str = "") -> Value:
        return self._spread(value, tuple(self.tile.extents), hint)

    def _spread(self, value: Value, span: Span, hint: str = "") -> Value:
        """The value with the axes ``span``, which include its own."""
        own = self.spans.get(value, ())
        if own == span:
            return value
        element = element_type(value.type)
        if own and own[-1] is not span[-1]:
            ty = VectorType((self.tile.extents[own[0]], 1), element)
            (value,) = self.b.add("vector.shape_cast", (value,), [ty], hint=value.name)
        ty = self.tile.type(element, span)
        assert isinstance(ty, VectorType)
        spread = self.b.broadcast(value, ty, hint or value.name)
        self.spans[spread] = span
        return spread


MULTIPLY = {
    "arith.addf": "arith.mulf",
    "arith.addi": "arith.muli",
    "arith.subf": "arith.mulf",
}
"""The multiplication that each accumulating operation adds or subtracts."""
SUBTRACT = "arith.subf"


@dataclass(frozen=True, slots=True)
class MultiplyAdd:
    """The store of the sum, the cell that it updates, both operands.

    ``scale``: factor of each product before it is added.  ``negative``: it is
    subtracted.
    """

    store: Operation
    total: Operation
    result: Operand
    factors: tuple[Operand, Operand]
    scale: Value | None = None
    negative: bool = False


def multiply_add(body: Sequence[Operation], axes: Sequence[Axis]) -> MultiplyAdd | None:
    """The multiply-add that a straight body computes, if it computes nothing else."""
    stores = [op for op in body if op.name == "affine.store"]
    if len(stores) != 1 or not all(map(_is_allowed, body)):
        return None
    (store,) = stores
    made_by = {op.result: op for op in body if op.results}
    total = made_by.get(store.operands[0])
    if total is None or total.name not in MULTIPLY:
        return None
    result = access(store, axes)
    negative = total.name == SUBTRACT
    orders = [total.operands] if negative else _both_orders(total.operands)
    for old, term in orders:
        accumulator, product = made_by.get(old), made_by.get(term)
        if accumulator is None or product is None or term is old:
            continue
        if product.name != MULTIPLY[total.name]:
            continue
        scale, product = _scaled(product, made_by)
        factors = _factors(product.operands, made_by, axes)
        is_update = accumulator.name == "affine.load" and (
            access(accumulator, axes) == result
        )
        if is_update and factors is not None and _reads_others(result, factors):
            return MultiplyAdd(store, total, result, factors, scale, negative)
    return None


def _scaled(
    product: Operation, made_by: Mapping[Value, Operation]
) -> tuple[Value | None, Operation]:
    """The outside value that multiplies a product, and that product."""
    for scale, value in _both_orders(product.operands):
        inner = made_by.get(value)
        if scale not in made_by and inner is not None and inner.name == product.name:
            return scale, inner
    return None, product


def _is_allowed(op: Operation) -> bool:
    if op.name in affine.ACCESSES:
        return True
    definition = lookup(op.name)
    is_pure = definition is not None and Trait.PURE in definition.traits
    is_total = not ("div" in op.name or "rem" in op.name) or op.name.endswith("f")
    return is_pure and is_total and op.dialect in {"arith", "math"} and not op.regions


def _both_orders(pair: Sequence[Value]) -> Iterator[tuple[Value, Value]]:
    yield pair[0], pair[1]
    yield pair[1], pair[0]


def _factors(
    values: Sequence[Value], made_by: Mapping[Value, Operation], axes: Sequence[Axis]
) -> tuple[Operand, Operand] | None:
    first, second = (_factor(value, made_by, axes) for value in values)
    is_square = values[0] is values[1]
    return None if first is None or second is None or is_square else (first, second)


def _factor(
    value: Value, made_by: Mapping[Value, Operation], axes: Sequence[Axis]
) -> Operand | None:
    """The operand that defines a value; None if no element depends on all its axes."""
    operations = _needed(value, made_by)
    ivs = {axis.iv for axis in axes}
    steps = tuple(
        (op, access(op, axes) if op.name == "affine.load" else None)
        for op in operations
    )
    if any(place is None and not ivs.isdisjoint(op.operands) for op, place in steps):
        return None
    places = [place for _, place in steps if place is not None]
    moving = [axis for axis in axes if any(place.mentions(axis) for place in places)]
    whole = [p for p in places if all(p.mentions(axis) for axis in moving)]
    if not whole:
        return None
    main = whole[0]
    return main if len(steps) == 1 else replace(main, steps=steps)


def _needed(value: Value, made_by: Mapping[Value, Operation]) -> list[Operation]:
    """The operations of the body that compute a value, in topological order."""
    found: dict[Operation, None] = {}
    work = [value]
    while work:
        op = made_by.get(work[-1])
        if op is None or op in found:
            work.pop()
            continue
        inputs = () if op.name == "affine.load" else op.operands
        missing = [v for v in inputs if v in made_by and made_by[v] not in found]
        work += reversed(missing)
        if not missing:
            found[op] = None
    return list(found)


def _reads_others(result: Operand, factors: Sequence[Operand]) -> bool:
    """Whether no operand reads the buffer that is written."""
    return all(
        place.memref is not result.memref
        for factor in factors
        for place in factor.accesses
    )


@dataclass(frozen=True, slots=True)
class Contraction:
    """``result += left * right``; the vector axis indexes result and right.

    ``unpadded``: the array of which the right operand is a zero-padded copy.
    ``image``: the right operand before its columns and its steps were joined.
    ``scale``: factor of each product before it is added.
    ``words``: the packed integer types of the operands' elements.
    ``precision``: of products of f32 on tensor cores; "ieee" is f32 without them.
    ``arch``: the architecture whose specific features kernels use, "" if none.

    ``rows``: axes of result and left; ``columns``: axes of result and right;
    ``batch``: axes of all three; ``reduction``: axes not in the result.
    ``guards``: expressions of positions in the result that are >= 0 where it is
    computed.
    ``reassociable``: the terms of a sum may come in another order.
    ``start``: the fused prologue that gives the initial sums, if not memory.
    ``epilogue``: the fused operations on the finished sums, if any.
    """

    axes: tuple[Axis, ...]
    result: Operand
    left: Operand
    right: Operand
    element: Type
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    batch: tuple[Axis, ...]
    reduction: tuple[Axis, ...]
    guards: tuple[Index, ...]
    location: Location
    reassociable: bool = False
    image: Image | None = None
    unpadded: Operand | None = None
    start: Pointwise | None = None
    epilogue: Pointwise | None = None
    scale: Value | None = None
    words: Parts | None = None
    precision: str = "ieee"
    arch: str = ""

    @property
    def vector(self) -> Axis | None:
        """The column axis of the last dimension of the result."""
        return _vector_axis(self.columns, self.result)

    @property
    def targets(self) -> tuple[Operand, ...]:
        """The places of the final stores."""
        return (self.result,) if self.epilogue is None else self.epilogue.stored

    @property
    def reads_around(self) -> bool:
        """Whether more than a fill is fused with it."""
        start = self.start
        return self.epilogue is not None or (start is not None and len(start.steps) > 1)

    @property
    def sums_in_registers(self) -> bool:
        """Whether kernels may keep its sums in vector registers.

        No target has vectors of narrow floats: they are computed in f32, and rounded
        after every operation, one by one.  So a sum of them (f16 += f16 * f16) is left
        to scalar loops; one of their products in f32 is not.
        """
        element = self.element
        return not (isinstance(element, FloatType) and element.name in NARROW)

    @property
    def is_plain(self) -> bool:
        """Whether operands are elements, without guards."""
        return not (self.left.steps or self.right.steps or self.guards)


def only_accumulates(found: Sequence[Dependence]) -> bool:
    """Whether the operands of a contraction keep their values while it runs.

    { x -> y in dependences : not both accumulate into one cell } = {}
    """
    return all(dependence.reduces is not None for dependence in found)


@lru_cache(512)
def recognize(op: Operation, *, parametric: bool = False) -> Contraction | None:
    """The contraction computed by the nest rooted at ``op``, if it is one.

    ``parametric``: extents may be dynamic.  Several passes ask for the same nest.

    The right operand is the one that the vector axis moves, if only one is.
    """
    domain = domain_of(op, parametric=parametric) if _ends_in_sum(op) else None
    body = None if domain is None else multiply_add(domain.body, domain.axes)
    if domain is None or body is None or not _is_separable(domain, body):
        return None
    vector = _vector_axis(domain.axes, body.result)
    left, right = body.factors
    if vector is not None and left.mentions(vector):
        left, right = right, left
    if body.negative:
        left = left.negated()

    def moves(axis: Axis) -> Moves:
        places = (body.result, left, right)
        in_result, in_left, in_right = (place.mentions(axis) for place in places)
        return in_result, in_left, in_right

    roles = roles_of(domain.axes, moves)
    reduction = () if roles is None else (*roles.outer, *roles.k)
    if roles is None or not reduction:
        return None
    return Contraction(
        domain.axes,
        body.result,
        left,
        right,
        element_type(body.result.memref.type),
        roles.m,
        roles.n,
        roles.batch,
        reduction,
        domain.guards,
        body.store.location,
        is_reassociable(body.total),
        scale=body.scale,
    )


def _ends_in_sum(op: Operation) -> bool:
    """Whether a nest has one store, of a sum or a difference."""
    stored = [inner.operands[0] for inner in op.walk() if inner.name == "affine.store"]
    return len(stored) == 1 and any(
        inner.name in MULTIPLY and inner.result is stored[0] for inner in op.walk()
    )


def _is_separable(domain: Domain, body: MultiplyAdd) -> bool:
    """Linear accesses, every axis of the result alone in one of its indices.

    Guards may only exclude corners of the result, whose elements must exist.
    """
    operands = (body.result, *(o for f in body.factors for o in f.accesses))
    if not all(is_linear(index) for operand in operands for index in operand.indices):
        return False
    ivs = {axis.iv for axis in domain.axes}
    seen: list[Value] = []
    for index in body.result.indices:
        mine = [value for value in index.values if value in ivs]
        if len(mine) > 1:
            return False
        seen += mine
    if not domain.guards:
        return len(seen) == len(set(seen))
    cut = {value for guard in domain.guards for value in guard.values}
    exist = all(_inside(operand, domain.axes) for operand in operands)
    return len(seen) == len(set(seen)) and cut <= set(seen) and exist


def _inside(operand: Operand, axes: Sequence[Axis]) -> bool:
    """Whether the whole box accesses elements of the array."""
    ty = operand.memref.type
    if not isinstance(ty, MemRefType):
        return False
    found = [interval(index, axes) for index in operand.indices]
    return all(
        ends is not None and extent is not None and 0 <= ends[0] <= ends[1] < extent
        for ends, extent in zip(found, ty.shape, strict=True)
    )


def _vector_axis(axes: Sequence[Axis], result: Operand) -> Axis | None:
    """The axis of the result's last dimension longer than one, if it is contiguous."""
    ty = result.memref.type
    if not isinstance(ty, MemRefType) or not ty.rank:
        return None
    longer = (d for d, extent in enumerate(ty.shape) if extent != 1)
    last = max(longer, default=ty.rank - 1)
    form = strided_form(ty)
    if form is None or form.strides[last] != 1:
        return None
    found = [axis for axis in axes if result.coefficient(last, axis) == 1]
    return found[0] if len(found) == 1 else None
