"""Vectors in memory: each is a buffer, written once, with loops over its elements.

Loops, branches, calls and functions that carry vectors carry these buffers instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects.func import Function
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr, IntegerAttr, TypeAttr
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Label,
    Operation,
    Region,
    Successor,
    Value,
    renamed,
    single_block,
)
from gpucodegen.ir.types import (
    I1,
    I64,
    INDEX,
    FunctionType,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder, IndexLike
from gpucodegen.passes.prepare.outside_calls import carrier
from gpucodegen.records import dataclass

Place = Sequence[IndexLike]
"""Indices of an element."""
Element = Callable[[Builder, Place], Value]
"""Computes an element."""
Handler = Callable[["Boxes", Builder, Operation], None]


def shape_of(value: Value) -> tuple[int, ...]:
    """The extents of a vector; empty for a scalar."""
    return value.type.shape if isinstance(value.type, VectorType) else ()


def is_vector(value: Value) -> bool:
    return isinstance(value.type, VectorType)


@dataclass(slots=True)
class Boxes:
    """The replacements of the values of a function.

    ``boxes``: the buffers of vectors.  ``splats``: the scalar of a splat vector.
    ``values``: renamed scalars.  ``mask``: of the operation in an enclosing
    ``vector.mask``.  ``passed``: the buffers through which branches pass vectors.
    ``handlers``: the lowering of each operation.
    """

    boxes: dict[Value, Value] = field(default_factory=dict[Value, Value])
    splats: dict[Value, Attribute] = field(default_factory=dict[Value, Attribute])
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    mask: Value | None = None
    passed: dict[Label, tuple[Value, ...]] = field(
        default_factory=dict["Label", tuple["Value", ...]]
    )
    handlers: Mapping[str, Handler] = field(default_factory=dict[str, "Handler"])

    # -- operations --------------------------------------------------------------------

    def block(self, operations: Sequence[Operation]) -> list[Operation]:
        """The operations with vectors lowered."""
        b = Builder()
        for op in operations:
            b.location = op.location
            self.operation(b, renamed(op, self.values))
        return b.operations

    def operation(self, b: Builder, op: Operation) -> None:
        """Lower one operation, if it uses vectors."""
        op = renamed(op, self.values)
        passed = [value for target in op.successors for value in target.operands]
        has_vectors = any(map(is_vector, (*op.operands, *op.results, *passed)))
        if not has_vectors and op.dialect != "vector":
            b.operations.append(op.with_blocks(self._nested))
            return
        handler = self.handlers.get(op.name)
        if handler is None:
            raise refusal(op, "Use operations of arith, math, vector, scf and cf")
        handler(self, b, op)

    def _nested(self, block: Block) -> Block:
        return block.with_operations(self.block(block.operations))

    # -- vectors -----------------------------------------------------------------------

    def box(self, b: Builder, value: Value, name: str = "memref.alloca") -> Value:
        """A new buffer for a vector or scalar, which is written once."""
        ty = MemRefType(shape_of(value), element_type(value.type))
        return b.allocate(name, ty, value.name or "v")

    def made(self, b: Builder, value: Value) -> Value:
        self.boxes[value] = self.box(b, value)
        return self.boxes[value]

    def read(self, b: Builder, value: Value, at: Place) -> Value:
        """An element of a vector; a number is itself."""
        value = self.values.get(value, value)
        if not is_vector(value):
            return value
        if value in self.splats:
            stated = {"value": self.splats[value]}
            return b.value("arith.constant", (), element_type(value.type), stated)
        return load(b, self.boxes[value], at)

    def filled(self, b: Builder, value: Value, element: Element) -> None:
        """Fill a vector with these elements."""
        box = self.made(b, value)
        nest(b, shape_of(value), lambda i, at: store(i, element(i, at), box, at))

    def defined(self, b: Builder, value: Value, element: Element) -> None:
        """Define a vector by these elements, or a scalar by the only one."""
        if is_vector(value):
            self.filled(b, value, element)
        else:
            self.values[value] = element(b, ())

    def copied(self, b: Builder, value: Value, box: Value) -> None:
        nest(
            b,
            shape_of(value),
            lambda i, at: store(i, self.read(i, value, at), box, at),
        )

    def shown(self, b: Builder, value: Value) -> Value:
        """The buffer of a vector, also of a splat."""
        if value not in self.boxes:
            box = self.box(b, value)
            self.copied(b, value, box)
            return box
        return self.boxes[value]


# -- elements --------------------------------------------------------------------------


def nest(
    b: Builder, shape: Sequence[int], body: Callable[[Builder, Place], None]
) -> None:
    """Loops over all indices of a shape."""

    def level(inner: Builder, at: Place) -> None:
        if len(at) == len(shape):
            body(inner, at)
        elif shape[len(at)] == 1:
            level(inner, (*at, 0))
        else:
            inner.loop(0, shape[len(at)], lambda i, iv: level(i, (*at, iv)), hint="e")

    level(b, ())


def load(b: Builder, buffer: Value, at: Place) -> Value:
    ty = element_type(buffer.type)
    return b.value("memref.load", (buffer, *_indices(b, at)), ty, hint="x")


def store(b: Builder, value: Value, buffer: Value, at: Place) -> None:
    b.add("memref.store", (value, buffer, *_indices(b, at)))


def _indices(b: Builder, at: Place) -> list[Value]:
    return [b.index(index) for index in at]


def plus(b: Builder, base: Value, offset: IndexLike) -> Value:
    """The sum of two indices, the first of which may be a constant."""
    if isinstance(offset, int) and not offset:
        return base
    return b.value("arith.addi", (base, b.index(offset)), INDEX)


# -- conditions ------------------------------------------------------------------------


def both(b: Builder, conditions: Sequence[Value]) -> Value | None:
    """The conjunction of all conditions; None stands for true."""
    found: Value | None = None
    for condition in conditions:
        if found is None:
            found = condition
        else:
            found = b.value("arith.andi", (found, condition), I1)
    return found


def choose(
    b: Builder,
    conditions: Sequence[Value],
    first: Callable[[Builder], Value],
    second: Callable[[Builder], Value],
) -> Value:
    """The first value where all conditions hold, else the second, computed lazily.

    Each condition is a separate branch, since those on indices alone become affine.
    """
    if not conditions:
        return first(b)
    condition, *others = conditions
    types: list[Type] = []

    def branch(body: Callable[[Builder], Value]) -> Region:
        inner = Builder(b.location)
        value = body(inner)
        types[:] = [value.type]
        inner.add("scf.yield", (value,))
        return single_block(inner.operations)

    regions = [branch(lambda i: choose(i, others, first, second)), branch(second)]
    return b.add("scf.if", (condition,), types, {}, regions)[0]


def when(
    b: Builder, conditions: Sequence[Value], body: Callable[[Builder], None]
) -> None:
    """Run the body where all conditions hold."""
    if not conditions:
        body(b)
        return
    condition, *others = conditions
    inner = Builder(b.location)
    when(inner, others, body)
    inner.add("scf.yield")
    b.add("scf.if", (condition,), (), {}, [single_block(inner.operations), Region()])


def compare(b: Builder, predicate: int, one: Value, other: Value) -> Value:
    """``arith.cmpi`` by the number of its predicate."""
    stated = {"predicate": IntegerAttr(predicate, I64)}
    return b.value("arith.cmpi", (one, other), I1, stated)


def refusal(op: Operation, advice: str) -> errors.CompileError:
    """The error for an operation that has no form as loops."""
    return errors.UnsupportedOperation.at(op, target="vectors", advice=advice)


def _numbers(values: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(value for value in values if not is_vector(value))


def _vectors(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if is_vector(value)]


def _kept_apart(
    v: Boxes, b: Builder, values: Sequence[Value], boxes: Sequence[Value]
) -> None:
    """Parallel copy of vectors to buffers: a source may be another's target."""
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
    """A block whose terminator passes vectors in buffers."""
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
    """A function without vector arguments, results and operations."""
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
    """A block that copies its arguments, since their buffers are written again."""
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


CARRIER_HANDLERS: dict[str, Handler] = {
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
