"""Consecutive iterations of a loop side by side in one thread, accesses as vectors.

Comes in: the body of a loop, and what its values are in each of ``width`` iterations
that follow each other.  Goes out: loads and stores of neighbours as one ``vector.load``
or ``vector.store``, what is the same in all iterations once, everything else once for
each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import Type, VectorType, element_bytes, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map, substituted
from gpucodegen.passes.gpu.blocks.rows.kept_elements import Element, KeptElements
from gpucodegen.passes.gpu.facts.vector_width import address_of, vector_width

Lane = dict[Value, Value]
"""What values of the body are in one iteration."""


def shared_width(
    body: Iterable[Operation],
    along: Value,
    first: Index,
    definitions: Mapping[Value, Operation],
) -> int:
    """Elements that all accesses to neighbours along a variable may move at once.

    ``first``: the value of the variable from which iterations are counted.  0 where no
    access is to neighbours.
    """
    places = {along: first}
    found = [
        vector_width(op, along, definitions, places)
        for op in body
        if op.name in affine.ACCESSES and _is_contiguous(op, along, definitions)
    ]
    return min(found, default=0)


def _is_contiguous(
    op: Operation, along: Value, definitions: Mapping[Value, Operation]
) -> bool:
    address = address_of(op, definitions)
    return address is not None and address.factor(along) == 1


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Emits bodies for several values of the variable ``along``.

    ``kept``: elements that earlier bodies left in registers; ``slot`` tells the
    iterations of a thread apart.  ``limits`` are >= 0 where the iterations exist: loads
    of what does not change read something in any case, others and stores wait for it.
    """

    along: Value
    definitions: Mapping[Value, Operation]
    kept: KeptElements = field(default_factory=KeptElements)
    slot: int = 0
    limits: tuple[Index, ...] = ()

    def emit(self, b: Builder, body: Sequence[Operation], lanes: list[Lane]) -> None:
        """Append the body; ``lanes`` learn what it defines."""
        for op in body:
            if op.name == "affine.load":
                self._load(b, op, lanes)
            elif op.name == "affine.store":
                self._store(b, op, lanes)
            else:
                _each(b, op, lanes)

    def _load(self, b: Builder, op: Operation, lanes: list[Lane]) -> None:
        element = self._element(op, lanes)
        values = self.kept.loaded(element)
        if values is None:
            values = self._loaded(b, op, lanes)
            self.kept.note_load(element, values)
        for lane, value in zip(lanes, values, strict=True):
            lane[op.result] = value

    def _loaded(
        self, b: Builder, op: Operation, lanes: list[Lane]
    ) -> tuple[Value, ...]:
        memref, ty = affine.Load(op).memref, op.result.type
        if len(lanes) > 1 and _is_contiguous(op, self.along, self.definitions):
            vector = VectorType((len(lanes),), ty)
            place, bytes_ = _place(op, lanes[0]), _bytes(vector)
            wide = self._where_it_exists(
                b,
                memref,
                vector,
                lambda i: i.vector_load(memref, place, vector, "", bytes_),
            )
            return tuple(b.element(wide, at) for at in range(len(lanes)))
        if _is_same(op, lanes):
            lanes = lanes[:1] * len(lanes)
        found: dict[int, Value] = {}
        for lane in lanes:
            if id(lane) not in found:
                place = _place(op, lane)
                found[id(lane)] = self._where_it_exists(
                    b, memref, ty, lambda i, p=place: i.load(memref, p, op.result.name)
                )
        return tuple(found[id(lane)] for lane in lanes)

    def _where_it_exists(
        self, b: Builder, memref: Value, ty: Type, load: Callable[[Builder], Value]
    ) -> Value:
        """A load; of an element that others may store to, only if the iteration is."""
        waits = self.limits if self.kept.may_change(memref) else ()
        return b.choose(waits, load, lambda i: i.constant(0, ty))

    def _store(self, b: Builder, op: Operation, lanes: list[Lane]) -> None:
        element, start = self._element(op, lanes), len(b.operations)
        values = tuple(lane.get(op.operands[0], op.operands[0]) for lane in lanes)
        b.guard(self.limits, lambda inner: self._stored(inner, op, values, lanes))
        self.kept.note_store(element, values, b.operations[start:])

    def _stored(
        self, b: Builder, op: Operation, values: tuple[Value, ...], lanes: list[Lane]
    ) -> None:
        if len(lanes) == 1 or not _is_contiguous(op, self.along, self.definitions):
            b.operations += [clone(op, dict(lane)) for lane in lanes]
            return
        vector = VectorType((len(lanes),), values[0].type)
        (wide,) = b.add("vector.from_elements", values, [vector])
        place = _place(op, lanes[0])
        b.vector_store(wide, affine.Store(op).memref, place, _bytes(vector))

    def _element(self, op: Operation, lanes: list[Lane]) -> Element:
        """What an access touches, whatever the thread and the iteration."""
        view = affine.Load(op) if op.results else affine.Store(op)
        known = {
            old: Index.of(new) for old, new in lanes[0].items() if old is not self.along
        }
        place = from_map(view.map, view.map_operands)
        return Element(
            view.memref,
            tuple(
                self.kept.position_of(substituted(i, known), self.along) for i in place
            ),
            self.slot,
        )


def _place(op: Operation, lane: Lane) -> list[Index]:
    view = affine.Load(op) if op.results else affine.Store(op)
    known = {old: Index.of(new) for old, new in lane.items()}
    return [substituted(i, known) for i in from_map(view.map, view.map_operands)]


def _bytes(vector: VectorType) -> int:
    return vector.shape[0] * (element_bytes(element_type(vector)) or 1)


def _each(b: Builder, op: Operation, lanes: list[Lane]) -> None:
    """The operation for each lane, or once where it is the same in all."""
    if not op.regions and _is_same(op, lanes):
        mapping = dict(lanes[0])
        b.operations.append(clone(op, mapping))
        for lane in lanes:
            lane.update((v, mapping[v]) for v in op.results)
        return
    b.operations += [clone(op, lane) for lane in lanes]


def _is_same(op: Operation, lanes: list[Lane]) -> bool:
    first, *others = lanes
    return bool(op.results) and all(
        lane.get(v, v) is first.get(v, v) for lane in others for v in op.operands
    )
