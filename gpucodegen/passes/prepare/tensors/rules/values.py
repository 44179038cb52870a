"""Tensors made of numbers, and single elements of tensors."""

from __future__ import annotations

from itertools import product

from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.constants import DenseResourceAttr, SparseElementsAttr
from gpucodegen.ir.operation import Operation, operand_segments
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.effects import is_undefined
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Storage
from gpucodegen.passes.prepare.tensors.constants import buffer_type, scalar_constant
from gpucodegen.passes.prepare.tensors.rewriter import Rewriter, Rule
from gpucodegen.passes.prepare.tensors.rules.structured import filled, generated
from gpucodegen.passes.prepare.tensors.views import shape_of


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


def rank(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.rank``: a number."""
    del r
    count = b.constant(len(shape_of(op.operands[0].type)), INDEX)
    made_here = b.operations.pop()
    assert made_here.result is count
    b.operations.append(made_here.with_(results=op.results))
