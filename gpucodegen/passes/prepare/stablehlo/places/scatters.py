"""Elements combined with those at places that a tensor lists, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpucodegen.dialects.stablehlo.syntax import listed, numbered
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import I1, INDEX
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.table import compared
from gpucodegen.passes.prepare.stablehlo.forms import Rule, extract, scalar, shape
from gpucodegen.passes.prepare.stablehlo.places.lookups import place_of
from gpucodegen.passes.prepare.stablehlo.scalars import inlined

Step = Callable[[Builder, Sequence[Value], Sequence[Value]], Sequence[Value]]
"""Indices and tensors to the tensors after one iteration."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The dimension numbers of a scatter.

    Dimensions of updates: ``windows``, of which ``own`` of the operands, and the
    ``lists`` of places, each of the indices without ``vector``.
    ``starts``: dimensions of the operands that a place begins in, component by
    component.  ``batches``: of the operands, with those of the indices.
    """

    windows: tuple[int, ...]
    own: tuple[int, ...]
    lists: tuple[int, ...]
    starts: tuple[int, ...]
    batches: dict[int, int]
    vector: int

    @classmethod
    def of(cls, op: Operation) -> _Numbers:
        given = op.attributes["scatter_dimension_numbers"]
        windows = listed(given, "update_window_dims")
        gone = listed(given, "inserted_window_dims")
        batched = listed(given, "input_batching_dims")
        rank, whole = (len(shape(op.operands[n])) for n in (0, -1))
        own = tuple(d for d in range(rank) if d not in gone and d not in batched)
        lists = tuple(d for d in range(whole) if d not in windows)
        of_indices = listed(given, "scatter_indices_batching_dims")
        batches = dict(zip(batched, of_indices, strict=True))
        starts = listed(given, "scatter_dims_to_operand_dims")
        vector = numbered(given, "index_vector_dim")
        return cls(windows, own, lists, starts, batches, vector)


def scatter(b: Builder, op: Operation) -> Sequence[Value]:
    """Updates in the order in which they lie; those with a place outside are left out.

    Places are read once for each window, whose elements are walked inside.
    """
    count = len(op.operands) // 2
    operands, updates = op.operands[:count], op.operands[count + 1 :]
    extents, sizes = shape(operands[0]), shape(updates[0])
    numbers = _Numbers.of(op)
    window = dict(zip(numbers.own, numbers.windows, strict=True))

    def walk(
        b: Builder, lists: Sequence[Value], held: Sequence[Value]
    ) -> Sequence[Value]:
        starts, inside = _starts(b, op, numbers, window, lists)

        def one(
            b: Builder, offsets: Sequence[Value], held: Sequence[Value]
        ) -> Sequence[Value]:
            at = [scalar(b, 0, INDEX)] * len(sizes)
            for dims, places in ((numbers.lists, lists), (numbers.windows, offsets)):
                for d, place in zip(dims, places, strict=True):
                    at[d] = place
            places, fits = list[Value](), list[Value]()
            for d, n in enumerate(extents):
                place = starts[d]
                if d in window:
                    offset = at[window[d]]
                    if place is None:
                        place = offset
                    else:
                        (place,) = b.add("arith.addi", (place, offset), [INDEX])
                        fits += _within(b, place, n) if sizes[window[d]] > 1 else []
                places.append(scalar(b, 0, INDEX) if place is None else place)

            def put(b: Builder, held: Sequence[Value]) -> Sequence[Value]:
                elements = [extract(b, v, places) for v in held]
                new = [extract(b, v, at) for v in updates]
                made = inlined(b, op, op.body, [*elements, *new])
                return [
                    b.add("tensor.insert", (v, t, *places), [t.type])[0]
                    for v, t in zip(made, held, strict=True)
                ]

            return _where(b, fits, held, put)

        def all_(b: Builder, held: Sequence[Value]) -> Sequence[Value]:
            return nest(b, [sizes[d] for d in numbers.windows], held, one)

        return _where(b, inside, held, all_)

    return nest(b, [sizes[d] for d in numbers.lists], operands, walk)


def _starts(
    b: Builder,
    op: Operation,
    numbers: _Numbers,
    window: dict[int, int],
    lists: Sequence[Value],
) -> tuple[list[Value | None], list[Value]]:
    """Where a window begins in each dimension, and what holds if it is inside.

    That is not asked here of dimensions in which it has several elements.
    """
    count = len(op.operands) // 2
    indices, sizes = op.operands[count], shape(op.operands[-1])
    extents = shape(op.operands[0])
    others = [d for d in range(len(shape(indices))) if d != numbers.vector]
    loops = dict(zip(others, lists, strict=True))
    starts: list[Value | None] = [None] * len(extents)
    inside: list[Value] = []
    for component, d in enumerate(numbers.starts):
        at = [
            scalar(b, component, INDEX) if e == numbers.vector else loops[e]
            for e in range(len(shape(indices)))
        ]
        starts[d] = place = place_of(b, extract(b, indices, at))
        if d not in window or sizes[window[d]] == 1:
            inside += _within(b, place, extents[d])
    for d, e in numbers.batches.items():
        starts[d] = loops[e]
    return starts, inside


def _within(b: Builder, place: Value, extent: int) -> list[Value]:
    """``0 <= place < extent``, as one unsigned comparison."""
    end = scalar(b, extent, INDEX)
    return [compared(b, "ult", place, end)]


def _where(
    b: Builder,
    conditions: Sequence[Value],
    held: Sequence[Value],
    body: Callable[[Builder, Sequence[Value]], Sequence[Value]],
) -> Sequence[Value]:
    """The tensors after ``body`` where all conditions hold, else as they are."""
    if not conditions:
        return body(b, held)
    condition, *others = conditions
    for other in others:
        (condition,) = b.add("arith.andi", (condition, other), [I1])
    then, other = Builder(b.location), Builder(b.location)
    then.add("scf.yield", body(then, held))
    other.add("scf.yield", held)
    regions = [single_block(branch.operations) for branch in (then, other)]
    return b.add("scf.if", (condition,), [v.type for v in held], {}, regions)


def nest(
    b: Builder,
    extents: Sequence[int],
    held: Sequence[Value],
    body: Step,
    indices: Sequence[Value] = (),
) -> Sequence[Value]:
    """A loop for each extent, all of which carry the tensors."""
    if len(indices) == len(extents):
        return body(b, indices, held)

    def inside(inner: Builder, index: Value, held: Sequence[Value]) -> Sequence[Value]:
        return nest(inner, extents, held, body, [*indices, index])

    return b.carried_loop(0, extents[len(indices)], held, inside)


RULES: dict[str, Rule] = {"stablehlo.scatter": scatter}
