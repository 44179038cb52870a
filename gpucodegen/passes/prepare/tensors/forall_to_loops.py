"""``scf.forall`` and ``scf.parallel`` as loops; reads of shared outputs of the former.

Iterations write in no order, and none sees the writes of another.  The slice that an
iteration inserts stays a slice of the output, which is updated in place.  Every other
read is redirected to the tensor that the loop was given, and the conflict analysis
copies that tensor where a write would spoil it.  On buffers the loops become ``scf``
loops; later passes raise them to affine and prove them parallel.  Reductions of
``scf.parallel`` combine values in any order: their sums and products may be
reassociated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from gpucodegen.dialects.arith import permits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import DYNAMIC_MARK, Mixed, Slice
from gpucodegen.dialects.scf.syntax import BOUNDS
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import (
    Operation,
    Value,
    operand_segments,
    rewrite_bottom_up,
    single_block,
    substitute_values,
)
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.records import dataclass

_Part = tuple[tuple[Mixed, ...], ...]
_INSERTION = "tensor.parallel_insert_slice"


def original_reads(function: Operation) -> Operation:
    """The function with other reads of shared outputs redirected."""
    (made,) = rewrite_bottom_up(function, _forall)
    return made


def _forall(op: Operation) -> Sequence[Operation] | None:
    if op.name != "scf.forall" or not op.results:
        return None
    given = operand_segments(op, 4)[3]
    shared = dict(zip(op.body.arguments[-len(given) :], given, strict=True))
    parts = _parts(op, shared)

    def redirected(inner: Operation) -> Sequence[Operation] | None:
        operands = tuple(
            shared[value]
            if value in shared and not _stays(inner, position, parts[value])
            else value
            for position, value in enumerate(inner.operands)
        )
        return None if operands == inner.operands else [inner.with_(operands=operands)]

    rewritten = (rewrite_bottom_up(inner, redirected) for inner in op.body.operations)
    return [op.with_body(chain.from_iterable(rewritten))]


def _parts(op: Operation, shared: Mapping[Value, Value]) -> dict[Value, set[_Part]]:
    """The slices that an iteration inserts into each output."""
    found: dict[Value, set[_Part]] = {value: set() for value in shared}
    for inner in op.walk():
        if inner.name == _INSERTION and inner.operands[1] in shared:
            found[inner.operands[1]].add(_part(inner))
    return found


def _stays(op: Operation, position: int, parts: set[_Part]) -> bool:
    """Whether an operand is the destination of an insertion, or the same slice."""
    if op.name == _INSERTION:
        return position == 1
    return op.name == "tensor.extract_slice" and parts == {_part(op)}


def _part(op: Operation) -> _Part:
    view = Slice(op)
    return view.offsets, view.sizes, view.strides


Body = Callable[[Builder, Sequence[Value]], None]
Bounds = tuple[Mixed, Mixed, Mixed]
"""Lower bound, upper bound, step."""


def loops(b: Builder, extents: Sequence[Mixed], body: Body) -> None:
    """``scf.for`` over every extent."""
    nest(b, [(0, extent, 1) for extent in extents], body)


def nest(b: Builder, bounds: Sequence[Bounds], body: Body) -> None:
    """``scf.for`` with bounds and steps, one in the other.

    >>> b = Builder()
    >>> nest(b, [(0, 4, 1)], lambda inner, ivs: None)
    >>> [op.name for op in b.operations]
    ['arith.constant', 'arith.constant', 'arith.constant', 'scf.for']
    """
    given = [tuple(b.index(bound) for bound in triple) for triple in bounds]
    _nest(b, given, body, [])


def _nest(
    b: Builder, bounds: Sequence[tuple[Value, ...]], body: Body, ivs: list[Value]
) -> None:
    if len(ivs) == len(bounds):
        body(b, ivs)
        return
    iv, inner = Value(INDEX, f"i{len(ivs)}", b.location), Builder(b.location)
    _nest(inner, bounds, body, [*ivs, iv])
    inner.add("scf.yield")
    b.operations.append(
        Operation(
            "scf.for",
            bounds[len(ivs)],
            regions=(single_block(inner.operations, (iv,)),),
            location=b.location,
        )
    )


@dataclass(frozen=True, slots=True)
class ForallToLoops(
    ModulePass, name="forall-to-loops", looks_for="scf.forall scf.parallel"
):
    """``scf.parallel``, and ``scf.forall`` without shared outputs, become ``scf.for``.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<8xf32>, %v: f32) {
    ...   scf.forall (%i) in (8) {
    ...     memref.store %v, %A[%i] : memref<8xf32>
    ...   }
    ...   return
    ... }''')
    >>> "scf.for " in str(ForallToLoops().apply(module))
    True
    """

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _loops)
        return Module(root)


def _loops(op: Operation) -> Sequence[Operation] | None:
    if op.name == "scf.parallel":
        return _parallel(op)
    if op.name != "scf.forall" or op.results:
        return None
    b = Builder(op.location)
    lower, upper, step = _bounds(op)

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        mapping = dict(zip(op.body.arguments, ivs, strict=True))
        operations = op.body.operations[:-1]
        inner.operations += [substitute_values(o, mapping) for o in operations]

    nest(b, list(zip(lower, upper, step, strict=True)), body)
    return b.operations


def _bounds(op: Operation) -> Iterator[list[Mixed]]:
    for name, values in zip(BOUNDS, operand_segments(op, 4), strict=False):
        dynamic = iter(values)
        yield [next(dynamic) if n == DYNAMIC_MARK else n for n in op.numbers(name)]


def _parallel(op: Operation) -> Sequence[Operation]:
    lower, upper, step, inits = operand_segments(op, 4)
    bounds = zip(lower, upper, step, op.body.arguments, strict=True)
    return [_carrying(op, list(bounds), inits, op.results)]


def _carrying(
    op: Operation,
    bounds: Sequence[tuple[Value, ...]],
    inits: Sequence[Value],
    results: Sequence[Value],
) -> Operation:
    """The loop of the first bounds around the others; it carries the reductions."""
    (*first, iv), *others = bounds
    carried = [value.renewed() for value in results]
    if others:
        yielded = [value.renewed() for value in results]
        body = [_carrying(op, others, carried, yielded)]
    else:
        *body, end = op.body.operations
        combined, yielded = _combined(end, carried)
        body += combined
    body.append(Operation("scf.yield", tuple(yielded), location=op.location))
    region = single_block(tuple(body), (iv, *carried))
    values = (*first, *inits), tuple(results)
    return Operation("scf.for", *values, {}, (region,), location=op.location)


def _combined(
    end: Operation, carried: Sequence[Value]
) -> tuple[list[Operation], list[Value]]:
    """The operations of the reductions' regions, and their results."""
    made, results = list[Operation](), list[Value]()
    for region, total, value in zip(end.regions, carried, end.operands, strict=True):
        (block,) = region.blocks
        mapping = dict(zip(block.arguments, (total, value), strict=True))
        *inner, returned = block.operations
        made += [substitute_values(_in_any_order(o), mapping) for o in inner]
        (result,) = returned.operands
        results.append(mapping.get(result, result))
    return made, results


def _in_any_order(op: Operation) -> Operation:
    if op.name not in {"arith.addf", "arith.mulf"} or permits(op, "reassoc"):
        return op
    flags = re.findall(r"\w+(?=[,>])", str(op.attributes.get("fastmath", "")))
    words = ",".join(["reassoc", *(word for word in flags if word != "none")])
    made = OpaqueAttr(f"#arith.fastmath<{words}>")
    return op.with_(attributes={**op.attributes, "fastmath": made})
