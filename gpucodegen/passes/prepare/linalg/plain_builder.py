"""Builds loops and accesses whose bounds and indices need not be affine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import INDEX, element_type
from gpucodegen.passes.framework.builder import Body, Builder
from gpucodegen.passes.framework.operation_list import IndexLike


@dataclass(slots=True)
class PlainBuilder(Builder):
    """``scf.for``, ``memref.load`` and ``memref.store``; later passes raise them.

    >>> b = PlainBuilder()
    >>> b.loop(0, 8, lambda inner, iv: None)
    >>> b.operations[-1].name
    'scf.for'
    """

    def load(
        self, memref: Value, indices: Sequence[IndexLike], hint: str = ""
    ) -> Value:
        """``memref.load`` of one element."""
        places = [self.index(index) for index in indices]
        element = element_type(memref.type)
        return self.add("memref.load", (memref, *places), [element], hint=hint)[0]

    def store(self, value: Value, memref: Value, indices: Sequence[IndexLike]) -> None:
        """``memref.store`` of one element."""
        places = [self.index(index) for index in indices]
        self.add("memref.store", (value, memref, *places))

    def loop(
        self,
        lower: IndexLike | Sequence[IndexLike],
        upper: IndexLike | Sequence[IndexLike],
        body: Body,
        *,
        step: int = 1,
        hint: str = "i",
    ) -> None:
        """``scf.for`` from one bound to another."""
        assert not isinstance(lower, Sequence)
        assert not isinstance(upper, Sequence)
        iv, inner = Value(INDEX, hint, self.location), PlainBuilder(self.location)
        body(inner, iv)
        inner.add("scf.yield")
        bounds = (self.index(lower), self.index(upper), self.constant(step, INDEX))
        region = single_block(inner.operations, (iv,))
        self.operations.append(
            Operation("scf.for", bounds, regions=(region,), location=self.location)
        )
