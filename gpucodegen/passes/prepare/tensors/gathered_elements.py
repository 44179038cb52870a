"""Gathered elements of computed tensors are computed where they are gathered.

    t = f(a[i, j], b[i]);  r[i] = t[i, k[i]]     =>     r[i] = f(a[i, k[i]], b[i])

An operation that extracts few elements of an elementwise result, as the loss of given
classes does, computes these again instead of reading a tensor that is stored for them.
It pays where the extracts are at most a quarter of the elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen.dialects import linalg
from gpucodegen.dialects.gcg import NAME
from gpucodegen.ir.affine import Const, Dim
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.ir.types import TensorType
from gpucodegen.passes.framework.builder import Builder

FEW = 4
"""Elements of a tensor for each of those that are extracted."""


def with_gathered_elements(operations: Sequence[Operation]) -> list[Operation]:
    """The block with elements of elementwise results computed where it pays."""
    made: dict[Value, Operation] = {}
    result: list[Operation] = []
    for op in operations:
        is_structured = op.name == "linalg.generic" and op.results
        new = _gathering(op, made) if is_structured else op
        made.update((value, new) for value in new.results)
        result.append(new)
    return result


def _gathering(op: Operation, made: Mapping[Value, Operation]) -> Operation:
    """A structured operation whose extracts compute their elements."""
    count = _iterations(op)
    b, known = Builder(op.location), dict[Value, Value]()
    for inner in op.body.operations:
        new = substitute_values(inner, known) if known else inner
        if new.name == "tensor.extract" and count:
            known[inner.result] = _element(b, new, count, made)
        else:
            b.operations.append(new)
    return op.with_body(b.operations) if known else op


def _element(
    b: Builder, extract: Operation, count: int, made: Mapping[Value, Operation]
) -> Value:
    """The value of an extract, computed by its producer's body if it has one."""
    tensor, *places = extract.operands
    producer = made.get(tensor)
    if producer is None or not _is_recomputed(producer, count):
        b.operations.append(extract)
        return extract.result
    generic = linalg.Structured(producer)
    known: dict[Value, Value] = {}
    for argument, operand, map_ in zip(
        producer.body.arguments, generic.inputs, generic.indexing_maps, strict=False
    ):
        known[argument] = operand
        if isinstance(operand.type, TensorType):
            at = [
                places[e.position] if isinstance(e, Dim) else b.index(_constant(e))
                for e in map_.results
            ]
            read = extract.with_(operands=(operand, *at), results=(argument.renewed(),))
            known[argument] = _element(b, read, count, made)
    *body, end = producer.body.operations
    for op in body:
        if op.name == "linalg.index":
            known[op.result] = places[op.integer("dim")]
        else:
            b.operations.append(clone(op, known))
    return known.get(end.operands[0], end.operands[0])


def _constant(expr: object) -> int:
    assert isinstance(expr, Const)
    return expr.value


def _is_recomputed(producer: Operation, count: int) -> bool:
    """Whether a producer is elementwise, of many elements, and simply indexed."""
    if producer.name != "linalg.generic" or len(producer.results) != 1:
        return False
    if NAME in producer.attributes:  # a schedule names its loops
        return False
    generic = linalg.Structured(producer)
    maps = generic.indexing_maps
    used = {v for op in producer.body.operations for v in op.operands}
    return (
        _count(producer.result) >= FEW * count
        and set(generic.iterator_types) <= {"parallel"}
        and maps[-1].is_identity
        and all(isinstance(e, Dim | Const) for m in maps for e in m.results)
        and producer.body.arguments[-1] not in used
        and not any(op.regions for op in producer.body.operations)
    )


def _iterations(op: Operation) -> int:
    """The iterations of a structured operation; 0 if they are not known."""
    maps = linalg.Structured(op).indexing_maps
    extents = dict.fromkeys(range(maps[0].num_dims), 0)
    for operand, map_ in zip(op.operands, maps, strict=False):
        shape = operand.type.shape if isinstance(operand.type, TensorType) else ()
        places = zip(map_.results, shape, strict=False)
        extents |= {e.position: n or 0 for e, n in places if isinstance(e, Dim)}
    return prod(extents.values())


def _count(value: Value) -> int:
    """The elements of a tensor; 0 if they are not known."""
    shape = value.type.shape if isinstance(value.type, TensorType) else (0,)
    return prod(extent or 0 for extent in shape)
