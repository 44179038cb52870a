"""Isolation of contractions: loop distribution gives each a nest of its own.

Where part of an affine nest is a contraction that register tiles pay for:

1. loop-carried sums become sums in memory (`reduction_to_memory`);
2. vectors that each iteration fills anew become matrices (array expansion);
3. loops are distributed over their bodies (`distribute`).

Array expansion gives a small buffer one more dimension, the iteration:

    for q { t[..] = ..; .. = t[..] }   =>   for q { T[q, ..] = ..; .. = T[q, ..] }

It is legal iff the buffer can be privatized per iteration without copying in
(`gpucodegen.tiling.proof.liveness`); the contents after the last iteration are copied
out.  The summation order of each element is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value, replaced, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.analysis.lifting.aliases import Escapes, owners
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.contraction.cpu.kernel_forms import paying_contraction
from gpucodegen.passes.contraction.recognize import MULTIPLY
from gpucodegen.passes.contraction.reduction_to_memory import (
    reductions_in_memory,
    shared_buffers,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.indexing import Index, as_map, from_map
from gpucodegen.passes.framework.nests import Axis, axis_of
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.liveness import (
    LoopKind,
    Private,
    loop_verdicts,
    values,
    with_privatisation,
)


@dataclass(frozen=True, slots=True)
class Expansion:
    """A loop with its replacement and the expanded buffers."""

    loop: Operation
    operations: tuple[Operation, ...]


def expansions(
    function: Operation, surroundings: Surroundings, max_bytes: int
) -> Iterator[Expansion]:
    """The loops by which buffers may be expanded, to at most ``max_bytes`` each."""
    lifted = lift_function(function, surroundings)
    built = model(lifted.scop)
    passed = values(built)
    named = owners(tuple(function.walk()))
    aliased = Escapes.of([function]).anywhere.union(named, named.values())
    for verdict in loop_verdicts(built):
        op, (found,) = verdict.loop.payload, with_privatisation([verdict], passed)
        axis = axis_of(op) if isinstance(op, Operation) else None
        if found.kind is not LoopKind.PRIVATISABLE or axis is None:
            continue
        buffers = {lifted.arrays[p.array]: p for p in found.private}
        expanded = _with_expanded_buffers(axis, buffers, max_bytes)
        if expanded and aliased.isdisjoint(buffers) and _only_accessed(axis, buffers):
            yield Expansion(axis.operation, tuple(expanded))


def _only_accessed(axis: Axis, buffers: Mapping[Value, Private]) -> bool:
    """Whether the loop uses the buffers by loads and stores of single elements."""
    return all(
        op.name in _MEMREF or not set(buffers).intersection(op.operands)
        for op in axis.operation.walk()
    )


_MEMREF = {"affine.load": 0, "affine.store": 1}
"""Position of the buffer among the operands."""


def _with_expanded_buffers(
    axis: Axis, buffers: Mapping[Value, Private], max_bytes: int
) -> list[Operation]:
    """Allocations, the loop on larger buffers, copies out, deallocations."""
    b, end = Builder(axis.operation.location), Builder(axis.operation.location)
    larger: dict[Value, Value] = {}
    for buffer, private in buffers.items():
        ty = buffer.type
        if private.copied_in or not isinstance(ty, MemRefType) or ty.layout:
            return []
        extents = (axis.extent, *ty.shape)
        size = prod(n or max_bytes for n in extents) * element_bits(ty.element) // 8
        if size > max_bytes or ty.memory_space:
            return []
        new = b.allocate("memref.alloc", MemRefType(extents, ty.element), buffer.name)
        larger[buffer] = new
        if private.copied_out:
            _copy_last(end, new, buffer)
        end.add("memref.dealloc", (new,))
    return [*b.operations, _on_larger(axis, larger), *end.operations]


def _copy_last(b: Builder, larger: Value, buffer: Value) -> None:
    """``buffer[..] = larger[last, ..]``."""
    assert isinstance(larger.type, MemRefType)
    last, *extents = (n or 0 for n in larger.type.shape)

    def cells(i: Builder, at: tuple[Value, ...]) -> None:
        if len(at) == len(extents):
            i.store(i.load(larger, [last - 1, *at]), buffer, at)
        else:
            i.loop(0, extents[len(at)], lambda j, iv: cells(j, (*at, iv)), hint="e")

    cells(b, ())


def _on_larger(axis: Axis, larger: Mapping[Value, Value]) -> Operation:
    """The loop with its iteration as first index of some buffers."""
    position = Index.of(axis.iv) - axis.lower
    number = position // axis.step if axis.step > 1 else position

    def rewrite(op: Operation) -> list[Operation] | None:
        at = _MEMREF.get(op.name)
        if at is None or op.operands[at] not in larger:
            return None
        attribute = op.attributes["map"]
        assert isinstance(attribute, AffineMapAttr)
        indices = from_map(attribute.map, op.operands[at + 1 :])
        map_, operands = as_map([number, *indices])
        first = (*op.operands[:at], larger[op.operands[at]])
        moved = op.with_(operands=(*first, *operands))
        return [moved.with_attribute("map", AffineMapAttr(map_))]

    (result,) = rewrite_bottom_up(axis.operation, rewrite)
    assert affine.For(result).iv is axis.iv
    return result


@dataclass(frozen=True, slots=True)
class IsolateContractions(ModulePass):
    """Give contractions nests of their own; ``max_bytes`` of a matrix made of vectors.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<8x8xf32>, %B: memref<8x8xf32>,
    ...                                     %C: memref<8x8xf32>, %zero: f32) {
    ...   affine.for %i = 0 to 8 {
    ...     affine.for %j = 0 to 8 {
    ...       %s = affine.for %k = 0 to 8 iter_args(%p = %zero) -> (f32) {
    ...         %a = affine.load %A[%i, %k] : memref<8x8xf32>
    ...         %b = affine.load %B[%k, %j] : memref<8x8xf32>
    ...         %ab = arith.mulf %a, %b : f32
    ...         %q = arith.addf %p, %ab : f32
    ...         affine.yield %q : f32
    ...       }
    ...       affine.store %s, %C[%i, %j] : memref<8x8xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> nests = IsolateContractions().apply(module).functions["f"].body.operations[:-1]
    >>> [paying_contraction(nest) is not None for nest in nests]
    [False, True]
    """

    name: ClassVar[str] = "isolate-contractions"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    max_bytes: int = 1 << 24

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def changed(op: Operation) -> list[Operation]:
            if not any(map(_may_contract, op.walk())):
                return [op]
            shared = shared_buffers(op, surroundings)
            found = with_blocks(op, lambda ops: _isolated(ops, surroundings, shared))
            return [_isolated_by_expansion(found, surroundings, self.max_bytes)]

        return in_functions(module, changed)


def _may_contract(op: Operation) -> bool:
    """Whether a loop stores or yields an old value plus a product, as sums do.

    The old value is loaded or carried, so a polynomial does not count.
    """
    if op.name != "affine.for":
        return False
    body = op.body.operations
    made = {inner.result: inner for inner in body if len(inner.results) == 1}
    carried = op.body.arguments[1:]

    def adds_product(total: Operation | None) -> bool:
        if total is None or total.name not in MULTIPLY:
            return False
        first, second = (made.get(value) for value in total.operands)
        pairs = (total.operands[0], first, second), (total.operands[1], second, first)
        return any(
            product is not None
            and product.name == MULTIPLY[total.name]
            and (value in carried if old is None else old.name == "affine.load")
            for value, old, product in pairs
        )

    ends = (
        o.operands[: 1 if o.name == _STORE else None] for o in body if o.name in _ENDS
    )
    return any(adds_product(made.get(value)) for values in ends for value in values)


_STORE = "affine.store"
_ENDS = frozenset({_STORE, "affine.yield"})


def _isolated(
    operations: Sequence[Operation],
    surroundings: Surroundings,
    shared: frozenset[Value],
) -> list[Operation]:
    """The operations of a block with its nests in parts."""
    current: list[Operation] = []
    for at, op in enumerate(operations):
        is_candidate = op.name == "affine.for" and any(map(_may_contract, op.walk()))
        if not is_candidate or paying_contraction(op):
            current.append(op)
            continue
        found = reductions_in_memory(op, shared)
        before = (*operations[:at], *found.allocations)
        parts = _parts(found.nest, before, surroundings)
        if not any(map(paying_contraction, parts)):
            current.append(op)
            continue
        current += [*found.allocations, *parts, *found.deallocations]
    return current


def _parts(
    op: Operation, context: Sequence[Operation], surroundings: Surroundings
) -> list[Operation]:
    """The nest distributed as far as legal."""
    if op.name != "affine.for" or paying_contraction(op):
        return [op]
    nests = distribute(op, analyse([op], context, surroundings))
    if len(nests) == 1:
        return nests
    return [part for nest in nests for part in _parts(nest, context, surroundings)]


def _isolated_by_expansion(
    function: Operation, surroundings: Surroundings, max_bytes: int
) -> Operation:
    """The function after the expansions that isolate contractions.

    Each round rewrites disjoint loops, whose rewrites are independent.
    """
    tried: set[Value] = set()
    while True:
        parts_of: dict[Operation, list[Operation]] = {}
        inside: set[Operation] = set()
        for found in expansions(function, surroundings, max_bytes):
            loop, iv = found.loop, found.loop.body.arguments[0]
            is_candidate = iv not in tried and loop not in inside
            if not is_candidate or not any(map(_may_contract, loop.walk())):
                continue
            tried.add(iv)
            parts = [p for op in found.operations for p in _parts(op, (), surroundings)]
            if any(map(paying_contraction, parts)):
                parts_of[loop] = parts
                inside.update(loop.walk())
        if not parts_of:
            return function
        function = replaced(function, parts_of)
