"""Builds straight lists of kernel-level operations; bodies are given as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseElementsAttr,
    IntegerAttr,
    IntegerSetAttr,
    index_attr,
)
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    segment_counts,
    single_block,
)
from gpucodegen.ir.types import (
    I1,
    I32,
    I64,
    INDEX,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.passes.framework.indexing import Index, as_map, as_set
from gpucodegen.passes.framework.operation_list import IndexLike
from gpucodegen.passes.framework.vector_builder import VectorBuilder

Body = Callable[["Builder", Value], None]


@dataclass(slots=True)
class Builder(VectorBuilder):
    """Operations on memory and vectors, loops and conditions."""

    def nested(self, body: Callable[[Builder], None]) -> list[Operation]:
        """The operations that ``body`` builds, at the same location."""
        inner = Builder(self.location)
        body(inner)
        return inner.operations

    # -- index values and constants --------------------------------------------------

    def load(
        self, memref: Value, indices: Sequence[IndexLike], hint: str = ""
    ) -> Value:
        """``affine.load`` of one element."""
        map_, operands = as_map(indices)
        (value,) = self.add(
            "affine.load",
            (memref, *operands),
            [element_type(memref.type)],
            {"map": AffineMapAttr(map_)},
            hint=hint,
        )
        return value

    def store(self, value: Value, memref: Value, indices: Sequence[IndexLike]) -> None:
        """``affine.store`` of one element."""
        map_, operands = as_map(indices)
        self.add(
            "affine.store", (value, memref, *operands), (), {"map": AffineMapAttr(map_)}
        )

    def prefetch(
        self,
        memref: Value,
        indices: Sequence[IndexLike],
        *,
        write: bool = True,
        locality: int = 3,
    ) -> None:
        """``affine.prefetch`` of an element that will be read, and maybe written.

        ``locality``: 3 for the first cache, 2 for the second.
        """
        map_, operands = as_map(indices)
        attributes: dict[str, Attribute] = {
            "map": AffineMapAttr(map_),
            "isWrite": IntegerAttr(int(write), I1),
            "localityHint": IntegerAttr(locality, I32),
            "isDataCache": IntegerAttr(1, I1),
        }
        self.add("affine.prefetch", (memref, *operands), (), attributes)

    def allocate(
        self, op: str, ty: MemRefType, hint: str = "", extents: Sequence[Value] = ()
    ) -> Value:
        """``memref.alloc`` or ``memref.alloca``, with the extents that are open."""
        sizes = {"operandSegmentSizes": segment_counts(len(extents), 0)}
        (value,) = self.add(op, extents, [ty], sizes, hint=hint)
        return value

    def extent(self, memref: Value, dimension: int) -> Value:
        """``memref.dim``."""
        number = self.constant(dimension, INDEX)
        (value,) = self.add("memref.dim", (memref, number), [INDEX], hint="extent")
        return value

    def loop(
        self,
        lower: IndexLike | Sequence[IndexLike],
        upper: IndexLike | Sequence[IndexLike],
        body: Body,
        *,
        step: int = 1,
        hint: str = "i",
    ) -> None:
        """``affine.for`` without loop-carried values, from max of lowers to min."""

        def without_values(inner: Builder, iv: Value, values: Sequence[Value]) -> None:
            del values
            body(inner, iv)

        self.carried_loop(lower, upper, (), without_values, step=step, hint=hint)

    def once(self, body: Callable[[Builder], None]) -> None:
        """A loop of one iteration: vectors live in loops only."""
        self.loop(0, 1, lambda inner, _: body(inner), hint="once")

    def carried_loop(
        self,
        lower: IndexLike | Sequence[IndexLike],
        upper: IndexLike | Sequence[IndexLike],
        initial: Sequence[Value],
        body: Callable[[Builder, Value, Sequence[Value]], Sequence[Value] | None],
        *,
        step: int = 1,
        hint: str = "i",
    ) -> tuple[Value, ...]:
        """``affine.for`` whose body gets and returns the loop-carried values."""
        lower_map, lower_operands = as_map(_bounds(lower))
        upper_map, upper_operands = as_map(_bounds(upper))
        iv = Value(INDEX, hint, self.location)
        carried = tuple(v.renewed() for v in initial)
        inner = Builder(self.location)
        yielded = body(inner, iv, carried) or ()
        inner.add("affine.yield", yielded)
        return self.add(
            "affine.for",
            (*lower_operands, *upper_operands, *initial),
            [v.type for v in initial],
            {
                "lowerBoundMap": AffineMapAttr(lower_map),
                "upperBoundMap": AffineMapAttr(upper_map),
                "step": index_attr(step),
                "operandSegmentSizes": segment_counts(
                    len(lower_operands), len(upper_operands), len(initial)
                ),
            },
            [single_block(inner.operations, (iv, *carried))],
            hint=initial[0].name if initial else "",
        )

    def parallel(
        self,
        extents: Sequence[IndexLike],
        body: Callable[[Builder, Sequence[Value]], None],
        hints: Sequence[str] = (),
    ) -> None:
        """``affine.parallel`` over ``0 <= iv < extent`` for each extent."""
        names = [*hints, *("p" * len(extents))][: len(extents)]
        ivs = tuple(Value(INDEX, name, self.location) for name in names)
        inner = Builder(self.location)
        body(inner, ivs)
        inner.add("affine.yield")
        upper_map, operands = as_map(extents)
        count = len(extents)
        groups = DenseElementsAttr((1,), VectorType((count,), I32), I32)
        self.add(
            "affine.parallel",
            operands,
            (),
            {
                "lowerBoundsMap": AffineMapAttr(AffineMap.constant(*(0,) * count)),
                "lowerBoundsGroups": groups,
                "upperBoundsMap": AffineMapAttr(upper_map),
                "upperBoundsGroups": groups,
                "steps": ArrayAttr((IntegerAttr(1, I64),) * count),
                "reductions": ArrayAttr(()),
            },
            [single_block(inner.operations, ivs)],
        )

    def guard(
        self,
        conditions: Sequence[Index],
        body: Callable[[Builder], None],
        otherwise: Callable[[Builder], None] | None = None,
    ) -> None:
        """``affine.if`` all ``conditions`` are >= 0; statically true ones vanish."""
        unknown = [c for c in conditions if c.constant is None or c.constant < 0]
        if not unknown:
            body(self)
            return
        where, operands = as_set(unknown)
        condition = IntegerSetAttr(where)
        branches = [
            Region() if branch is None else single_block(self._yielding(branch))
            for branch in (body, otherwise)
        ]
        self.add("affine.if", operands, (), {"condition": condition}, branches)

    def choose(
        self,
        conditions: Sequence[Index],
        first: Callable[[Builder], Value],
        second: Callable[[Builder], Value],
        hint: str = "",
    ) -> Value:
        """``first`` if all ``conditions`` are >= 0, else ``second``: ``affine.if``."""
        unknown = [c for c in conditions if c.constant is None]
        if any(c.constant is not None and c.constant < 0 for c in conditions):
            return second(self)
        if not unknown:
            return first(self)
        where, operands = as_set(unknown)
        condition, types = IntegerSetAttr(where), list[Type]()

        def branch(body: Callable[[Builder], Value]) -> Region:
            inner = Builder(self.location)
            value = body(inner)
            types[:] = [value.type]
            inner.add("affine.yield", (value,))
            return single_block(inner.operations)

        regions = [branch(first), branch(second)]
        (value,) = self.add(
            "affine.if", operands, types, {"condition": condition}, regions, hint
        )
        return value

    def _yielding(self, body: Callable[[Builder], None]) -> list[Operation]:
        return [*self.nested(body), Operation("affine.yield", location=self.location)]


def _bounds(bound: IndexLike | Sequence[IndexLike]) -> Sequence[IndexLike]:
    return [bound] if isinstance(bound, Index | Value | int) else bound
