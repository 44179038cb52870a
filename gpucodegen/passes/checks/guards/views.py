"""Whether the views on the way to a buffer leave what they are views of.

Comes in: a memref and the maker of each value.  Goes out: a `Leaf` for each way in
which a view may leave its source, where an access through it could touch any memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.dialects import memref
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.memref import needs_runtime
from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.ir.types import INDEX, MemRefType, Type
from gpucodegen.passes.checks.guards.conditions import ConditionBuilder
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import definitions

METADATA = "memref.extract_strided_metadata"
CAST = "memref.reinterpret_cast"
Definitions = Mapping[Value, Operation]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One way in which an operation may leave a buffer.

    ``known``: the names and values of a message; ``bad`` says whether it does.
    """

    buffer: Value
    verb: str
    dimension: int
    known: tuple[tuple[str, Value], ...]
    bad: Value


def chain_leaves(
    c: ConditionBuilder, buffer: Value, verb: str, definitions: Definitions
) -> list[Leaf]:
    """The conditions of a chain of views, up to one that the runtime checked."""
    made: list[Leaf] = []
    while (view := definitions.get(buffer)) is not None and (
        view.name in _VIEWS or view.name == CAST
    ):
        if needs_runtime(view):
            break
        if view.name == CAST:
            whole = stated(view.operands[0], definitions)
            total = _reach(c, whole, _strides(c, whole, definitions))
            made += _reinterpreted(c, view, verb, total)
        else:
            made += _VIEWS[view.name](c, view, verb)
        buffer = view.operands[0]
    return made


def _subview(c: ConditionBuilder, op: Operation, verb: str) -> list[Leaf]:
    """offset >= 0 and offset + (size - 1) * stride < extent, unless it is empty."""
    part = memref.Slice(op)
    entries = zip(part.offsets, part.sizes, part.strides, strict=True)
    made: list[Leaf] = []
    for dimension, (offset, size, stride) in enumerate(entries):
        extent = c.extent(part.source, dimension)
        first = c.value(offset)
        step = c.times(c.minus(c.value(size), 1), c.value(stride))
        last = c.plus(first, step)
        bad = c.some([c.outside(first, last, extent), c.below(c.value(stride), 0)])
        known = (("offset", first), ("last", last), ("extent", extent))
        made.append(Leaf(part.source, verb, dimension, known, bad))
    return made


def _reinterpreted(
    c: ConditionBuilder, op: Operation, verb: str, total: Value
) -> list[Leaf]:
    """The first and the last element against all that the buffer reaches."""
    part = memref.Slice(op)
    first = c.value(part.offsets[0])
    last, negative = first, list[Value]()
    for size, stride in zip(part.sizes, part.strides, strict=True):
        step = c.times(c.minus(c.value(size), 1), c.value(stride))
        last = c.plus(last, step)
        negative.append(c.below(c.value(stride), 0))
    bad = c.some([c.outside(first, last, total), *negative])
    known = (("offset", first), ("last", last), ("elements", total))
    return [Leaf(part.source, verb, 0, known, bad)]


def stated(buffer: Value, definitions: Definitions) -> Value:
    """The buffer that casts show; its type may state more than theirs."""
    while (made := definitions.get(buffer)) is not None and made.name in _SAME:
        if not isinstance(made.operands[0].type, MemRefType):
            break
        buffer = made.operands[0]
    return buffer


_SAME = frozenset({"memref.cast", "memref.assume_alignment"})


def _strides(
    c: ConditionBuilder, buffer: Value, definitions: Definitions
) -> Sequence[Value] | None:
    """The strides of a strided buffer; unknown ones as `with_metadata` made them."""
    layout = buffer.type.layout if isinstance(buffer.type, MemRefType) else None
    if not isinstance(layout, StridedLayoutAttr):
        return None
    if None not in layout.strides:
        return [c.value(stride or 0) for stride in layout.strides]
    rank = len(layout.strides)
    made = (op for op in definitions.values() if op.name == METADATA)
    found = next((op for op in made if op.operands[0] is buffer), None)
    return None if found is None else found.results[2 + rank :]


def with_metadata(function: Operation) -> Operation:
    """The function with the strides of arguments that reinterpretations need.

    Kernels take them as numbers, for they cannot ask for those of a buffer.
    """
    arguments = Function(function).arguments
    operations = list(function.walk())
    known = {op.operands[0] for op in operations if op.name == METADATA}
    made = definitions(function)
    cast = {stated(op.operands[0], made) for op in operations if op.name == CAST}
    cast -= known
    b = Builder(function.location)
    for buffer in arguments:
        if buffer in cast and is_open(buffer.type):
            strided_metadata(b, buffer)
    if not b.operations:
        return function
    entry, *others = function.regions[0].blocks
    begun = entry.with_operations([*b.operations, *entry.operations])
    return function.with_(regions=(Region((begun, *others)),))


def is_open(ty: Type) -> bool:
    """Whether a type leaves strides open."""
    layout = ty.layout if isinstance(ty, MemRefType) else None
    return isinstance(layout, StridedLayoutAttr) and None in layout.strides


def strided_metadata(b: Builder, buffer: Value) -> Sequence[Value]:
    """The strides of a buffer, which the runtime is asked for."""
    ty = buffer.type
    assert isinstance(ty, MemRefType)
    base = MemRefType((), ty.element, None, ty.memory_space)
    kinds = [base, INDEX, *[INDEX] * (2 * ty.rank)]
    return b.add(METADATA, (buffer,), kinds)[2 + ty.rank :]


def _reach(c: ConditionBuilder, buffer: Value, steps: Sequence[Value] | None) -> Value:
    """How many elements from the first one on surely belong to a buffer."""
    if steps is None:
        return c.value(0) if is_open(buffer.type) else elements_of(c, buffer)
    last = c.value(0)
    for dimension, stride in enumerate(steps):
        size = c.minus(c.extent(buffer, dimension), 1)
        last = c.plus(last, c.times(size, stride))
    return c.plus(last, 1)


def elements_of(c: ConditionBuilder, buffer: Value) -> Value:
    """How many elements a buffer has."""
    ty = buffer.type
    shape = ty.shape if isinstance(ty, MemRefType) else ()
    total = c.value(prod(extent for extent in shape if extent is not None))
    for dimension, extent in enumerate(shape):
        if extent is None:
            total = c.times(total, c.extent(buffer, dimension))
    return total


def cast_leaves(c: ConditionBuilder, op: Operation, verb: str) -> list[Leaf]:
    """Static extents in place of dynamic ones."""
    source, ty = op.operands[0], op.results[0].type
    if not isinstance(ty, MemRefType) or not isinstance(source.type, MemRefType):
        return []
    made: list[Leaf] = []
    for dimension, (old, new) in enumerate(
        zip(source.type.shape, ty.shape, strict=True)
    ):
        if old is None and new is not None:
            extent, wanted = c.extent(source, dimension), c.value(new)
            shown = f"{source.name}.shape[{dimension}]"
            known = ((shown, extent), ("the extent it is cast to", wanted))
            bad = c.differ(extent, wanted)
            made.append(Leaf(source, verb, dimension, known, bad))
    return made


def _reshaped(c: ConditionBuilder, op: Operation, verb: str) -> list[Leaf]:
    """As many elements before as after."""
    one, other = (elements_of(c, v) for v in (op.operands[0], op.results[0]))
    known = (("elements", one), ("reshaped", other))
    return [Leaf(op.operands[0], verb, 0, known, c.differ(one, other))]


def _nothing(c: ConditionBuilder, op: Operation, verb: str) -> list[Leaf]:
    del c, op, verb
    return []


_VIEWS: dict[str, Callable[[ConditionBuilder, Operation, str], list[Leaf]]] = {
    "memref.subview": _subview,
    "memref.cast": cast_leaves,
    "memref.expand_shape": _reshaped,
    "memref.collapse_shape": _reshaped,
    "memref.transpose": _nothing,
    "memref.memory_space_cast": _nothing,
    "memref.assume_alignment": _nothing,
}
