"""Memory to registers: elements of local buffers become SSA values.

    t[0] = v                                       s = for k iter_args(p = v) {
    for k { t[0] = f(t[0]) }              =>         yield f(p) }
    .. = t[0]                                      .. = s

It applies to elements at constant indices of a buffer that the function allocates and
that only such loads and stores use.  A loop carries the elements that an iteration may
read before it stores to them; the others are undefined after the loop.  A buffer with
an element that is read while undefined stays in memory.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import field
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.affine import Const
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Operation,
    Region,
    Value,
    segment_sizes,
    substitute_values,
)
from gpucodegen.ir.types import MemRefType, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.records import dataclass

Cell = tuple[Value, tuple[int, ...]]
"""A buffer and constant indices."""
CellValues = dict[Cell, Value]
"""The known values of cells."""

ACCESSES = {"affine.load": 0, "affine.store": 1}
"""Position of the buffer among the operands."""
LOOPS = frozenset({"affine.for", "affine.parallel"})


@dataclass(frozen=True, slots=True)
class Mem2Reg(ModulePass, name="mem2reg"):
    """Cells of local buffers become values that loops carry.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<8xf32>, %v: f32) -> f32 {
    ...   %t = memref.alloc() : memref<1xf32>
    ...   affine.store %v, %t[0] : memref<1xf32>
    ...   affine.for %k = 0 to 8 {
    ...     %a = affine.load %A[%k] : memref<8xf32>
    ...     %p = affine.load %t[0] : memref<1xf32>
    ...     %q = arith.addf %p, %a : f32
    ...     affine.store %q, %t[0] : memref<1xf32>
    ...   }
    ...   %s = affine.load %t[0] : memref<1xf32>
    ...   memref.dealloc %t : memref<1xf32>
    ...   return %s : f32
    ... }''')
    >>> print(Mem2Reg().apply(module))
    module {
      func.func @f(%A: memref<8xf32>, %v: f32) -> f32 {
        %t = affine.for %k = 0 to 8 iter_args(%t_0 = %v) -> (f32) {
          %a = affine.load %A[%k] : memref<8xf32>
          %q = arith.addf %t_0, %a : f32
          affine.yield %q : f32
        }
        return %t : f32
      }
    }
    """

    looks_for: ClassVar[frozenset[str]] = ALLOCATIONS

    def apply(self, module: Module) -> Module:
        return in_functions(module, lambda op: [promoted(op)])


def promoted(function: Operation, chosen: Container[Value] | None = None) -> Operation:
    """The function with every possible buffer promoted to values.

    ``chosen``: only of these.
    """
    allocated = (op.result for op in function.walk() if op.name in ALLOCATIONS)
    buffers = {buffer for buffer in allocated if _is_plain(buffer)}
    if chosen is not None:
        buffers = {buffer for buffer in buffers if buffer in chosen}
    while buffers:
        walk = _Walk(frozenset(buffers))
        changed = with_blocks(function, lambda ops, w=walk: w.block(ops, {}))
        if not walk.failed:
            return substitute_values(changed, walk.values)
        buffers -= walk.failed
    return function


def _is_plain(buffer: Value) -> bool:
    ty = buffer.type
    return isinstance(ty, MemRefType) and not (ty.layout or ty.memory_space)


def _cell_of(op: Operation) -> Cell | None:
    """The cell of an access with constant indices, or None."""
    at = ACCESSES.get(op.name)
    map_ = op.attributes.get("map")
    if at is None or not isinstance(map_, AffineMapAttr):
        return None
    indices = [e.value for e in map_.map.results if isinstance(e, Const)]
    is_constant = len(indices) == len(map_.map.results)
    return (op.operands[at], tuple(indices)) if is_constant else None


@dataclass(slots=True)
class _Walk:
    """One walk through a function in its order.

    ``values``: the replacements of load results.  ``failed``: buffers that must stay.
    """

    buffers: frozenset[Value]
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    failed: set[Value] = field(default_factory=set[Value])

    def block(
        self, operations: Sequence[Operation], held: CellValues
    ) -> list[Operation]:
        """The operations without accesses; updates ``held``."""
        return [o for op in operations for o in self._one(op, held)]

    def _one(self, op: Operation, held: CellValues) -> list[Operation]:
        cell = _cell_of(op)
        if cell is not None and cell[0] in self.buffers:
            return self._access(op, cell, held)
        if op.name in LOOPS:
            return [self._loop(op, held)]
        is_end = op.name == "memref.dealloc" or op.name in ALLOCATIONS
        if is_end and not self.buffers.isdisjoint((*op.operands, *op.results)):
            return []
        used = {v for inner in op.walk() for v in inner.used}
        self.failed |= used & self.buffers
        return [op]

    def _access(self, op: Operation, cell: Cell, held: CellValues) -> list[Operation]:
        if op.results:
            self.values[op.result] = self._now(cell, held)
        else:
            (stored, *_) = op.operands
            held[cell] = self.values.get(stored, stored)
        return []

    def _now(self, cell: Cell, held: CellValues) -> Value:
        """The value of a cell; its buffer stays if that is unknown."""
        if cell not in held:
            self.failed.add(cell[0])
        return held.get(cell, cell[0])

    def _loop(self, op: Operation, held: CellValues) -> Operation:
        """The loop with the cells that it carries."""
        stored = self._stored(op)
        carried = [cell for cell in stored if _reads_first(op, cell)]
        if carried and op.name != "affine.for":
            self.failed |= {buffer for buffer, _ in carried}
            carried = []
        inits = [self._now(cell, held) for cell in carried]
        arguments = [_value(cell) for cell in carried]
        inside = {c: v for c, v in held.items() if c not in stored}
        inside |= dict(zip(carried, arguments, strict=True))
        *body, terminator = op.body.operations
        made = self.block(body, inside)
        ends = [self._now(cell, inside) for cell in carried]
        results = [_value(cell) for cell in carried]
        for cell in stored:
            held.pop(cell, None)
        held.update(zip(carried, results, strict=True))
        self.failed |= self.buffers.intersection(op.operands)
        if not carried:
            return op.with_body([*made, terminator])
        end = terminator.with_(operands=(*terminator.operands, *ends))
        return _carrying(op, inits, results, (arguments, [*made, end]))

    def _stored(self, op: Operation) -> list[Cell]:
        """The cells that a loop stores to, each once, in their order."""
        stores = (inner for inner in op.walk() if inner.name == "affine.store")
        cells = (_cell_of(inner) for inner in stores)
        return list(dict.fromkeys(c for c in cells if c and c[0] in self.buffers))


def _value(cell: Cell) -> Value:
    buffer, _ = cell
    return Value(element_type(buffer.type), buffer.name, buffer.location)


def _reads_first(op: Operation, cell: Cell) -> bool:
    """Whether an iteration may read a cell before it stores to it."""
    for inner in op.body.operations:
        if _cell_of(inner) == cell:
            return bool(inner.results)
        if inner.name in LOOPS and _reads_first(inner, cell):
            return True
    return False


def _carrying(
    op: Operation,
    inits: Sequence[Value],
    results: Sequence[Value],
    body: tuple[Sequence[Value], Sequence[Operation]],
) -> Operation:
    """The loop with more carried values."""
    loop, (arguments, operations) = affine.For(op), body
    groups = (loop.lower_operands, loop.upper_operands, (*loop.inits, *inits))
    block = Block((*op.body.arguments, *arguments), tuple(operations))
    return op.with_(
        operands=tuple(value for group in groups for value in group),
        results=(*op.results, *results),
        attributes={**op.attributes, OPERAND_SEGMENTS: segment_sizes(groups)},
        regions=(Region((block,)),),
    )
