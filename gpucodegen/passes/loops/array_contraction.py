"""Array contraction: an element that only one iteration uses becomes a scalar.

    for i {                                  for i {
      t[i] = 0                                 s = for k iter_args(p = 0) {
      for k { t[i] = f(t[i], i, k) }    =>       yield f(p, i, k) }
      g(t[i]) }                                g(s) }

Legal iff all instances that access one element of t belong to one iteration p of the
loops:

    { x -> y : x, y access the same element of t and p(x) != p(y) } = {}

This holds where every access has the same indices, each of them constant or linear in
one variable, and all of those loops have one; and t is allocated around them and used
in no other way.  Sums of products that `map-cpu` recognises stay in memory, where it
looks for them.  After
Lewis, Lin and Snyder ("The implementation and evaluation of fusion and contraction in
array languages", 1998).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType, element_type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.contraction.operands import access, coefficients, is_linear
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions
from gpucodegen.passes.framework.indexing import Index, as_map
from gpucodegen.passes.nests.loop_names import FOR
from gpucodegen.passes.prepare.mem2reg import promoted
from gpucodegen.records import dataclass

Path = tuple[Operation, ...]
"""An operation, last, and its enclosing ones from the outside."""


@dataclass(frozen=True, slots=True)
class ContractArrays(ModulePass):
    """Cells of local buffers that one iteration alone uses become values.

    ``contractions``: leave nests with products that `map-cpu` recognises to it.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<8xf32>) {
    ...   %t = memref.alloc() : memref<8xf32>
    ...   affine.for %i = 0 to 8 {
    ...     %a = affine.load %A[%i] : memref<8xf32>
    ...     %b = arith.addf %a, %a : f32
    ...     affine.store %b, %t[%i] : memref<8xf32>
    ...     %c = affine.load %t[%i] : memref<8xf32>
    ...     affine.store %c, %A[%i] : memref<8xf32>
    ...   }
    ...   memref.dealloc %t : memref<8xf32>
    ...   return
    ... }''')
    >>> print(ContractArrays().apply(module))
    module {
      func.func @f(%A: memref<8xf32>) {
        affine.for %i = 0 to 8 {
          %a = affine.load %A[%i] : memref<8xf32>
          %b = arith.addf %a, %a : f32
          affine.store %b, %A[%i] : memref<8xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "contract-arrays"
    looks_for: ClassVar[frozenset[str]] = ALLOCATIONS
    contractions: bool = True

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def rewrite(function: Operation) -> list[Operation]:
            found = _found(function)
            if found and self.contractions:
                kept = _with_products(function, found, surroundings)
                found = [c for c in found if c not in kept]
            return [_without(function, found)]

        return in_functions(module, rewrite)


@dataclass(frozen=True, slots=True)
class _Contraction:
    """A buffer, and the loops whose iterations each use one cell of it."""

    buffer: Value
    loops: tuple[Operation, ...]

    @property
    def cell(self) -> Value:
        """A new buffer for the cell of one iteration."""
        ty = MemRefType((), element_type(self.buffer.type))
        return Value(ty, self.buffer.name, self.buffer.location)


def _found(function: Operation) -> list[_Contraction]:
    """The contractible buffers of a function."""
    around: dict[Value, Path] = {}
    accesses: dict[Value, list[Path]] = {}
    others: set[Value] = set()
    for path in _paths(function, ()):
        op = path[-1]
        if op.name in ALLOCATIONS:
            around[op.result] = path[:-1]
        elif op.name in affine.ACCESSES:
            accesses.setdefault(access(op, ()).memref, []).append(path)
        elif op.name != "memref.dealloc":
            others.update(op.used)
    made = (
        _contraction(buffer, len(path), accesses.get(buffer, ()))
        for buffer, path in around.items()
        if buffer not in others
    )
    return [found for found in made if found]


def _paths(op: Operation, around: Path) -> Iterator[Path]:
    """The operations inside an operation, each after those around it."""
    for inner in op.nested:
        path = (*around, inner)
        yield path
        yield from _paths(inner, path)


def _contraction(
    buffer: Value, depth: int, accesses: Sequence[Path]
) -> _Contraction | None:
    """The contraction of a buffer that is allocated inside ``depth`` operations."""
    ty = buffer.type
    if not isinstance(ty, MemRefType) or not ty.shape or ty.layout or ty.memory_space:
        return None
    places = {access(path[-1], ()).indices for path in accesses}
    if len(places) != 1:
        return None
    indices = [index for index in places.pop() if index.constant is None]
    loops = {path[depth : depth + len(indices)] for path in accesses}
    if len(loops) != 1:
        return None
    chain = loops.pop()
    if not chain or any(op.name != FOR for op in chain):
        return None
    variables = {op.body.arguments[0] for op in chain}
    fits = len(variables) == len(indices) and variables == set(map(_moving, indices))
    return _Contraction(buffer, chain) if fits else None


def is_contractible(buffer: Value, nest: Operation) -> bool:
    """Whether iterations of a nest, which alone uses a buffer, use one cell each."""
    paths = [path for path in _paths(nest, (nest,)) if buffer in path[-1].operands]
    is_affine = all(path[-1].name in affine.ACCESSES for path in paths)
    return is_affine and _contraction(buffer, 0, paths) is not None


def _moving(index: Index) -> Value | None:
    """The only variable of an index, if each of its values has an index of its own."""
    is_affine = len(index.values) == 1 and is_linear(index)
    (value, *_) = index.values or (None,)
    return value if value and is_affine and coefficients(index).get(value) else None


def _with_products(
    function: Operation, found: Sequence[_Contraction], surroundings: Surroundings
) -> list[_Contraction]:
    """The contractions in nests that become register tiles."""
    from gpucodegen.passes.contraction.cpu.kernel_forms import holds_contraction

    kept: list[_Contraction] = []
    for block in function.regions[0].blocks:
        for at, op in enumerate(block.operations):
            inside = set(op.walk())
            here = [c for c in found if c.loops[0] in inside]
            if here:
                analysis = analyse([op], block.operations[:at], surroundings)
                kept += here if holds_contraction(op, analysis) else []
    return kept


def _without(function: Operation, found: Sequence[_Contraction]) -> Operation:
    """The function with these cells as values, as far as possible."""
    while found:
        cells = {c.buffer: c.cell for c in found}
        changed = promoted(_with_cells(function, found, cells))
        left = {value for op in changed.walk() for value in op.results}
        if left.isdisjoint(cells.values()):
            return changed
        found = [c for c in found if cells[c.buffer] not in left]
    return function


def _with_cells(
    function: Operation, found: Sequence[_Contraction], cells: Mapping[Value, Value]
) -> Operation:
    """The function with a cell for each iteration in place of each buffer."""
    variables = {c.buffer: c.loops[-1].body.arguments[0] for c in found}

    def rewrite(op: Operation) -> list[Operation] | None:
        if op.name in ALLOCATIONS or op.name == "memref.dealloc":
            is_gone = not variables.keys().isdisjoint((*op.results, *op.operands))
            return [] if is_gone else None
        if op.name in affine.ACCESSES:
            place = access(op, ()).memref
            return [_of_cell(op, cells[place])] if place in cells else None
        if op.name != FOR:
            return None
        own = [cells[b] for b, iv in variables.items() if iv is op.body.arguments[0]]
        made = [Operation("memref.alloca", (), (cell,)) for cell in own]
        return [op.with_body((*made, *op.body.operations))] if own else None

    (result,) = rewrite_bottom_up(function, rewrite)
    return result


def _of_cell(op: Operation, cell: Value) -> Operation:
    """An access of the only element of another buffer."""
    stored = () if op.results else op.operands[:1]
    map_, _ = as_map(())
    return op.with_(
        operands=(*stored, cell),
        attributes={**op.attributes, "map": AffineMapAttr(map_)},
    )
