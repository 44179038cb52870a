"""The Winograd transforms as products with constant matrices, one for each side.

    filter    T[i, q] = sum_p G[i, p] g[p, q]      U[i, j] = sum_q G[j, q] T[i, q]

and so with ``B'`` for tiles of the image, and with ``A'`` for tiles of the result,
which add to what the output holds.  A side on which the filter has one tap stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen.dialects import linalg
from gpucodegen.dialects.arith import binary
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.linalg.named_definitions import Windows, map_of
from gpucodegen.dialects.linalg.relayout import MATRICES, Matrix, winograd_sizes
from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Value,
    rewrite_bottom_up,
    segment_sizes,
)
from gpucodegen.ir.types import INDEX, TensorType, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder

_Product = tuple[str, str, str]
"""Indices of matrix, source and target, as in the table of named operations.

p and q are points on the two sides in front of the product, i and j behind it; s and t
number tiles, which begin m points apart.
"""

_PRODUCTS: dict[tuple[str, str], tuple[_Product, ...]] = {
    ("filter", "both"): (
        ("i p", "f p q c", "i q c f"),
        ("j q", "i q c f", "i j c f"),
    ),
    ("filter", "rows"): (("i p", "f p j c", "i j c f"),),
    ("filter", "columns"): (("j q", "f i q c", "i j c f"),),
    ("input", "both"): (
        ("i p", "n s:p x c", "i s n x c"),
        ("j q", "i s n t:q c", "i j s t n c"),
    ),
    ("input", "rows"): (("i p", "n s:p t c", "i j s t n c"),),
    ("input", "columns"): (("j q", "n s t:q c", "i j s t n c"),),
    ("output", "both"): (
        ("i p", "p q s t n f", "i q s t n f"),
        ("j q", "i q s t n f", "n s:i t:j f"),
    ),
    ("output", "rows"): (("i p", "p q s t n f", "n s:i t f"),),
    ("output", "columns"): (("j q", "p q s t n f", "n s t:j f"),),
}
_SIDES = {
    "filter": ("source", 1, 2),
    "input": ("output", 0, 1),
    "output": ("source", 0, 1),
}
"""The operand and the dimensions that have one point where a side stays."""


@dataclass(frozen=True, slots=True)
class DecomposeWinograd(ModulePass):
    """The Winograd transforms become structured operations.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%g: tensor<8x3x3x4xf32>, %u: tensor<4x4x4x8xf32>)
    ...     -> tensor<4x4x4x8xf32> {
    ...   %r = linalg.winograd_filter_transform fmr(F_2_3)
    ...     ins(%g : tensor<8x3x3x4xf32>) outs(%u : tensor<4x4x4x8xf32>)
    ...     -> tensor<4x4x4x8xf32>
    ...   return %r : tensor<4x4x4x8xf32>
    ... }''')
    >>> made = DecomposeWinograd().apply(module).functions["f"].body.operations
    >>> [op.name for op in made if op.name == "linalg.generic"]
    ['linalg.generic', 'linalg.generic']
    """

    name: ClassVar[str] = "decompose-winograd"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations."""
        (root,) = rewrite_bottom_up(module.operation, _decomposed)
        return Module(root)


def _decomposed(op: Operation) -> list[Operation] | None:
    part = op.name.removeprefix("linalg.winograd_").removesuffix("_transform")
    if part == op.name or part not in _SIDES:
        return None
    m, r = winograd_sizes(op)
    transform = _Transform(op, m, MATRICES[m, r][part], Builder(op.location))
    transform.build(part)
    return transform.b.operations


@dataclass(frozen=True, slots=True)
class _Transform:
    """``extents``: where the extent of each index is found."""

    op: Operation
    m: int
    matrix: Matrix
    b: Builder
    extents: dict[str, int | tuple[Value, int]] = field(
        default_factory=dict[str, "int | tuple[Value, int]"]
    )

    def build(self, part: str) -> None:
        """Append the operations; the last one has the results."""
        source, target = self.op.operands
        *first, last = _PRODUCTS[part, self._sides(part)]
        self._note(last[2], target)
        for product in first:
            self._note(product[1], source)
            (rows, _) = product[0].split()
            self.extents[rows] = len(self.matrix)
            source = self._product(product, source, self._empty(product[2]))
        # Only the output of the last transform counts with what it holds.
        into = target if part == "output" else self._cleared(target)
        self._product(last, source, into, self.op.results)

    def _sides(self, part: str) -> str:
        operand, *dimensions = _SIDES[part]
        ty = self.op.operands[operand == "output"].type
        assert isinstance(ty, TensorType)
        tall, wide = (ty.shape[d] != 1 for d in dimensions)
        return "both" if tall and wide else "rows" if tall else "columns"

    def _note(self, indices: str, tensor: Value) -> None:
        for dimension, index in enumerate(indices.split()):
            self.extents.setdefault(index, (tensor, dimension))

    def _empty(self, indices: str) -> Value:
        """A tensor with these indices that holds zeros."""
        shape: list[int | None] = []
        sizes: list[Value] = []
        for index in indices.split():
            found = self.extents[index]
            if isinstance(found, tuple):
                ty = found[0].type
                assert isinstance(ty, TensorType)
                shape.append(ty.shape[found[1]])
                if shape[-1] is None:
                    at = self.b.constant(found[1], INDEX)
                    sizes += self.b.add("tensor.dim", (found[0], at), [INDEX])
            else:
                shape.append(found)
        element = element_type(self.op.operands[0].type)
        empty = self.b.add("tensor.empty", sizes, [TensorType(tuple(shape), element)])
        return self._cleared(empty[0])

    def _cleared(self, tensor: Value) -> Value:
        zero = self.b.constant(0, element_type(tensor.type))
        attributes = {OPERAND_SEGMENTS: segment_sizes([[zero], [tensor]])}
        return self.b.add("linalg.fill", (zero, tensor), [tensor.type], attributes)[0]

    def _product(
        self,
        product: _Product,
        source: Value,
        into: Value,
        results: Sequence[Value] = (),
    ) -> Value:
        """``into[..] += sum matrix[..] * source[..]``."""
        letters = [text.replace(":", " ").split() for text in product]
        kept = list(dict.fromkeys(letters[2]))
        summed = [x for x in dict.fromkeys([*letters[0], *letters[1]]) if x not in kept]
        loops = " ".join([*kept, *summed])
        strides = (self.m,) * 2
        maps = [map_of(loops, text, Windows(strides, ())) for text in product]
        element = element_type(into.type)
        arguments = [Value(element, "e", self.op.location) for _ in product]
        term = binary("arith.mulf", *arguments[:2], location=self.op.location)
        total = binary("arith.addf", arguments[2], term.result)
        generic = linalg.generic(
            (self._constant(), source),
            (into,),
            maps,
            ["parallel"] * len(kept) + ["reduction"] * len(summed),
            arguments,
            [term, total, linalg.yield_([total.result], location=self.op.location)],
            location=self.op.location,
        )
        made = tuple(results) or (into.renewed(),)
        self.b.operations.append(generic.with_(results=made))
        return made[0]

    def _constant(self) -> Value:
        element = element_type(self.op.operands[0].type)
        ty = TensorType((len(self.matrix), len(self.matrix[0])), element)
        numbers = tuple(float(x) for row in self.matrix for x in row)
        value = {"value": DenseElementsAttr(numbers, ty, element)}
        return self.b.add("arith.constant", (), [ty], value, hint="matrix")[0]
