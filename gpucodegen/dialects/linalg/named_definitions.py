"""Indexing maps, iterator types and scalar body of every named linalg operation.

They follow from the table of named operations and give the equivalent
``linalg.generic``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.dialects import linalg
from gpucodegen.dialects.gcg import NAME
from gpucodegen.dialects.linalg import Structured
from gpucodegen.dialects.linalg.named_bodies import BINARY, Scalar
from gpucodegen.dialects.linalg.named_bodies import scalar_body as build_body
from gpucodegen.dialects.linalg.named_tables import (
    CONTRACTIONS,
    MAPPED,
    NAMED,
    POINTWISE,
    SCALAR,
    Named,
)
from gpucodegen.ir.affine import AffineExpr, AffineMap, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import Operation, single_block
from gpucodegen.ir.types import MemRefType, TensorType, Type, VectorType
from gpucodegen.records import dataclass

PARALLEL, REDUCTION = "parallel", "reduction"
WITH_REGION = frozenset(["generic", "map", "reduce"])
"""Operations whose text includes their body."""

_REARRANGING = frozenset(["transpose", "broadcast"])


def base_name(op: Operation) -> str:
    """Name without the dialect."""
    return op.name.partition(".")[2]


def is_structured(op: Operation) -> bool:
    """Whether maps, loops and scalar body of the operation are known."""
    name = base_name(op)
    tables = (NAMED, POINTWISE, MAPPED, WITH_REGION, _REARRANGING)
    return op.dialect == "linalg" and any(name in table for table in tables)


def rank_of(op: Operation) -> int:
    ty = op.operands[-1].type
    is_shaped = isinstance(ty, MemRefType | TensorType | VectorType)
    return len(ty.shape) if is_shaped else 0


def entry_of(op: Operation) -> Named | None:
    """The table row of a named operation, else None."""
    return NAMED.get(base_name(op))


# -- maps ------------------------------------------------------------------------------


def indexing_maps(op: Operation) -> tuple[AffineMap, ...]:
    """One map per operand, inputs first."""
    written = op.attributes.get("indexing_maps")
    if isinstance(written, ArrayAttr):
        return tuple(m.map for m in written.values if isinstance(m, AffineMapAttr))
    return default_maps(op)


def default_maps(op: Operation) -> tuple[AffineMap, ...]:
    """The default maps of an operation without ``indexing_maps``."""
    entry = entry_of(op)
    if entry is not None:
        windows = Windows(numbers(op, "strides"), numbers(op, "dilations"))
        operands = (*entry.inputs, entry.output)
        return tuple(map_of(entry.loops, text, windows) for text in operands)
    name = base_name(op)
    rank = rank_of(op)
    if name == "reduce":
        return _reduce_maps(op)
    identity = AffineMap.identity(rank)
    if name == "transpose":
        order = numbers(op, "permutation")
        results = tuple(Dim(order.index(i)) for i in range(rank) if i in order)
        return AffineMap(rank, 0, results), identity
    if name == "broadcast":
        return _without(rank, numbers(op, "dimensions")), identity
    return tuple(
        identity if name == "elementwise" or _is_shaped(v.type) else _without(rank)
        for v in op.operands
    )


def _is_shaped(ty: Type) -> bool:
    return isinstance(ty, MemRefType | TensorType)


def _reduce_maps(op: Operation) -> tuple[AffineMap, ...]:
    half = len(op.operands) // 2
    first = op.operands[0].type
    rank = len(first.shape) if isinstance(first, MemRefType | TensorType) else 0
    kept = _without(rank, numbers(op, "dimensions"))
    return (AffineMap.identity(rank),) * half + (kept,) * half


def _without(rank: int, dropped: Sequence[int] | None = None) -> AffineMap:
    """Identity results without the dropped dimensions; by default all are dropped."""
    gone = range(rank) if dropped is None else dropped
    return AffineMap(rank, 0, tuple(Dim(i) for i in range(rank) if i not in gone))


@dataclass(slots=True)
class Windows:
    """Strides and dilations, consumed in the order of the windows."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    used: int = 0

    def index(self, point: AffineExpr, tap: AffineExpr) -> AffineExpr:
        """``point * stride + tap * dilation`` of the next window."""
        stride, dilation = (
            values[self.used] if self.used < len(values) else 1
            for values in (self.strides, self.dilations)
        )
        self.used += 1
        return point * stride + tap * dilation


def map_of(loops: str, text: str, windows: Windows | None = None) -> AffineMap:
    """The map of an operand in the table's notation.

    >>> print(map_of("m n k", "k n"))
    (d0, d1, d2) -> (d2, d1)
    """
    windows = windows or Windows((), ())
    dims = {name: Dim(i) for i, name in enumerate(loops.split())}
    results: list[AffineExpr] = []
    for index in text.replace(SCALAR, "").split():
        if ":" in index:
            point, _, tap = index.partition(":")
            results.append(windows.index(dims[point], dims[tap]))
        elif "+" in index:
            point, _, tap = index.partition("+")
            results.append(dims[point] + dims[tap])
        else:
            results.append(dims[index])
    return AffineMap(len(dims), 0, tuple(results))


def numbers(op: Operation, name: str) -> tuple[int, ...]:
    """The integers of an attribute in any representation; empty if it is absent."""
    match op.attributes.get(name):
        case DenseArrayAttr(_, values):
            return tuple(map(int, values))
        case DenseElementsAttr() as dense:
            shape = getattr(dense.type, "shape", (1,))
            values = dense.values * prod(shape) if dense.is_splat else dense.values
            return tuple(int(str(v)) for v in values)
        case ArrayAttr(values):
            return tuple(v.value for v in values if isinstance(v, IntegerAttr))
        case _:
            return ()


# -- loops -----------------------------------------------------------------------------


def iterator_types(op: Operation) -> tuple[str, ...]:
    """``parallel`` or ``reduction`` per loop."""
    if op.name == "linalg.generic":
        return Structured(op).iterator_types
    maps = indexing_maps(op)
    if not maps:
        return ()
    kept = {dim.position for dim in maps[-1].results if isinstance(dim, Dim)}
    loops = range(maps[0].num_dims)
    return tuple(PARALLEL if d in kept else REDUCTION for d in loops)


# -- body ------------------------------------------------------------------------------

_MAPPED_BODIES = {"contract": "multiply_add", "scaled_contract": "multiply_add_scaled"}
CHOSEN_BY = {"elementwise": "kind", "elemwise_unary": "fun", "elemwise_binary": "fun"}
_DEFAULT_FUNCTIONS = {"elemwise_unary": "exp", "elemwise_binary": "add"}


def body_kind(op: Operation) -> str:
    """The key of the scalar computation."""
    name = base_name(op)
    if name in CHOSEN_BY:
        chosen = op.attributes.get(CHOSEN_BY[name])
        return enumerator(chosen) if chosen else _DEFAULT_FUNCTIONS.get(name, "")
    if name in NAMED:
        return NAMED[name].body
    if name in _REARRANGING:
        return "copy"
    return _MAPPED_BODIES.get(name, name)


def enumerator(value: Attribute) -> str:
    """``exp`` of ``#linalg.unary_fn<exp>``."""
    return str(value).partition("<")[2].removesuffix(">")


def scalar_body(op: Operation) -> Scalar:
    """Arguments and operations of the scalar computation, including the yield."""
    outputs = op.operands[-1:]
    return build_body(body_kind(op), op, op.operands[:-1], outputs)


def generalized(op: Operation) -> Operation:
    """The equivalent ``linalg.generic`` of a named operation."""
    count = len(op.operands) // 2 if op.name == "linalg.reduce" else 1
    if base_name(op) in WITH_REGION:
        arguments, operations = op.body.arguments, op.body.operations
    else:
        body = scalar_body(op)
        arguments, operations = body.arguments, body.operations
    generic = linalg.generic(
        op.operands[:-count],
        op.operands[-count:],
        indexing_maps(op),
        iterator_types(op),
        arguments,
        operations,
        location=op.location,
    )
    named = op.attributes.get(NAME)
    if named is not None:
        generic = generic.with_attribute(NAME, named)
    return generic.with_(results=op.results)


def with_region(op: Operation) -> Operation:
    """The operation with explicit body and maps, for the generic form."""
    body = scalar_body(op)
    region = single_block(body.operations, body.arguments)
    op = op.with_(regions=(region,))
    if base_name(op) not in CONTRACTIONS and base_name(op) != "elementwise":
        return op
    maps = ArrayAttr(tuple(map(AffineMapAttr, indexing_maps(op))))
    return op.with_attribute("indexing_maps", maps)


__all__ = ["BINARY", "CONTRACTIONS", "NAMED", "POINTWISE", "generalized"]
