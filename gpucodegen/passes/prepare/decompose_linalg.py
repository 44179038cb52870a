"""Decomposition of linalg operations: softmax, padded windows and Winograd transforms.

``linalg.softmax`` becomes passes over a row, which loop fusion joins.  Subtracting the
maximum keeps every power at most 1; the output holds the powers in between:

    max = max_j x;  e = exp(x - max);  sum = sum_j e;  y = e / sum

Convolutions and poolings of 2020, with padding or any number of dimensions, read a
padded copy of the image.  The padding is zero, or the smallest number for a maximum:

    P = padded copy of the image
    output op= f(P[x * stride + z * dilation])

Winograd transforms are products with constant matrices on both sides,

    filter    T[i, q] = sum_p G[i, p] g[p, q]      U[i, j] = sum_q G[j, q] T[i, q]

and likewise with ``B'`` for tiles of the image, and with ``A'`` for tiles of the
result, which are added to the output.  A side on which the filter has one tap is
unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import inf
from typing import ClassVar

from gpucodegen.dialects import linalg
from gpucodegen.dialects.arith import binary, is_float
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.linalg.named_bodies import scalar_body
from gpucodegen.dialects.linalg.named_definitions import Windows, map_of, numbers
from gpucodegen.dialects.linalg.relayout import MATRICES, Matrix, winograd_sizes
from gpucodegen.ir.affine import AffineExpr, AffineMap, Dim
from gpucodegen.ir.attributes import DenseElementsAttr, IntegerAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Value,
    rewrite_bottom_up,
    segment_counts,
    segment_sizes,
)
from gpucodegen.ir.types import (
    INDEX,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.linalg_nests import each, extent
from gpucodegen.records import dataclass

Scalars = Callable[[Builder, Sequence[Value]], Value]


@dataclass(frozen=True, slots=True)
class DecomposeSoftmax(
    ModulePass, name="decompose-softmax", looks_for="linalg.softmax"
):
    """Softmax, of tensors or in memory, becomes structured operations."""

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _softmax_decomposed)
        return Module(root)


def _softmax_decomposed(op: Operation) -> list[Operation] | None:
    if op.name != "linalg.softmax":
        return None
    softmax = _Softmax(op, Builder(op.location))
    softmax.build()
    return softmax.b.operations


def _scalar(name: str) -> Scalars:
    def build(b: Builder, operands: Sequence[Value]) -> Value:
        first, second = operands[:2]
        return b.value(name, (first, second), first.type)

    return build


def _power(b: Builder, operands: Sequence[Value]) -> Value:
    difference = _scalar("arith.subf")(b, operands)
    return b.value("math.exp", (difference,), difference.type)


@dataclass(frozen=True, slots=True)
class _Softmax:
    op: Operation
    b: Builder

    @property
    def shape(self) -> tuple[int | None, ...]:
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
        """Append the operations; the last one defines the results."""
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
        """A function of each element and of its row's scalar."""
        full = AffineMap.identity(len(self.shape))
        maps, kinds = [full, self._row_map(), full], ["parallel"] * len(self.shape)
        return self._generic(inputs, output, (maps, kinds), scalars, None)

    def _divided(self, powers: Value, total: Value) -> None:
        """Divide the powers in place; this gives the results."""

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
        """A buffer with one element per row."""
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
            return self.b.value(
                "tensor.empty", sizes, TensorType(shape, element), hint=hint
            )
        counts = {"operandSegmentSizes": segment_counts(len(sizes), 0)}
        return self.b.value(
            "memref.alloc", sizes, MemRefType(shape, element), counts, hint=hint
        )

    def _generic(
        self,
        inputs: Sequence[Value],
        output: Value,
        form: tuple[list[AffineMap], list[str]],
        scalars: Scalars,
        results: tuple[Value, ...] | None,
    ) -> Value:
        """A ``linalg.generic``; returns the value that holds its result."""
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


Sides = tuple[tuple[int, int], ...]
"""Padding before and after each dimension."""


def _window_decomposed(op: Operation) -> list[Operation] | None:
    build = _BUILD.get(op.name)
    on_buffers = all(isinstance(v.type, MemRefType) for v in op.operands)
    if build is None or not on_buffers:
        return None
    b = Builder(op.location)
    build(b, op)
    return b.operations


# -- convolutions ----------------------------------------------------------------------


def _convolution(b: Builder, op: Operation) -> None:
    """``output[b, x.., k] += sum filter[z.., q, k] * image[b, x*s + z*d.., q]``."""
    filter_, image, output = op.operands
    windows = len(_shape(image)) - 2
    padded = _padded(b, image, ((0, 0), *_sides(op, windows), (0, 0)), 0)
    batch, *points = map(Dim, range(windows + 1))
    channel, *taps = map(Dim, range(windows + 1, 2 * windows + 2))
    depth = Dim(2 * windows + 2)
    places = _places(op, points, taps)
    maps = [(batch, *places, depth), (*taps, depth, channel), (batch, *points, channel)]
    kinds = ["parallel"] * (windows + 2) + ["reduction"] * (windows + 1)
    _generic(b, op, (padded, filter_, output), _numbered(maps), kinds, "multiply_add")
    _release(b, padded, image)


def _numbered(
    maps: Sequence[Sequence[AffineExpr]],
) -> list[AffineMap]:
    loops = 1 + max(d.position for m in maps for d in m if isinstance(d, Dim))
    return [AffineMap(loops, 0, tuple(results)) for results in maps]


# -- poolings --------------------------------------------------------------------------


def _pooling(kind: str) -> Callable[[Builder, Operation], None]:
    def build(b: Builder, op: Operation) -> None:
        image, window, output = op.operands
        rank = len(_shape(image))
        neutral = _NEUTRAL[kind](element_type(image.type))
        padded = _padded(b, image, _sides(op, rank), neutral)
        points, taps = (
            list(map(Dim, range(rank))),
            list(map(Dim, range(rank, 2 * rank))),
        )
        maps = _numbered([_places(op, points, taps), taps, points])
        kinds = ["parallel"] * rank + ["reduction"] * rank
        _generic(b, op, (padded, window, output), maps, kinds, f"pool_{kind}")
        _release(b, padded, image)

    return build


def _smallest(ty: Type) -> float:
    return -(1 << (ty.width - 1)) if isinstance(ty, IntegerType) else -float("inf")


def _largest(ty: Type) -> float:
    return (1 << (ty.width - 1)) - 1 if isinstance(ty, IntegerType) else float("inf")


_NEUTRAL: dict[str, Callable[[Type], float]] = {
    "max": _smallest,
    "min": _largest,
    "sum": lambda _: 0,
}
"""The neutral element of each combination."""

_BUILD: dict[str, Callable[[Builder, Operation], None]] = {
    "linalg.conv": _convolution,
    **{f"linalg.pooling_{kind}": _pooling(kind) for kind in _NEUTRAL},
}


# -- both ------------------------------------------------------------------------------


def _shape(value: Value) -> tuple[int | None, ...]:
    assert isinstance(value.type, MemRefType)
    return value.type.shape


def _sides(op: Operation, windows: int) -> Sides:
    flat = numbers(op, "padding") or (0,) * (2 * windows)
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _places(
    op: Operation, points: Sequence[Dim], taps: Sequence[Dim]
) -> list[AffineExpr]:
    ones = (1,) * len(points)
    strides, dilations = (numbers(op, n) or ones for n in ("strides", "dilations"))
    return [
        x * stride + z * dilation
        for x, z, stride, dilation in zip(points, taps, strides, dilations, strict=True)
    ]


def _padded(b: Builder, image: Value, sides: Sides, neutral: float) -> Value:
    """A padded copy; the image itself where no padding is needed."""
    if not any(map(any, sides)):
        return image
    extents = [extent(b, image, d) for d in range(len(sides))]
    whole = [n + low + high for n, (low, high) in zip(extents, sides, strict=True)]
    element = element_type(image.type)
    ty = MemRefType(tuple(n.constant for n in whole), element)
    sizes = [b.index(n) for n in whole if n.constant is None]
    padded = b.allocate("memref.alloc", ty, "padded", sizes)
    value = float(neutral) if is_float(element) else int(neutral)
    filler = b.constant(value, element)
    each(b, whole, lambda inner, at: inner.store(filler, padded, at))

    def copy(inner: Builder, at: Sequence[Index]) -> None:
        moved = [i + low for i, (low, _) in zip(at, sides, strict=True)]
        inner.store(inner.load(image, at), padded, moved)

    each(b, extents, copy)
    return padded


def _release(b: Builder, padded: Value, image: Value) -> None:
    if padded is not image:
        b.add("memref.dealloc", (padded,))


def _generic(
    b: Builder,
    op: Operation,
    operands: Sequence[Value],
    maps: Sequence[AffineMap],
    kinds: Sequence[str],
    body: str,
) -> None:
    *inputs, output = operands
    scalar = scalar_body(body, op, inputs, [output])
    arguments, operations = scalar.arguments, scalar.operations
    made = linalg.generic(
        inputs, [output], maps, kinds, arguments, operations, location=op.location
    )
    b.operations.append(made)


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
"""The operand and the dimensions of extent 1 where a side is unchanged."""


def _winograd_decomposed(op: Operation) -> list[Operation] | None:
    part = op.name.removeprefix("linalg.winograd_").removesuffix("_transform")
    if part == op.name or part not in _SIDES:
        return None
    m, r = winograd_sizes(op)
    transform = _Transform(op, m, MATRICES[m, r][part], Builder(op.location))
    transform.build(part)
    return transform.b.operations


@dataclass(frozen=True, slots=True)
class _Transform:
    """``extents``: an operand and dimension with the extent of each index."""

    op: Operation
    m: int
    matrix: Matrix
    b: Builder
    extents: dict[str, int | tuple[Value, int]] = field(
        default_factory=dict[str, "int | tuple[Value, int]"]
    )

    def build(self, part: str) -> None:
        """Append the operations; the last one defines the results."""
        source, target = self.op.operands
        *first, last = _PRODUCTS[part, self._sides(part)]
        self._note(last[2], target)
        for product in first:
            self._note(product[1], source)
            (rows, _) = product[0].split()
            self.extents[rows] = len(self.matrix)
            source = self._product(product, source, self._empty(product[2]))
        # Only the last transform accumulates into the contents of its output.
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
        return self.b.value("linalg.fill", (zero, tensor), tensor.type, attributes)

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
        return self.b.value("arith.constant", (), ty, value, hint="matrix")


@dataclass(frozen=True, slots=True)
class DecomposeWinograd(ModulePass, name="decompose-winograd"):
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

    looks_for: ClassVar[frozenset[str]] = frozenset(
        f"linalg.winograd_{side}_transform" for side in _SIDES
    )

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _winograd_decomposed)
        return Module(root)


@dataclass(frozen=True, slots=True)
class DecomposeWindows(ModulePass, name="decompose-windows"):
    """``linalg.conv`` and ``linalg.pooling_*`` become structured operations.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func @f(%x: memref<8xf32>, %w: memref<3xf32>, %y: memref<8xf32>) {
    ...   linalg.pooling_max(%x, %w, %y)
    ...     {strides = [1], padding = dense<1> : tensor<1x2xi64>}
    ...     : memref<8xf32>, memref<3xf32>, memref<8xf32>
    ...   return
    ... }''')
    >>> made = DecomposeWindows().apply(module).functions["f"].body.operations
    >>> [op.name for op in made if op.dialect in ("memref", "linalg")]
    ['memref.alloc', 'linalg.generic', 'memref.dealloc']
    """

    looks_for: ClassVar[frozenset[str]] = frozenset(_BUILD)

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _window_decomposed)
        return Module(root)
