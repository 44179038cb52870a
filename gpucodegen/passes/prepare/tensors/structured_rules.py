"""Bufferization of linalg, of tensors built from scalars, and of element accesses.

An output tensor without contents gets the place where its result is inserted or carried
by a loop (destination passing), if nothing reads that place in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from gpucodegen.dialects import linalg
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import DenseElementsAttr, IntegerAttr
from gpucodegen.ir.constants import DenseResourceAttr, SparseElementsAttr
from gpucodegen.ir.operation import Operation, Value, clone, operand_segments
from gpucodegen.ir.types import I64, INDEX, MemRefType, TensorType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.conflicts import (
    INSERTIONS,
    UNDEFINED,
    Use,
    Write,
    is_undefined,
    reads,
)
from gpucodegen.passes.prepare.tensors.placement import (
    Buffer,
    Part,
    Storage,
    buffer_type,
    part_of,
    scalar_constant,
    shape_of,
)
from gpucodegen.passes.prepare.tensors.rewriter import (
    Rewriter,
    Rule,
    origin,
)

Place = tuple[Value, Part | None]
"""A tensor, and a part of it."""


def destination(
    r: Rewriter, b: Builder, op: Operation, position: int, result: Value
) -> Buffer | None:
    """The place in which an operation can compute a result for its consumer."""
    order = r.conflicts.order
    made = order.made.get(op.operands[position])
    uses = order.uses.get(result, ())
    if made is None or made.name not in UNDEFINED or len(uses) != 1:
        return None
    if op.operands[position] not in r.conflicts.undefined:
        return None
    rule = _PLACES.get(uses[0].op.name)
    place = None if rule is None else rule(r, op, uses[0])
    if place is None or place[0] not in r.buffers:
        return None
    tensor, part = place
    into = r.buffers[tensor]
    write = Write(op, position, part, into=into)
    if not into.storage.writable or r.conflicts.of_write(write) is not None:
        return None
    if part is None:
        return into
    return part_of(b, into, part, shape_of(result.type))


def _inserted(r: Rewriter, op: Operation, use: Use) -> Place | None:
    """A part of the tensor that it is inserted into, if that is defined by then."""
    order, part = r.conflicts.order, r.conflicts.part(use.op)
    parallel = use.op.name == "tensor.parallel_insert_slice"
    home = order.block[order.around[use.op][-1] if parallel else use.op]
    entries = (*part.offsets, *part.sizes, *part.strides)
    known = all(order.precedes(e, op) for e in entries if isinstance(e, Value))
    fits = use.position == 0 and home is order.block[op] and known
    return (use.op.operands[1], part) if fits else None


def _carried(r: Rewriter, op: Operation, use: Use) -> Place | None:
    """The tensor that a loop carries, of the same extents."""
    order = r.conflicts.order
    loop, value = order.around[use.op][-1], use.op.operands[use.position]
    skipped = _VARIABLES.get(loop.name)
    if skipped is None or loop.regions[-1].blocks[0] is not order.block[op]:
        return None
    argument = loop.regions[0].blocks[0].arguments[skipped + use.position]
    if argument in r.conflicts.undefined:
        return None
    dimensions = range(len(shape_of(value.type)))
    same = all(
        origin(r.conflicts, value, d) == origin(r.conflicts, argument, d)
        for d in dimensions
    )
    return (argument, None) if same else None


_VARIABLES = {"scf.for": 1, "affine.for": 1, "scf.while": 0}
"""Number of block arguments of a loop before the carried ones."""


def _passed_on(r: Rewriter, op: Operation, use: Use) -> Place | None:
    """The place of the next operation's result."""
    order, first = r.conflicts.order, len(linalg.Structured(use.op).inputs)
    if use.position < first or order.block[use.op] is not order.block[op]:
        return None
    outputs = use.op.operands[first : use.position]
    number = sum(isinstance(v.type, TensorType) for v in outputs)
    uses = order.uses.get(use.op.results[number], [])
    if len(uses) != 1:
        return None
    (last,) = uses
    rule = _PLACES.get(last.op.name)
    return None if rule is None else rule(r, op, last)


_PLACES: Mapping[str, Callable[[Rewriter, Operation, Use], Place | None]] = {
    **dict.fromkeys(INSERTIONS, _inserted),
    "scf.yield": _carried,
    "affine.yield": _carried,
    "linalg.generic": _passed_on,
}


Body = Callable[[Builder, Sequence[Value]], Value]


def structured(r: Rewriter, b: Builder, op: Operation) -> None:
    """``linalg.generic``: the outputs' buffers become the results'."""
    count = len(linalg.Structured(op).inputs)
    settled: set[int] = set()
    outputs: list[Value] = []
    results = iter(op.results)
    for position in range(count, len(op.operands)):
        tensor = op.operands[position]
        if tensor not in r.buffers:
            outputs.append(tensor)
            continue
        result = next(results)
        write = Write(op, position, settled=frozenset(settled))
        contents = reads(Use(op, position))
        there = None if contents else destination(r, b, op, position, result)
        buffer = there or r.writable(b, write, contents=contents)
        if buffer is not r.buffers[tensor]:
            settled.add(position)
        outputs.append(buffer.value)
        r.bind(result, buffer)
    inputs = map(r.memref, op.operands[:count])
    regions = tuple(map(r.region, op.regions))
    operands = (*inputs, *outputs)
    b.operations.append(op.with_(operands=operands, results=(), regions=regions))


def relayout(r: Rewriter, b: Builder, op: Operation) -> None:
    """``linalg.pack`` and ``unpack``: all of the destination is written."""
    source, _, *others = op.operands
    into = r.writable(b, Write(op, 1), contents=False)
    operands = (r.memref(source), into.value, *others)
    b.operations.append(op.with_(operands=operands, results=()))
    r.bind(op.result, into)


# -- elementwise nests -----------------------------------------------------------------


def elementwise(b: Builder, inputs: Sequence[Value], output: Value, body: Body) -> None:
    """A nest that stores a function of scalars and of elements at the same place.

    ``body`` gets the elements of the inputs.
    """
    rank = len(getattr(output.type, "shape", ()))
    whole, scalar = AffineMap.identity(rank), AffineMap(rank, 0, ())
    is_array = [hasattr(v.type, "shape") for v in (*inputs, output)]
    maps = [whole if found else scalar for found in is_array]
    arguments = [v.renewed(element_type(v.type)) for v in (*inputs, output)]
    inner = Builder(b.location)
    value = body(inner, arguments[:-1])
    end = linalg.yield_((value,), location=b.location)
    b.operations.append(
        linalg.generic(
            inputs,
            (output,),
            maps,
            ["parallel"] * rank,
            arguments,
            [*inner.operations, end],
            location=b.location,
        )
    )


def filled(b: Builder, scalar: Value, output: Value) -> None:
    """Every element becomes one number."""
    elementwise(b, (scalar,), output, lambda _, given: given[0])


def transferred(b: Builder, source: Value, output: Value) -> None:
    """A copy as a nest, which kernels may fuse."""
    elementwise(b, (source,), output, lambda _, given: given[0])


def positions(b: Builder, rank: int) -> list[Value]:
    """``linalg.index`` of every loop."""
    return [
        b.value("linalg.index", (), INDEX, {"dim": IntegerAttr(d, I64)}, hint=f"i{d}")
        for d in range(rank)
    ]


def generated(r: Rewriter, b: Builder, op: Operation, output: Value) -> None:
    """Fill with the value that the operation's body yields for each position."""
    (block,) = op.regions[0].blocks

    def body(inner: Builder, _: Sequence[Value]) -> Value:
        places = positions(inner, len(block.arguments))
        mapping = dict(zip(block.arguments, places, strict=True))
        rewritten = r.body(block)
        for found in rewritten.operations[:-1]:
            inner.operations.append(clone(found, mapping))
        value = rewritten.operations[-1].operands[0]
        return mapping.get(value, value)

    elementwise(b, (), output, body)


def made(r: Rewriter, b: Builder, op: Operation, sizes: int = 0) -> Buffer:
    """A fresh buffer for the result, whose sizes are operands from ``sizes`` on."""
    ty = buffer_type(op.result.type, op.location)
    assert isinstance(ty, MemRefType)
    count = ty.shape.count(None)
    given = op.operands[sizes : sizes + count]
    buffer = r.allocate(b, ty, given, op.result.name)
    r.bind(op.result, buffer)
    return buffer


def empty(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.empty``: memory without contents."""
    if is_undefined(op):
        r.conflicts.undefined.add(op.result)
        made(r, b, op)
        return
    _, copied, _ = operand_segments(op, 3)
    r.bind(op.result, r.copied(b, copied[0]))


def splat(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.splat``: one number everywhere."""
    filled(b, op.operands[0], made(r, b, op, 1).value)


def from_elements(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.from_elements``: a store for each."""
    buffer = made(r, b, op, len(op.operands))
    shape = [n or 0 for n in shape_of(op.result.type)]
    places = product(*map(range, shape))
    for element, place in zip(op.operands, places, strict=True):
        b.store(element, buffer.value, place)


def generate(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.generate``: a nest."""
    generated(r, b, op, made(r, b, op).value)


def constant(r: Rewriter, b: Builder, op: Operation) -> None:
    """A constant of a tensor: a filled buffer, or a global one."""
    value, ty = op.attributes["value"], buffer_type(op.result.type)
    if isinstance(value, SparseElementsAttr | DenseResourceAttr):
        value = value.dense()
    if not isinstance(value, DenseElementsAttr) or not isinstance(ty, MemRefType):
        b.operations.append(op)
    elif value.is_splat:
        filled(b, scalar_constant(b, value.values[0], ty.element), made(r, b, op).value)
    else:
        shown = r.globals.shown(b, value, ty)
        r.bind(op.result, Buffer(shown, Storage(writable=False)))


def renamed(name: str) -> Rule:
    """The same operation on buffers under another name."""

    def rule(r: Rewriter, b: Builder, op: Operation) -> None:
        operands = tuple(map(r.memref, op.operands))
        b.operations.append(op.with_(name=name, operands=operands))

    return rule


def rank(_: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.rank``: a constant."""
    count = b.constant(len(shape_of(op.operands[0].type)), INDEX)
    made_here = b.operations.pop()
    assert made_here.result is count
    b.operations.append(made_here.with_(results=op.results))
