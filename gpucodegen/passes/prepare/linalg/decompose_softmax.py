"""``linalg.softmax`` as the passes over a row that compute it; fusion joins them.

max = max_j x;  e = exp(x - max);  sum = sum_j e;  y = e / sum

Subtracting the maximum keeps every power at most 1.  The output holds the powers in
between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from gpucodegen.dialects import linalg
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up, segment_counts
from gpucodegen.ir.types import INDEX, MemRefType, TensorType, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder

Scalars = Callable[[Builder, Sequence[Value]], Value]


@dataclass(frozen=True, slots=True)
class DecomposeSoftmax(ModulePass):
    """Softmax, of tensors or in memory, becomes structured operations."""

    name: ClassVar[str] = "decompose-softmax"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations."""
        (root,) = rewrite_bottom_up(module.operation, _decomposed)
        return Module(root)


def _decomposed(op: Operation) -> list[Operation] | None:
    if op.name != "linalg.softmax":
        return None
    softmax = _Softmax(op, Builder(op.location))
    softmax.build()
    return softmax.b.operations


def _scalar(name: str) -> Scalars:
    def build(b: Builder, operands: Sequence[Value]) -> Value:
        first, second = operands[:2]
        return b.add(name, (first, second), [first.type])[0]

    return build


def _power(b: Builder, operands: Sequence[Value]) -> Value:
    difference = _scalar("arith.subf")(b, operands)
    return b.add("math.exp", (difference,), [difference.type])[0]


@dataclass(frozen=True, slots=True)
class _Softmax:
    op: Operation
    b: Builder

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Extents of the input."""
        ty = self.op.operands[0].type
        assert isinstance(ty, MemRefType | TensorType)
        return ty.shape

    @property
    def dimension(self) -> int:
        """The dimension that is normalised."""
        attribute = self.op.attributes["dimension"]
        assert isinstance(attribute, IntegerAttr)
        return attribute.value

    def build(self) -> None:
        """Append the operations; the last one has the results."""
        x, y = self.op.operands
        largest = self._reduced(x, -inf, "arith.maximumf", "max")
        powers = self._mapped((x, largest), y, _power)
        total = self._reduced(powers, 0.0, "arith.addf", "sum")
        self._divided(powers, total)
        if not self.op.results:
            for buffer in (largest, total):
                self.b.add("memref.dealloc", (buffer,))

    def _reduced(self, x: Value, start: float, name: str, hint: str) -> Value:
        """The elements along the dimension combined."""
        rows = self._rows(x, hint)
        initial = self.b.constant(start, element_type(x.type))
        maps = [AffineMap(len(self.shape) - 1, 0, ()), self._row_map(identity=True)]
        kinds = ["parallel"] * (len(self.shape) - 1)
        filled = self._generic(
            (initial,), rows, (maps, kinds), lambda _, operands: operands[0], None
        )
        kinds = ["parallel"] * len(self.shape)
        kinds[self.dimension] = "reduction"
        maps = [AffineMap.identity(len(self.shape)), self._row_map()]
        return self._generic((x,), filled, (maps, kinds), _scalar(name), None)

    def _mapped(
        self, inputs: tuple[Value, Value], output: Value, scalars: Scalars
    ) -> Value:
        """A function of each element and of its row's number."""
        full = AffineMap.identity(len(self.shape))
        maps, kinds = [full, self._row_map(), full], ["parallel"] * len(self.shape)
        return self._generic(inputs, output, (maps, kinds), scalars, None)

    def _divided(self, powers: Value, total: Value) -> None:
        """The powers divided in place; this gives the results."""

        def quotient(b: Builder, operands: Sequence[Value]) -> Value:
            divisor, power = operands
            return _scalar("arith.divf")(b, (power, divisor))

        maps = [self._row_map(), AffineMap.identity(len(self.shape))]
        kinds = ["parallel"] * len(self.shape)
        form, results = (maps, kinds), self.op.results or None
        self._generic((total,), powers, form, quotient, results)

    def _row_map(self, *, identity: bool = False) -> AffineMap:
        rank = len(self.shape)
        if identity:
            return AffineMap.identity(rank - 1)
        rest = tuple(Dim(d) for d in range(rank) if d != self.dimension)
        return AffineMap(rank, 0, rest)

    def _rows(self, x: Value, hint: str) -> Value:
        """Memory for a number of each row."""
        others = [d for d in range(len(self.shape)) if d != self.dimension]
        shape = tuple(self.shape[d] for d in others)
        is_tensor = isinstance(x.type, TensorType)
        dialect = "tensor" if is_tensor else "memref"
        sizes: list[Value] = []
        for d in others:
            if self.shape[d] is None:
                at = self.b.constant(d, INDEX)
                sizes += self.b.add(f"{dialect}.dim", (x, at), [INDEX], hint="n")
        element = element_type(x.type)
        if is_tensor:
            (rows,) = self.b.add(
                "tensor.empty", sizes, [TensorType(shape, element)], hint=hint
            )
            return rows
        counts = {"operandSegmentSizes": segment_counts(len(sizes), 0)}
        (rows,) = self.b.add(
            "memref.alloc", sizes, [MemRefType(shape, element)], counts, hint=hint
        )
        return rows

    def _generic(
        self,
        inputs: Sequence[Value],
        output: Value,
        form: tuple[list[AffineMap], list[str]],
        scalars: Scalars,
        results: tuple[Value, ...] | None,
    ) -> Value:
        """A ``linalg.generic``; what holds its result afterwards."""
        operands = (*inputs, output)
        arguments = [v.renewed(element_type(v.type)) for v in operands]
        inner = Builder(self.op.location)
        value = scalars(inner, arguments)
        generic = linalg.generic(
            inputs,
            (output,),
            *form,
            arguments,
            [*inner.operations, linalg.yield_((value,), location=self.op.location)],
            location=self.op.location,
        )
        is_tensor = isinstance(output.type, TensorType)
        made = (results or (output.renewed(),)) if is_tensor else ()
        self.b.operations.append(generic.with_(results=made))
        return made[0] if made else output
