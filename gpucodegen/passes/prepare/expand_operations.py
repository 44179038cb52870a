"""Expansion of derived operations: generic atomics, poison, complex bits and clones.

A ``memref.generic_atomic_rmw`` whose body is an operation of the combiner table becomes
a ``memref.atomic_rmw``.  Any other one becomes a load, its body and a store where no
threads run concurrently; an ``affine.parallel`` around it becomes sequential, and later
proofs make it parallel again.  In launches it stays.  Operations on types without a
rule stay, for a later refusal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import ClassVar

from gpucodegen.dialects import arith, memref
from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS, COMBINERS
from gpucodegen.ir.attributes import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    StridedLayoutAttr,
    StringAttr,
)
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import (
    I1,
    I64,
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions
from gpucodegen.passes.lower_affine.control_flow import sequential
from gpucodegen.records import dataclass

WIDEST = 64
"""Bits of the widest scalar type of processors."""


@dataclass(slots=True)
class _Rewriter:
    """``same``: the replacements of values."""

    same: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def rewrite(self, op: Operation) -> list[Operation] | None:
        """The operations that replace an operation; None where it stays."""
        if op.name == "func.func":
            return [_without_unreachable(op)]
        if op.name == "memref.distinct_objects":
            self._merge(op.results, op.operands)
            return []
        rule, b = _RULES.get(op.name), Builder(op.location)
        found = None if rule is None else rule(b, op)
        if found is None:
            return None
        self._merge(op.results, (found,))
        return b.operations

    def _merge(self, values: Sequence[Value], others: Sequence[Value]) -> None:
        for value, other in zip(values, others, strict=True):
            self.same[value] = self.same.get(other, other)


Rule = Callable[[Builder, Operation], Value | None]
"""Builds the result of an operation; None where it stays."""


# -- numbers ---------------------------------------------------------------------------


def _poison(b: Builder, op: Operation) -> Value | None:
    """Zero, since any value is valid."""
    return _zero(b, op.result.type)


def _zero(b: Builder, ty: Type) -> Value | None:
    if isinstance(ty, ComplexType) and isinstance(ty.element, FloatType):
        parts = ArrayAttr((FloatAttr(0.0, ty.element),) * 2)
        return b.value("complex.constant", (), ty, {"value": parts})
    return _number(b, 0, ty)


def _number(b: Builder, value: float, ty: Type) -> Value | None:
    """A constant; None for dynamic tensors, memrefs and other types."""
    is_open = isinstance(ty, TensorType) and None in ty.shape
    plain = isinstance(element_type(ty), FloatType | IntegerType | IndexType)
    if is_open or not plain or isinstance(ty, MemRefType):
        return None
    made = arith.constant(value, ty, location=b.location)
    b.operations.append(made)
    return made.result


def _flushed(b: Builder, op: Operation) -> Value | None:
    """``arith.flush_denormals``: subnormals become zeros of their sign."""
    (x,) = op.operands
    name = str(element_type(x.type))
    least = _number(b, math.ldexp(1.0, FORMATS[name].low), x.type)
    zero = _number(b, 0.0, x.type)
    if least is None or zero is None:
        return None
    size = b.value("math.absf", (x,), x.type)
    compared = arith.compare("arith.cmpf", "olt", size, least, location=b.location)
    b.operations.append(compared)
    signed = b.value("math.copysign", (zero, x), x.type)
    return b.value("arith.select", (compared.result, signed, x), x.type)


def _recast(b: Builder, op: Operation) -> Value | None:
    """``complex.bitcast``: the real part is in the lower bits."""
    (x,), ty = op.operands, op.result.type
    if x.type == ty:
        return x
    bits = _bits(b, x)
    return None if bits is None else _from_bits(b, bits, ty)


def _bits(b: Builder, x: Value) -> Value | None:
    """The bits of a number as one integer."""
    if not isinstance(x.type, ComplexType):
        return b.cast("bitcast", x, IntegerType(arith.bit_width(x.type)))
    width = element_bits(x.type.element)
    if 2 * width > WIDEST:
        return None
    half, whole = IntegerType(width), IntegerType(2 * width)
    parts = [b.value(f"complex.{p}", (x,), x.type.element) for p in ("re", "im")]
    low, high = (
        b.value("arith.extui", (b.cast("bitcast", part, half),), whole)
        for part in parts
    )
    places = b.constant(width, whole)
    high = b.value("arith.shli", (high, places), whole)
    return b.value("arith.ori", (low, high), whole)


def _from_bits(b: Builder, bits: Value, ty: Type) -> Value:
    """The number that an integer's bits are."""
    if not isinstance(ty, ComplexType):
        return b.cast("bitcast", bits, ty)
    half = IntegerType(element_bits(ty.element))
    places = b.constant(half.width, bits.type)
    high = b.value("arith.shrui", (bits, places), bits.type)
    parts = [
        b.cast("bitcast", b.value("arith.trunci", (part,), half), ty.element)
        for part in (bits, high)
    ]
    return b.value("complex.create", parts, ty)


# -- memory ----------------------------------------------------------------------------


def _cloned(b: Builder, op: Operation) -> Value | None:
    """``bufferization.clone``: a buffer of its own, and a copy."""
    (source,), ty = op.operands, op.result.type
    if not isinstance(ty, MemRefType) or not isinstance(source.type, MemRefType):
        return None
    layout = ty.layout
    is_open = isinstance(layout, StridedLayoutAttr) and None in (
        *layout.strides,
        layout.offset,
    )
    own = MemRefType(ty.shape, ty.element, None if is_open else layout, ty.memory_space)
    open_ = [d for d, extent in enumerate(ty.shape) if extent is None]
    extents = [b.extent(source, d) for d in open_]
    made = b.allocate("memref.alloc", own, op.result.name, extents)
    b.operations.append(memref.copy(source, made, location=op.location))
    return b.value("memref.cast", (made,), ty) if is_open else made


# -- control flow ----------------------------------------------------------------------


def _without_unreachable(function: Operation) -> Operation:
    """Blocks end in a failed assertion where ``ub.unreachable`` ends them."""

    def ended(block: Block) -> Block:
        last = block.operations[-1] if block.operations else function
        if last.name != "ub.unreachable":
            return block
        b = Builder(last.location)
        results = [_zero(b, ty) for ty in Function(function).type.results]
        zeros = [zero for zero in results if zero is not None]
        if len(zeros) < len(results):
            return block
        said = {"msg": StringAttr("ub.unreachable was reached")}
        b.add("cf.assert", (b.constant(0, I1),), (), said)
        b.add("func.return", zeros)
        return block.with_operations((*block.operations[:-1], *b.operations))

    return function.with_blocks(ended)


_RULES: dict[str, Rule] = {
    "ub.poison": _poison,
    "arith.flush_denormals": _flushed,
    "complex.bitcast": _recast,
    "bufferization.clone": _cloned,
}
_CONCERNED = frozenset({*_RULES, "memref.distinct_objects", "ub.unreachable"})


NAME = "memref.generic_atomic_rmw"
LAUNCHES = frozenset({"gpu.func", "gpu.launch"})


@dataclass(frozen=True, slots=True)
class ExpandAtomics(ModulePass, name="expand-atomics"):
    """Generic atomic updates become ``memref.atomic_rmw``, or loads and stores.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%s: memref<i32>, %x: i32) {
    ...   memref.generic_atomic_rmw %s[] : memref<i32> {
    ...   ^bb0(%now: i32):
    ...     %y = arith.addi %now, %x : i32
    ...     memref.atomic_yield %y : i32
    ...   }
    ...   return
    ... }''')
    >>> "memref.atomic_rmw addi %x, %s[]" in str(ExpandAtomics().apply(module))
    True
    """

    looks_for: ClassVar[frozenset[str]] = frozenset({NAME})

    def apply(self, module: Module) -> Module:
        return in_functions(module, lambda op: _expanded(op, launched=False))


def _expanded(op: Operation, launched: bool) -> Sequence[Operation]:
    """The operations that replace an operation and its regions."""
    if op.name == NAME:
        return _combining(op) or ([op] if launched else _plain(op))
    launched = launched or op.name in LAUNCHES
    rebuilt = op.with_blocks(
        lambda block: block.with_operations(
            new for inner in block.operations for new in _expanded(inner, launched)
        )
    )
    turns = op.name == "affine.parallel" and not launched and _updates(op)
    return sequential(rebuilt) if turns else [rebuilt]


def _updates(op: Operation) -> bool:
    """Whether an operation contains an update that becomes a load and a store."""
    return any(i.name == NAME and _combining(i) is None for i in op.walk())


def _combining(op: Operation) -> list[Operation] | None:
    """A ``memref.atomic_rmw`` after operations that do not use the element, or None.

    ``inner``: the operations that use the element, one combiner of the table, whose
    result becomes the element.
    """
    (now,) = op.body.arguments
    *body, last = op.body.operations
    depends: set[Value] = {now}
    inner: list[Operation] = []
    for step in body:
        if depends.intersection(step.used):
            inner.append(step)
            depends.update(step.results)
    kind = _kind(inner[0]) if len(inner) == 1 else None
    if kind is None or inner[0].operands.count(now) != 1:
        return None
    if last.operands[0] is not inner[0].result:
        return None
    (value,) = (v for v in inner[0].operands if v is not now)
    update = Operation(
        "memref.atomic_rmw",
        (value, *op.operands),
        op.results,
        {"kind": IntegerAttr(ATOMIC_KINDS.index(kind), I64)},
        location=op.location,
    )
    return [*(step for step in body if step is not inner[0]), update]


def _kind(op: Operation) -> str | None:
    """The word of ``memref.atomic_rmw`` for an operation, if there is one."""
    row = COMBINERS.get(op.name.removeprefix("arith."))
    return row.atomic or None if row is not None and op.dialect == "arith" else None


def _plain(op: Operation) -> list[Operation]:
    """A load, the body, and a store."""
    (now,) = op.body.arguments
    buffer, *indices = op.operands
    before = memref.load(buffer, indices, location=op.location)
    before = before.with_(results=op.results)
    *body, last = op.body.operations
    renamed = [substitute_values(step, {now: op.result}) for step in body]
    after = op.result if last.operands[0] is now else last.operands[0]
    store = memref.store(after, buffer, indices, location=op.location)
    return [before, *renamed, store]


@dataclass(frozen=True, slots=True)
class ExpandOperations(ModulePass, name="expand-operations"):
    """Expand derived operations into basic ones.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f() -> f32 {
    ...   %x = ub.poison : f32
    ...   return %x : f32
    ... }''')
    >>> "arith.constant 0.0" in str(ExpandOperations().apply(module))
    True
    """

    looks_for: ClassVar[frozenset[str]] = _CONCERNED

    def apply(self, module: Module) -> Module:
        rewriter = _Rewriter()
        (root,) = rewrite_bottom_up(module.operation, rewriter.rewrite)
        return Module(substitute_values(root, rewriter.same))
