"""Scalarization: tensors of rank 0 become SSA scalars.

    %n = arith.addi %i, %one : tensor<i32>     =>     %n = arith.addi %i, %one : i32

StableHLO has no scalars: counters, conditions and indices are tensors of rank 0, which
would become buffers.  A tensor of rank 0 is scalarized if it follows by elementwise
operations, loops and branches from constants, from scalars, and from arguments that
decide about control flow or places.  These are loaded once, at the function's start.
Results of reductions and elements of larger tensors stay where they are, since a GPU
holds them in device memory; so does an argument that only tensors are computed from.

The set of scalars is the greatest one that is closed under the definitions, found by
removing values from all candidates (Kildall, POPL 1973).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from math import isnan
from typing import ClassVar

from gpucodegen.dialects import linalg
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import Attribute, DenseElementsAttr, number
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    clone,
    renamed,
    substitute_values,
)
from gpucodegen.ir.types import TensorType, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    without_dead_code,
)
from gpucodegen.records import dataclass

_DIALECTS = frozenset({"arith", "math", "complex", "index"})
_FROM_ELEMENTS, _EXTRACT = "tensor.from_elements", "tensor.extract"
Sources = Mapping[Value, Sequence[Value]]
"""The values that must be scalars so that a value is one."""
Flow = tuple[Value, Sequence[Value]]
"""A value of a loop or branch, and those that it may be equal to."""


@dataclass(frozen=True, slots=True)
class ScalarizeTensors(ModulePass, name="scalarize-tensors"):
    """Counters, conditions and indices of rank 0 become scalars.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%i: tensor<i32>, %x: tensor<8xf32>) -> f32 {
    ...   %one = arith.constant dense<1> : tensor<i32>
    ...   %n = arith.addi %i, %one : tensor<i32>
    ...   %k = tensor.extract %n[] : tensor<i32>
    ...   %at = arith.index_cast %k : i32 to index
    ...   %e = tensor.extract %x[%at] : tensor<8xf32>
    ...   return %e : f32
    ... }''')
    >>> body = ScalarizeTensors().apply(module).functions["f"].body.operations
    >>> [str(op.result.type) for op in body if op.dialect == "arith"]
    ['i32', 'i32', 'index']
    """

    looks_for: ClassVar[frozenset[str]] = frozenset({_EXTRACT})

    def apply(self, module: Module) -> Module:
        return in_functions(module, lambda op: [_scalarized(op)])


def _scalarized(function: Operation) -> Operation:
    if len(function.regions[0].blocks) != 1:
        return function
    made = definitions(function)
    extracted = [v for op in _outside_bodies(function) for v in _read(op, made)]
    if not extracted:
        return function
    given = [v for v in function.body.arguments if _is_single(v)]
    free = dict(_sources(function))
    decided = free | dict.fromkeys(given, ())
    wanted = _slice(extracted, decided, _closed(decided))
    loaded = [v for v in given if v in wanted]
    scalars = _closed(free | dict.fromkeys(loaded, ()))
    rewriter = _Rewriter(scalars, made)
    return without_dead_code(function.with_blocks(rewriter.entry))


def _is_single(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.shape == ()


def _outside_bodies(op: Operation) -> Iterator[Operation]:
    """The operations that are not in the body of one on whole tensors."""
    for inner in chain.from_iterable(b.operations for b in op.blocks):
        yield inner
        if inner.dialect in ("scf", "affine"):
            yield from _outside_bodies(inner)


def _read(op: Operation, made: Mapping[Value, Operation]) -> Sequence[Value]:
    """The tensor of rank 0 whose element an extraction reads."""
    found = _origin(op, made) if op.name == _EXTRACT else None
    return [found] if isinstance(found, Value) else []


# -- which values ----------------------------------------------------------------------


def flows(op: Operation) -> Sequence[Flow]:
    """The values of ``scf`` loops and branches, and those that they take."""
    if op.name == "scf.while":
        before, after = (region.blocks[0] for region in op.regions)
        _, *passed = before.operations[-1].operands
        yielded = after.operations[-1].operands
        taken = zip(op.operands, yielded, strict=True)
        heads = zip(before.arguments, taken, strict=True)
        ends = zip(after.arguments, op.results, passed, strict=True)
        return [*heads, *((v, (end,)) for *pair, end in ends for v in pair)]
    if op.name == "scf.for":
        sources = zip(op.operands[3:], op.body.operations[-1].operands, strict=True)
        both = zip(op.body.arguments[1:], op.results, sources, strict=True)
        return [(v, taken) for *pair, taken in both for v in pair]
    if op.name == "scf.if" and op.results:
        ends = (region.blocks[0].operations[-1].operands for region in op.regions)
        return list(zip(op.results, zip(*ends, strict=True), strict=True))
    return []


def _sources(function: Operation) -> Iterator[tuple[Value, Sequence[Value]]]:
    for op in function.walk():
        for value, taken in flows(op):
            if _is_single(value):
                yield value, taken
        if _is_elementwise(op) or _is_constant(op) or op.name == _FROM_ELEMENTS:
            tensors = [v for v in op.operands if isinstance(v.type, TensorType)]
            yield from ((v, tensors) for v in op.results if _is_single(v))


def _is_elementwise(op: Operation) -> bool:
    """Whether it computes single elements from single elements."""
    if not op.results or not all(map(_is_single, op.results)):
        return False
    if not all(map(_is_single, _tensors(_inputs(op)))):
        return False
    if op.name == "linalg.generic":
        generic = linalg.Structured(op)
        outputs = generic.body.arguments[len(generic.inputs) :]
        used = {v for inner in generic.body.operations for v in inner.operands}
        return not generic.iterator_types and used.isdisjoint(outputs)
    definition = lookup(op.name)
    return (
        definition is not None
        and op.dialect in _DIALECTS
        and not op.regions
        and not definition.has(Trait.CONSTANT)
    )


def _is_constant(op: Operation) -> bool:
    return op.name == "arith.constant" and _constant(op) is not None


def _constant(op: Operation, position: int = 0) -> Attribute | None:
    """An element of a constant tensor, counted in row-major order.

    A NaN may have bits that a Python number does not show, and stays as it is.
    """
    value = op.attributes.get("value")
    if not isinstance(value, DenseElementsAttr):
        return None
    found = value.values[:1] if value.is_splat else value.values[position:][:1]
    plain = [v for v in found if isinstance(v, int | float) and not isnan(v)]
    return number(plain[0], element_type(op.result.type)) if plain else None


def _closed(sources: Sources) -> frozenset[Value]:
    """The greatest set of values whose sources are all in it."""
    kept = set(sources)
    while True:
        gone = {v for v in kept if not kept.issuperset(_tensors(sources[v]))}
        if not gone:
            return frozenset(kept)
        kept -= gone


def _tensors(values: Sequence[Value]) -> list[Value]:
    return [v for v in values if isinstance(v.type, TensorType)]


def _slice(
    roots: Sequence[Value], sources: Sources, within: frozenset[Value]
) -> set[Value]:
    """The values that roots follow from, directly or not."""
    found: set[Value] = set()
    work = [v for v in roots if v in within]
    while work:
        value = work.pop()
        if value not in found:
            found.add(value)
            work += _tensors(sources[value])
    return found


# -- elements of tensors that only move data -------------------------------------------


def _origin(op: Operation, made: Mapping[Value, Operation]) -> Value | Attribute | None:
    """The tensor of rank 0, scalar or constant that an extraction yields."""
    tensor, *places = op.operands
    found = [_index(made.get(place)) for place in places]
    index = [at for at in found if at is not None]
    return _element(tensor, index, made) if len(index) == len(places) else None


def _index(op: Operation | None) -> int | None:
    return op.integer("value") if op and op.name == "arith.constant" else None


def _element(
    tensor: Value, index: Sequence[int], made: Mapping[Value, Operation]
) -> Value | Attribute | None:
    if not index:
        return tensor
    op, ty = made.get(tensor), tensor.type
    if op is None or not isinstance(ty, TensorType) or None in ty.shape:
        return None
    extents = [extent or 0 for extent in ty.shape]
    if any(not 0 <= at < extent for at, extent in zip(index, extents, strict=True)):
        return None
    position = 0
    for at, extent in zip(index, extents, strict=True):
        position = position * extent + at
    if op.name == "arith.constant":
        return _constant(op, position)
    if op.name == _FROM_ELEMENTS:
        return op.operands[position]
    if op.name == "tensor.concat":
        return _joined(op, index, made)
    return _copied(op, index, made) if op.name == "linalg.generic" else None


def _joined(
    op: Operation, index: Sequence[int], made: Mapping[Value, Operation]
) -> Value | Attribute | None:
    dim = op.integer("dim")
    at = index[dim]
    for part in op.operands:
        extent = part.type.shape[dim] if isinstance(part.type, TensorType) else None
        if extent is None:
            return None
        if at < extent:
            return _element(part, [*index[:dim], at, *index[dim + 1 :]], made)
        at -= extent
    return None


def _copied(
    op: Operation, index: Sequence[int], made: Mapping[Value, Operation]
) -> Value | Attribute | None:
    """Of an operation that only moves elements, such as a broadcast."""
    generic = linalg.Structured(op)
    rank, body = len(generic.iterator_types), generic.body
    is_copy = (
        len(op.results) == 1
        and len(body.operations) == 1
        and set(generic.iterator_types) <= {"parallel"}
        and generic.indexing_maps[-1] == AffineMap.identity(rank)
    )
    (taken, *_) = body.operations[-1].operands
    moved = body.arguments[: len(generic.inputs)]
    if not is_copy or taken not in moved:
        return None
    source = moved.index(taken)
    place = generic.indexing_maps[source].evaluate(tuple(index), ())
    return _element(op.operands[source], place, made)


# -- rewriting -------------------------------------------------------------------------


@dataclass(slots=True)
class _Rewriter:
    """One walk; ``values``: the scalar of each tensor; ``read``: extracted ones.

    Where a tensor of rank 0 is still needed, it is made from its scalar.
    """

    scalars: frozenset[Value]
    made: Mapping[Value, Operation]
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    read: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def entry(self, block: Block) -> Block:
        b = Builder()
        for argument in block.arguments:
            if argument in self.scalars:
                b.location = argument.location
                ty = element_type(argument.type)
                self.values[argument] = b.value(_EXTRACT, (argument,), ty)
        return block.with_operations([*b.operations, *self._all(block.operations)])

    def _all(self, operations: Sequence[Operation]) -> list[Operation]:
        return [made for op in operations for made in self._one(op)]

    def _one(self, op: Operation) -> Sequence[Operation]:
        op = renamed(op, self.read)
        if op.name == _EXTRACT:
            return self._extracted(op)
        if not self.scalars.isdisjoint(op.results) and not flows(op):
            return self._computed(op)
        if flows(op):
            return self._carrying(op)
        if op.name == "linalg.generic":
            count = len(linalg.Structured(op).inputs)
            inputs = [self._input(v) for v in op.operands[:count]]
            op = op.with_(operands=(*inputs, *op.operands[count:]))
        return [op.with_blocks(lambda b: b.with_operations(self._all(b.operations)))]

    def _input(self, value: Value) -> Value:
        """Constants stay tensors, which are folded into bodies."""
        made = self.made.get(value)
        is_constant = made is not None and made.name == "arith.constant"
        return value if is_constant else self.values.get(value, value)

    def _extracted(self, op: Operation) -> list[Operation]:
        found = _origin(op, self.made)
        if isinstance(found, Attribute):
            fields = {"operands": (), "attributes": {"value": found}}
            return [op.with_(name="arith.constant", **fields)]
        if found is None:
            return [op]
        if not _is_single(found):
            self.read[op.result] = self.read.get(found, found)
            return []
        b = Builder(op.location)
        self.read[op.result] = self._element(b, found, {})
        return b.operations

    def _element(self, b: Builder, tensor: Value, read: dict[Value, Value]) -> Value:
        """The scalar of a tensor, by operations on the elements that it follows from.

        So the host does not store what it computes, only to read it.
        """
        read |= {tensor: self.values[tensor]} if tensor in self.values else {}
        if tensor in read:
            return read[tensor]
        op = self.made.get(tensor)
        if op is None or not _is_elementwise(op) or len(op.results) > 1:
            ty = element_type(tensor.type)
            (read[tensor],) = b.add(_EXTRACT, (tensor,), [ty], hint=tensor.name)
            return read[tensor]
        op = substitute_values(op, self.read)
        elements = [
            self._element(b, v, read) if _is_single(v) else v for v in _inputs(op)
        ]
        made, (read[tensor],) = _on_elements(op, elements)
        b.operations += made
        return read[tensor]

    def _computed(self, op: Operation) -> list[Operation]:
        """The same on scalars, and the tensors of the results."""
        if op.name == _FROM_ELEMENTS:
            self.values[op.result] = op.operands[0]
            return [op]
        op = substitute_values(op, self.read)
        operands = [self.values.get(v, v) for v in _inputs(op)]
        made, results = _on_elements(op, operands)
        self.values.update(zip(op.results, results, strict=True))
        if op.name == "arith.constant":
            return [op, made[0].with_(attributes={"value": _constant(op)})]
        return [*made, *map(self._tensor, op.results)]

    def _tensor(self, value: Value) -> Operation:
        scalar = self.values[value]
        return Operation(_FROM_ELEMENTS, (scalar,), (value,), location=value.location)

    def _carrying(self, op: Operation) -> list[Operation]:
        """A loop or branch whose scalars are carried as such."""
        into = {
            (id(end), n): target
            for end, n, target in _targets(op)
            if target in self.scalars
        }

        def passed(end: Operation) -> Operation:
            values = enumerate(end.operands)
            taken = tuple(
                self.values[v] if (id(end), n) in into else v for n, v in values
            )
            return end.with_(operands=taken)

        def inside(block: Block) -> Block:
            arguments = tuple(map(self._scalar, block.arguments))
            shown = [self._tensor(v) for v in block.arguments if v in self.scalars]
            *body, end = block.operations
            made = [*shown, *self._all(body)]
            last = renamed(passed(end), self.read)
            return Block(arguments, (*made, last), block.label)

        head = passed(op).operands
        regions = tuple(Region(tuple(map(inside, r.blocks))) for r in op.regions)
        results = tuple(map(self._scalar, op.results))
        made = op.with_(operands=head, results=results, regions=regions)
        shown = [self._tensor(v) for v in op.results if v in self.scalars]
        return [made, *shown]

    def _scalar(self, value: Value) -> Value:
        if value not in self.scalars:
            return value
        made = value.renewed(element_type(value.type))
        self.values[value] = made
        return made


def _inputs(op: Operation) -> Sequence[Value]:
    is_generic = op.name == "linalg.generic"
    return linalg.Structured(op).inputs if is_generic else op.operands


def _on_elements(
    op: Operation, elements: Sequence[Value]
) -> tuple[list[Operation], Sequence[Value]]:
    """An elementwise operation on scalars, and its results."""
    if op.name == "linalg.generic":
        inside = dict(zip(op.body.arguments, elements, strict=False))
        *made, end = [clone(inner, inside) for inner in op.body.operations]
        return made, end.operands
    results = tuple(v.renewed(element_type(v.type)) for v in op.results)
    return [op.with_(operands=tuple(elements), results=results)], results


def _targets(op: Operation) -> Iterator[tuple[Operation, int, Value]]:
    """The operands of a loop or branch and of its terminators, and where they go."""
    ends = [region.blocks[0].operations[-1] for region in op.regions]
    if op.name == "scf.while":
        arguments = op.regions[0].blocks[0].arguments
        condition, last = ends
        yield from ((op, n, v) for n, v in enumerate(arguments))
        yield from ((condition, n, v) for n, v in enumerate(op.results, 1))
        yield from ((last, n, v) for n, v in enumerate(arguments))
        return
    if op.name == "scf.for":
        yield from ((op, n, v) for n, v in enumerate(op.body.arguments[1:], 3))
    yield from ((end, n, v) for end in ends for n, v in enumerate(op.results))
