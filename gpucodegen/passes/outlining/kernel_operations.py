"""Operations between nests that kernels execute instead of the host.

A scalar load, store or computation on a kernel's results costs as much in the host
program as a short row, so an adjacent kernel runs it, as it does small copies, and
starts and waits of DMA copies (those of one tag are proven together).

Vectors exist in kernels only.  Every kernel that uses a vector repeats the pure
operations that compute it; an operation that touches memory, computes a number for the
host, or depends on one of these, joins one kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from gpucodegen.dialects import math
from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.memref import needs_runtime
from gpucodegen.dialects.shared.dma import TRANSFERS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.passes.framework.functions import has_no_effect

_ARITHMETIC = (
    "addf subf mulf divf negf maximumf minimumf maxnumf minnumf addi subi muli andi "
    "ori xori shli shrsi shrui minsi maxsi minui maxui cmpi cmpf select"
).split()
_CASTS = (
    "extf truncf extsi extui trunci sitofp uitofp fptosi fptoui bitcast index_cast "
    "index_castui"
).split()

ELEMENTWISE = frozenset(f"arith.{name}" for name in (*_ARITHMETIC, *_CASTS)).union(
    ["math.absi"], math.names(math.INSTRUCTIONS), math.names(math.POLYNOMIALS)
)
"""Operations with vector instructions; integer divisions have none."""


def lane_bits(ty: Type) -> int | None:
    """Bits of a vector lane of a type, None if vectors cannot hold it.

    It is 0 for a bit, 64 for ``index``; halves are computed with in f32.

    >>> from gpucodegen.ir.types import F32, I1, INDEX
    >>> lane_bits(F32), lane_bits(I1), lane_bits(INDEX), lane_bits(FloatType("bf16"))
    (32, 0, 64, 32)
    """
    match ty:
        case FloatType("f16" | "bf16"):
            return 32
        case FloatType("f32" | "f64") | IndexType():
            return bit_width(ty) or 64
        case IntegerType(width=1):
            return 0
        case IntegerType(width=8 | 16 | 32 | 64):
            return ty.width
        case _:
            return None


_POLYNOMIALS = math.names(math.POLYNOMIALS)
FUNCTION_COST = 20
"""Approximate operations of a function's polynomial."""


def cost(op: Operation) -> int:
    """The approximate number of vector instructions of an operation.

    >>> from gpucodegen.ir.operation import Operation
    >>> cost(Operation("arith.addf")), cost(Operation("math.exp"))
    (1, 20)
    """
    return FUNCTION_COST if op.name in _POLYNOMIALS else 1


def is_repeatable(op: Operation) -> bool:
    """Whether kernels recompute a vector instead of loading it."""
    return has_no_effect(op) and any(isinstance(v.type, VectorType) for v in op.results)


def needs_kernel(op: Operation, made: Collection[Value]) -> bool:
    """Whether an operation on vectors has to join the kernel that defines ``made``."""
    definition = lookup(op.name)
    if definition is None or definition.has(Trait.TERMINATOR):
        return False
    values = (*op.operands, *op.results)
    has_vectors = any(isinstance(value.type, VectorType) for value in values)
    if not has_vectors and op.dialect != "vector":
        return False
    gives_number = bool(op.results) and not is_repeatable(op)
    is_pure = definition.has(Trait.PURE) and not gives_number
    return not is_pure or any(v in made for v in op.operands)


def made_into_vectors(function: Operation) -> set[Value]:
    """Values from which vectors are made, directly or indirectly."""
    found: set[Value] = set()
    for op in reversed(list(function.walk())):
        if is_repeatable(op) or not found.isdisjoint(op.results):
            found.update(op.operands)
    return found


VIEWS = frozenset(
    {
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.transpose",
    }
)
"""Kernels repeat them: a kernel does not know the offset of a view argument."""
LOADS = frozenset({"affine.load", "memref.load"})
STORES = frozenset({"affine.store", "memref.store"})
EFFECTS = STORES | TRANSFERS | {"memref.copy"}
SMALL_COPY = 1 << 14
"""Most bytes of a copy that a kernel makes: the host makes larger ones in parallel."""
SCALARS = (FloatType, IntegerType, IndexType, ComplexType)
SCALAR_DIALECTS = frozenset({"arith", "complex", "math"})


def is_step(op: Operation, made: Collection[Value] = ()) -> bool:
    """Whether a kernel that defines some values may run an operation.

    >>> from gpucodegen.ir.types import F32
    >>> x = Value(F32, "x")
    >>> root = Operation("math.sqrt", (x,), (Value(F32, "y"),))
    >>> is_step(root, [x]), is_step(root)
    (True, False)

    So are views at a computed place, and small copies of which one side is row-major.
    """
    if op.name in TRANSFERS:
        return True
    if op.name == "memref.copy":
        return any(0 < known_bytes(v.type) <= SMALL_COPY for v in op.operands)
    if op.name in VIEWS:
        return not needs_runtime(op) and any(v in made for v in op.operands)
    if op.name in LOADS | STORES:
        buffer = op.operands[op.name in STORES].type
        return isinstance(buffer, MemRefType) and _is_number(element_type(buffer))
    return (
        is_scalar_computation(op)
        and all(isinstance(v.type, SCALARS) for v in op.operands)
        and any(v in made for v in op.operands)
    )


def known_bytes(ty: Type) -> int:
    """Bytes of a row-major buffer of known extents; else zero."""
    if not isinstance(ty, MemRefType) or ty.layout is not None or None in ty.shape:
        return 0
    return prod(n or 0 for n in ty.shape) * -(-(bit_width(ty.element) or 64) // 8)


def is_scalar_computation(op: Operation) -> bool:
    """Whether an operation only computes scalars from its operands."""
    has_scalars = all(isinstance(v.type, SCALARS) for v in op.results)
    return op.dialect in SCALAR_DIALECTS and has_scalars and has_no_effect(op)


def _is_number(ty: Type) -> bool:
    """Whether processors have registers for the type."""
    return (lane_bits(ty) or 0) >= 8


def steps_before(
    operations: Sequence[Operation], stays: Collection[Operation]
) -> list[Operation]:
    """The last accesses of a list that may move behind all later operations.

    ``stays``: operations that may follow them, since they touch no elements.
    """
    taken: list[Operation] = []
    used: set[Value] = set()
    for op in reversed(operations):
        if op.name in LOADS | EFFECTS and is_step(op) and used.isdisjoint(op.results):
            taken.append(op)
        elif op in stays:
            used.update(op.operands)
        else:
            break
    return taken[::-1]


def steps_behind(
    kernel: Sequence[Operation], operations: Sequence[Operation]
) -> Sequence[Operation]:
    """The first operations of a list, up to the last one that writes memory.

    A scalar that the host stored would pass through a buffer of its own.
    """
    made = {value for op in kernel for value in op.results}
    count = 0
    for position, op in enumerate(operations):
        depends = op.name in TRANSFERS or not made.isdisjoint(op.operands)
        if not depends or not is_step(op, made):
            continue
        made.update(op.results)
        count = position + 1 if op.name in EFFECTS else count
    return operations[:count]
