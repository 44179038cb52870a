"""A vector as a buffer that is written once, and loops over its elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen import errors
from gpucodegen.ir.attributes import Attribute, IntegerAttr
from gpucodegen.ir.operation import (
    Block,
    Label,
    Operation,
    Region,
    Value,
    renamed,
    single_block,
)
from gpucodegen.ir.types import (
    I1,
    I64,
    INDEX,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.operation_list import IndexLike

Place = Sequence[IndexLike]
"""Indices of an element."""
Element = Callable[[Builder, Place], Value]
"""How an element is computed."""
Handler = Callable[["Boxes", Builder, Operation], None]


def shape_of(value: Value) -> tuple[int, ...]:
    """The extents of a vector; none of a number."""
    return value.type.shape if isinstance(value.type, VectorType) else ()


def is_vector(value: Value) -> bool:
    """Whether a value is a vector."""
    return isinstance(value.type, VectorType)


@dataclass(slots=True)
class Boxes:
    """What stands for the values of a function.

    ``boxes``: the buffers of vectors.  ``splats``: the number that all elements are.
    ``values``: numbers that have other names now.  ``mask``: of the operation that is
    written out, where ``vector.mask`` is around it.  ``passed``: the buffers through
    which the branches of a function pass vectors.  ``handlers`` write operations out.
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
        """Operations without vectors in place of some."""
        b = Builder()
        for op in operations:
            b.location = op.location
            self.operation(b, renamed(op, self.values))
        return b.operations

    def operation(self, b: Builder, op: Operation) -> None:
        """Write out one operation, if it has to do with vectors."""
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
        """A new buffer for a vector or number, which shall not be written again."""
        ty = MemRefType(shape_of(value), element_type(value.type))
        return b.allocate(name, ty, value.name or "v")

    def made(self, b: Builder, value: Value) -> Value:
        """The new buffer of a vector."""
        self.boxes[value] = self.box(b, value)
        return self.boxes[value]

    def read(self, b: Builder, value: Value, at: Place) -> Value:
        """An element of a vector; a number is itself."""
        value = self.values.get(value, value)
        if not is_vector(value):
            return value
        if value in self.splats:
            stated = {"value": self.splats[value]}
            (number,) = b.add("arith.constant", (), [element_type(value.type)], stated)
            return number
        return load(b, self.boxes[value], at)

    def filled(self, b: Builder, value: Value, element: Element) -> None:
        """A vector of these elements."""
        box = self.made(b, value)
        nest(b, shape_of(value), lambda i, at: store(i, element(i, at), box, at))

    def defined(self, b: Builder, value: Value, element: Element) -> None:
        """A vector of these elements, or a number that is the only one."""
        if is_vector(value):
            self.filled(b, value, element)
        else:
            self.values[value] = element(b, ())

    def copied(self, b: Builder, value: Value, box: Value) -> None:
        """A vector to a buffer of its shape."""
        nest(
            b,
            shape_of(value),
            lambda i, at: store(i, self.read(i, value, at), box, at),
        )

    def shown(self, b: Builder, value: Value) -> Value:
        """The buffer of a vector, also of one whose elements are all the same."""
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
    """``memref.load``."""
    ty = element_type(buffer.type)
    return b.add("memref.load", (buffer, *_indices(b, at)), [ty], hint="x")[0]


def store(b: Builder, value: Value, buffer: Value, at: Place) -> None:
    """``memref.store``."""
    b.add("memref.store", (value, buffer, *_indices(b, at)))


def _indices(b: Builder, at: Place) -> list[Value]:
    return [b.index(index) for index in at]


def plus(b: Builder, base: Value, offset: IndexLike) -> Value:
    """The sum of two indices, of which the first one may be any number."""
    if isinstance(offset, int) and not offset:
        return base
    return b.add("arith.addi", (base, b.index(offset)), [INDEX])[0]


# -- conditions ------------------------------------------------------------------------


def both(b: Builder, conditions: Sequence[Value]) -> Value | None:
    """Whether all conditions hold; None stands for always."""
    found: Value | None = None
    for condition in conditions:
        if found is None:
            found = condition
        else:
            (found,) = b.add("arith.andi", (found, condition), [I1])
    return found


def choose(
    b: Builder,
    conditions: Sequence[Value],
    first: Callable[[Builder], Value],
    second: Callable[[Builder], Value],
) -> Value:
    """The first value where all conditions hold, else the second; one is computed.

    Each condition is a branch of its own, since those on indices alone become affine.
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
    """Something where all conditions hold."""
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
    return b.add("arith.cmpi", (one, other), [I1], stated)[0]


def refusal(op: Operation, advice: str) -> errors.CompileError:
    """The error for what has no form as loops."""
    return errors.UnsupportedOperation(
        op.location, operation=op.name, target="vectors", advice=advice
    )
