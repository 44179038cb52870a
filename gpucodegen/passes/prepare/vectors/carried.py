"""Loops, branches, calls and functions that carry vectors: buffers carry them."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.func import Function
from gpucodegen.ir.attributes import DenseArrayAttr, TypeAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Operation,
    Region,
    Successor,
    Value,
)
from gpucodegen.ir.types import FunctionType, VectorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.boundaries.carriers import carrier
from gpucodegen.passes.prepare.vectors.boxes import Boxes, Handler, is_vector


def _numbers(values: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(value for value in values if not is_vector(value))


def _vectors(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if is_vector(value)]


def _kept_apart(
    v: Boxes, b: Builder, values: Sequence[Value], boxes: Sequence[Value]
) -> None:
    """Vectors to buffers as if at once: a source may be another's target."""
    given = set(boxes)
    for value in values:
        box = v.boxes.get(value)
        if box in given:
            fresh = v.box(b, value)
            v.copied(b, value, fresh)
            v.boxes[value] = fresh
    for value, box in zip(values, boxes, strict=True):
        v.copied(b, value, box)


def _ending(v: Boxes, block: Block, boxes: Sequence[Value], skip: int = 0) -> Block:
    """A block whose last operation hands vectors on in buffers."""
    *operations, last = block.operations
    inner = Builder(last.location)
    inner.operations += v.block(operations)
    inner.location = last.location
    passed = last.operands[skip:]
    _kept_apart(v, inner, _vectors(passed), boxes)
    kept = (*last.operands[:skip], *_numbers(passed))
    kept = tuple(v.values.get(value, value) for value in kept)
    inner.operations.append(last.with_(operands=kept))
    return Block(block.arguments, tuple(inner.operations), block.label)


def loop(v: Boxes, b: Builder, op: Operation) -> None:
    """``scf.for`` and ``affine.for``."""
    (block,) = op.regions[0].blocks
    iv, *arguments = block.arguments
    initial = op.operands[len(op.operands) - len(arguments) :]
    outer = op.operands[: len(op.operands) - len(arguments)]
    boxes: list[Value] = []
    rows = zip(initial, arguments, op.results, strict=True)
    for value, argument, result in rows:
        if is_vector(value):
            box = v.box(b, result)
            v.copied(b, value, box)
            boxes.append(box)
            v.boxes[argument] = v.boxes[result] = box
    head = Block((iv, *_numbers(arguments)), block.operations, block.label)
    body = _ending(v, head, boxes)
    attributes = dict(op.attributes)
    sizes = attributes.get(OPERAND_SEGMENTS)
    if isinstance(sizes, DenseArrayAttr):
        counts = (*sizes.values[:-1], len(_numbers(initial)))
        attributes[OPERAND_SEGMENTS] = DenseArrayAttr(sizes.element, counts)
    b.operations.append(
        op.with_(
            operands=(*outer, *_numbers(initial)),
            results=_numbers(op.results),
            attributes=attributes,
            regions=(Region((body,)),),
        )
    )


def branch(v: Boxes, b: Builder, op: Operation) -> None:
    """``scf.if``, ``affine.if`` and ``scf.execute_region`` of one block."""
    boxes = [v.box(b, value) for value in _vectors(op.results)]
    v.boxes.update(zip(_vectors(op.results), boxes, strict=True))
    regions = tuple(
        Region(tuple(_ending(v, block, boxes) for block in region.blocks))
        for region in op.regions
    )
    b.operations.append(op.with_(results=_numbers(op.results), regions=regions))


def while_loop(v: Boxes, b: Builder, op: Operation) -> None:
    """``scf.while``: one set of buffers for each of its two regions."""
    before, after = (region.blocks[0] for region in op.regions)
    first = [v.box(b, value) for value in _vectors(before.arguments)]
    second = [v.box(b, value) for value in _vectors(after.arguments)]
    for value, box in zip(_vectors(op.operands), first, strict=True):
        v.copied(b, value, box)
    v.boxes.update(zip(_vectors(before.arguments), first, strict=True))
    v.boxes.update(zip(_vectors(after.arguments), second, strict=True))
    v.boxes.update(zip(_vectors(op.results), second, strict=True))
    heads = (
        Block(_numbers(block.arguments), block.operations, block.label)
        for block in (before, after)
    )
    tested = _ending(v, next(heads), second, skip=1)
    done = _ending(v, next(heads), first)
    b.operations.append(
        op.with_(
            operands=_numbers(op.operands),
            results=_numbers(op.results),
            regions=(Region((tested,)), Region((done,))),
        )
    )


def call(v: Boxes, b: Builder, op: Operation) -> None:
    """``func.call``: buffers in place of vectors."""
    operands = tuple(v.shown(b, x) if is_vector(x) else x for x in op.operands)
    results: list[Value] = []
    for value in op.results:
        if is_vector(value):
            v.boxes[value] = value.renewed(carrier(value.type))
        results.append(v.boxes.get(value, value))
    b.operations.append(op.with_(operands=operands, results=tuple(results)))


def leave(v: Boxes, b: Builder, op: Operation) -> None:
    """``func.return``: each vector leaves in a buffer of its own."""
    returned: list[Value] = []
    for value in op.operands:
        if not is_vector(value):
            returned.append(value)
            continue
        box = v.box(b, value, "memref.alloc")
        v.copied(b, value, box)
        returned.append(box)
    b.operations.append(op.with_(operands=tuple(returned)))


# -- blocks ----------------------------------------------------------------------------


def jump(v: Boxes, b: Builder, op: Operation) -> None:
    """Branches between blocks: vectors go through the buffers of their targets."""
    successors: list[Successor] = []
    for target in op.successors:
        boxes = v.passed.get(target.label, ())
        _kept_apart(v, b, _vectors(target.operands), boxes)
        successors.append(Successor(target.label, _numbers(target.operands)))
    b.operations.append(op.with_(successors=tuple(successors)))


def function(v: Boxes, op: Operation) -> Operation:
    """A function that takes, gives and computes without vectors."""
    view = Function(op)
    entry, *others = view.blocks
    vectors = _vectors(entry.arguments)
    v.boxes.update((value, value.renewed(carrier(value.type))) for value in vectors)
    arguments = tuple(v.boxes.get(value, value) for value in entry.arguments)
    start = Builder(op.location)
    for block in others:
        if block.label is not None:
            vectors = _vectors(block.arguments)
            v.passed[block.label] = tuple(v.box(start, value) for value in vectors)
    first = Block(
        arguments, (*start.operations, *v.block(entry.operations)), entry.label
    )
    blocks = (first, *(_later(v, block) for block in others))
    inputs = tuple(value.type for value in arguments)
    given = (
        carrier(ty) if isinstance(ty, VectorType) else ty for ty in view.result_types
    )
    signature = FunctionType(inputs, tuple(given))
    made = op.with_(regions=(Region(blocks),))
    return made.with_attribute("function_type", TypeAttr(signature))


def _later(v: Boxes, block: Block) -> Block:
    """A block that copies what it was passed, since its buffers are written again."""
    b = Builder(block.operations[0].location)
    vectors = _vectors(block.arguments)
    boxes = v.passed.get(block.label, ()) if block.label is not None else ()
    for value, box in zip(vectors, boxes, strict=True):
        v.boxes[value] = box
        own = v.box(b, value)
        v.copied(b, value, own)
        v.boxes[value] = own
    operations = (*b.operations, *v.block(block.operations))
    return Block(_numbers(block.arguments), operations, block.label)


HANDLERS: dict[str, Handler] = {
    "scf.for": loop,
    "affine.for": loop,
    "scf.if": branch,
    "affine.if": branch,
    "scf.execute_region": branch,
    "scf.while": while_loop,
    "func.call": call,
    "func.return": leave,
    "cf.br": jump,
    "cf.cond_br": jump,
    "cf.switch": jump,
}
