"""Lowering of copies, conditional deallocations and large stack allocations.

`ExpandCopies`: large copies become loops, so that threads share them and stores bypass
the caches; a copy between contiguous buffers is one loop.  Small copies stay calls.
`CopiesToLoops`: so do copies of what a loop makes, such as the rows of an array, which
belong to that loop's nest.

`LowerDeallocations`: ``bufferization.dealloc`` becomes deallocations under conditions.
A buffer is freed if its condition holds and no retained buffer is the same memory,
which addresses decide where nothing else does:

    freed(i)    =  condition(i) and not any(same(i, j) for retained j)
    updated(j)  =  any(condition(i) and same(i, j) for freed i)

`HeapAllocations`: of the ``memref.alloca`` in loops and branches, the first that fit
stay on the stack; the others become ``memref.alloc`` with a ``memref.dealloc`` at the
end of their block.

`HoistGlobals`: the address of a global is taken once, at the entry of its function, so
that loops and branches that read constants run in kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import prod
from typing import ClassVar

from gpucodegen.dialects import arith, memref
from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref.layouts import is_row_major
from gpucodegen.dialects.scf import if_
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.attributes import ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Value,
    operand_segments,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import I1, I64, INDEX, MemRefType, element_type
from gpucodegen.passes.analysis.lifting.aliases import owners
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.outlining.cpu_outliner import allocated_bytes, first_to_fit
from gpucodegen.passes.prepare.tensors.forall_to_loops import loops
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.vectorization import goes_past_caches


@dataclass(frozen=True, slots=True)
class HeapAllocations(ModulePass, name="heap-allocations", looks_for="memref.alloca"):
    """Move stack allocations to the heap beyond the safe size of the stack."""

    def apply(self, module: Module) -> Module:
        def rewritten(function: Operation) -> list[Operation]:
            outermost = {op for b in function.regions[0].blocks for op in b.operations}
            inner = [
                op
                for op in function.walk()
                if op.name == "memref.alloca" and op not in outermost
            ]
            large = {op for op in inner if allocated_bytes(op)} - {*first_to_fit(inner)}
            if not large:
                return [function]
            return rewrite_bottom_up(function, lambda op: _moved(op, large))

        return in_functions(module, rewritten)


def _moved(op: Operation, large: AbstractSet[Operation]) -> list[Operation] | None:
    """The operation with the large buffers of its blocks on the heap."""
    moved = op.with_blocks(lambda block: _block(block, large))
    return None if moved is op else [moved]


def _block(block: Block, large: AbstractSet[Operation]) -> Block:
    if large.isdisjoint(block.operations):
        return block
    *inner, last = block.operations
    moved = [op.with_(name="memref.alloc") if op in large else op for op in inner]
    freed = [
        memref.dealloc(op.result, location=op.location) for op in inner if op in large
    ]
    return block.with_operations([*moved, *freed, last])


GET_GLOBAL = "memref.get_global"


@dataclass(frozen=True, slots=True)
class HoistGlobals(ModulePass, name="hoist-globals"):
    """Move ``memref.get_global`` to the entry of its function, one for each global.

    The operation has no operands and no effect, and its result is the same at each
    execution, so it may run before anything else.  Globals in a memory space belong to
    the launch around them and stay.
    """

    looks_for: ClassVar[frozenset[str]] = frozenset({GET_GLOBAL})

    def apply(self, module: Module) -> Module:
        return in_functions(module, lambda function: [_with_hoisted_globals(function)])


def _with_hoisted_globals(function: Operation) -> Operation:
    entry = function.regions[0].blocks[0]
    outermost = {*entry.operations}
    found = [op for op in function.walk() if _is_hoistable(op)]
    if outermost.issuperset(found):
        return function
    first: dict[str, Operation] = {}
    replaced: dict[Value, Value] = {}
    for op in found:
        kept = first.setdefault(f"{op.attributes['name']} {op.result.type}", op)
        replaced[op.result] = kept.result
    moved = {*found}
    (rest,) = rewrite_bottom_up(function, lambda op: [] if op in moved else None)
    rest = substitute_values(rest, replaced)
    region = rest.regions[0]
    start = region.blocks[0]
    start = start.with_operations([*first.values(), *start.operations])
    return rest.with_(regions=(replace(region, blocks=(start, *region.blocks[1:])),))


def _is_hoistable(op: Operation) -> bool:
    return (
        op.name == GET_GLOBAL
        and isinstance(ty := op.result.type, MemRefType)
        and ty.memory_space is None
    )


NAME = "bufferization.dealloc"
Memory = Mapping[Value, Value]
"""The buffer of each view."""


@dataclass(frozen=True, slots=True)
class LowerDeallocations(ModulePass, name="lower-deallocations"):
    """``bufferization.dealloc`` frees buffers that are owned and not retained."""

    looks_for: ClassVar[frozenset[str]] = frozenset({NAME})

    def apply(self, module: Module) -> Module:
        operations = list(module.walk())
        shown = owners(operations)
        made = {op.results[0] for op in operations if op.name in ALLOCATIONS}
        lowering = _Lowering(shown, made, {})
        (root,) = rewrite_bottom_up(module.operation, lowering.rewrite)
        return Module(substitute_values(root, lowering.updated))


@dataclass(frozen=True, slots=True)
class _Lowering:
    """The rules, for one module.

    ``shown``: the buffer of each view.  ``made``: local allocations.  ``updated``: the
    new results of rewritten operations.
    """

    shown: Memory
    made: set[Value]
    updated: dict[Value, Value]

    def rewrite(self, op: Operation) -> list[Operation] | None:
        """The operations that replace one; None where it stays."""
        if op.name != NAME:
            return None
        b = Builder(op.location)
        freed, conditions, retained = operand_segments(op, 3)
        for kept, result in zip(retained, op.results, strict=True):
            pairs = zip(freed, conditions, strict=True)
            owned = [
                b.value("arith.andi", (c, self._same(b, m, kept)), I1) for m, c in pairs
            ]
            self.updated[result] = _any(b, owned)
        for memory, condition in zip(freed, conditions, strict=True):
            same = _any(b, [self._same(b, memory, kept) for kept in retained])
            self._free(b, memory, condition, same)
        return b.operations

    def _same(self, b: Builder, one: Value, other: Value) -> Value:
        """Whether two memrefs show one buffer, as an ``i1``."""
        first, second = (self.shown.get(v, v) for v in (one, other))
        if first is second or first in self.made or second in self.made:
            return b.constant(int(first is second), I1)
        addresses = [
            b.value("memref.extract_aligned_pointer_as_index", (v,), INDEX)
            for v in (first, second)
        ]
        equal = arith.compare("arith.cmpi", "eq", *addresses, location=b.location)
        b.operations.append(equal)
        return equal.result

    def _free(self, b: Builder, memory: Value, condition: Value, same: Value) -> None:
        """Free memory under a condition, if no retained memory is the same."""
        other = b.value("arith.xori", (same, b.constant(1, I1)), I1)
        frees = b.value("arith.andi", (condition, other), I1)
        freed = memref.dealloc(memory, location=b.location)
        b.operations.append(if_(frees, [freed], location=b.location))


def _any(b: Builder, conditions: Sequence[Value]) -> Value:
    found = b.constant(0, I1)
    for condition in conditions:
        found = b.value("arith.ori", (found, condition), I1)
    return found


@dataclass(frozen=True, slots=True)
class ExpandCopies(ModulePass, name="expand-copies", looks_for="memref.copy"):
    """Write copies of more than the ``kept`` bytes of all caches as loops.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) {
    ...   memref.copy %A, %B : memref<64xf32> to memref<64xf32>
    ...   return
    ... }''')
    >>> print(ExpandCopies(kept=256).apply(module))
    module {
      func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) {
        affine.for %i = 0 to 64 {
          %v = affine.load %A[%i] : memref<64xf32>
          affine.store %v, %B[%i] : memref<64xf32>
        }
        return
      }
    }
    """

    kept: int = 1 << 22

    def apply(self, module: Module) -> Module:
        return in_functions(module, lambda op: [with_blocks(op, self._operations)])

    def _operations(self, operations: Sequence[Operation]) -> list[Operation]:
        made: list[Operation] = []
        for op in operations:
            made += _loops(op) if self._pays(op) else [op]
        return made

    def _pays(self, op: Operation) -> bool:
        if op.name != "memref.copy":
            return False
        types = [value.type for value in op.operands]
        shapes = {ty.shape for ty in types if isinstance(ty, MemRefType)}
        if len(shapes) != 1:
            return False
        extents = [extent for shape in shapes for extent in shape if extent is not None]
        whole = all(None not in shape for shape in shapes) and bool(extents)
        bits = element_bits(element_type(types[0]))
        footprint = 2 * prod(extents) * bits // 8
        return whole and goes_past_caches(footprint, Machine(kept=self.kept))


@dataclass(frozen=True, slots=True)
class CopiesToLoops(ModulePass, name="copies-to-loops", looks_for="memref.copy"):
    """Write copies to or from a view or a buffer that a loop makes as loops.

    Like `memref.copy` itself, they leave overlapping buffers undefined.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<9x64xf32>, %B: memref<64xf32>) {
    ...   affine.for %i = 0 to 9 {
    ...     %row = memref.subview %A[%i, 0] [1, 64] [1, 1]
    ...       : memref<9x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    ...     memref.copy %row, %B
    ...       : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32>
    ...   }
    ...   return
    ... }''')
    >>> "memref.copy" in str(CopiesToLoops().apply(module))
    False
    """

    def apply(self, module: Module) -> Module:
        def function(op: Operation) -> list[Operation]:
            chosen = set(_copies_of_loops(op))
            return rewrite_bottom_up(op, lambda o: _nest(o) if o in chosen else None)

        return in_functions(module, function)


def _copies_of_loops(function: Operation) -> Iterator[Operation]:
    for loop in function.walk():
        if loop.name not in _LOOPS:
            continue
        inner = [op for op in loop.walk() if op is not loop]
        made = {value for op in inner for value in op.results}
        for op in inner:
            if op.name != "memref.copy" or made.isdisjoint(op.operands):
                continue
            if all(isinstance(value.type, MemRefType) for value in op.operands):
                yield op


def _nest(op: Operation) -> list[Operation]:
    """A copy as loops over its extents, some of which the run may know."""
    b, (source, target) = Builder(op.location), op.operands
    shapes = [getattr(value.type, "shape", ()) for value in op.operands]
    extents = [
        next((n for n in pair if n is not None), None)
        for pair in zip(*shapes, strict=True)
    ]

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        value = inner.value("memref.load", (source, *ivs), element_type(source.type))
        inner.add("memref.store", (value, target, *ivs))

    known = [_extent(b, source, d) if n is None else n for d, n in enumerate(extents)]
    loops(b, known, body)
    return b.operations


def _extent(b: Builder, memref: Value, dimension: int) -> Value:
    at = b.constant(dimension, INDEX)
    return b.value("memref.dim", (memref, at), INDEX)


_LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for", "scf.while"})


def _loops(op: Operation) -> list[Operation]:
    b = Builder(op.location)
    buffers = op.operands
    if all(isinstance(v.type, MemRefType) and is_row_major(v.type) for v in buffers):
        buffers = tuple(_line(b, value) for value in buffers)
    source, target = buffers
    _copy(b, source, target, [])
    return b.operations


def _line(b: Builder, buffer: Value) -> Value:
    """A row-major buffer collapsed to one dimension."""
    ty = buffer.type
    assert isinstance(ty, MemRefType)
    if ty.rank == 1:
        return buffer
    count = prod(extent or 0 for extent in ty.shape)
    whole = ArrayAttr(tuple(IntegerAttr(d, I64) for d in range(ty.rank)))
    return b.value(
        "memref.collapse_shape",
        (buffer,),
        replace(ty, shape=(count,)),
        {"reassociation": ArrayAttr((whole,))},
        hint=buffer.name,
    )


def _copy(b: Builder, source: Value, target: Value, indices: list[Value]) -> None:
    """The loops over the remaining dimensions of a copy."""
    ty = source.type
    assert isinstance(ty, MemRefType)
    if len(indices) == ty.rank:
        b.store(b.load(source, indices, "v"), target, indices)
        return

    def body(inner: Builder, iv: Value) -> None:
        _copy(inner, source, target, [*indices, iv])

    hint = "ijkl"[len(indices)] if len(indices) < 4 else "i"
    b.loop(0, ty.shape[len(indices)] or 0, body, hint=hint)
