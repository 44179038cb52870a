"""linalg on tensors, and tensors whose elements are a function of their position."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects import linalg
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import I64, INDEX, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Write
from gpucodegen.passes.prepare.tensors.analysis.effects import reads
from gpucodegen.passes.prepare.tensors.analysis.order import Use
from gpucodegen.passes.prepare.tensors.rewriter import (
    Rewriter,
    mentions_tensors,
    refusal,
)
from gpucodegen.passes.prepare.tensors.rules.destinations import destination

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
    """A copy as a nest, which kernels may join with what is around it."""
    elementwise(b, (source,), output, lambda _, given: given[0])


def positions(b: Builder, rank: int) -> list[Value]:
    """``linalg.index`` of every loop."""
    return [
        b.add("linalg.index", (), [INDEX], {"dim": IntegerAttr(d, I64)}, hint=f"i{d}")[
            0
        ]
        for d in range(rank)
    ]


def generated(r: Rewriter, b: Builder, op: Operation, output: Value) -> None:
    """Every element is what the body of the operation yields for its position."""
    (block,) = op.regions[0].blocks

    def body(inner: Builder, given: Sequence[Value]) -> Value:
        del given
        places = positions(inner, len(block.arguments))
        mapping = dict(zip(block.arguments, places, strict=True))
        rewritten = r.body(block)
        for found in rewritten.operations[:-1]:
            inner.operations.append(clone(found, mapping))
        value = rewritten.operations[-1].operands[0]
        return mapping.get(value, value)

    elementwise(b, (), output, body)


def yielded(r: Rewriter, b: Builder, op: Operation) -> None:
    """The end of a body on scalars."""
    if mentions_tensors(op):
        raise refusal(op)
    del r
    b.operations.append(op)
