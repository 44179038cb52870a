"""Operations, blocks, regions and values of the IR.

Everything is immutable but its identity: a rewrite builds new operations and reuses the
values. A :class:`Value` does not know who defines it, so an operation can be rebuilt
around unchanged values; definitions and uses are found by walking::

    Operation ::= results = name(operands)[successors] (regions) {attributes} : types
    Region    ::= Block*          Block ::= ^label(arguments): Operation*

`operandSegmentSizes` divides a variadic operand list into groups. Deeply nested regions
need deep recursion: the recursion limit is global to the interpreter, so with several
parsing threads the first raises it and the last restores it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from operator import is_
from threading import Lock
from types import MappingProxyType
from typing import Protocol

from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    StringAttr,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.types import I32, Type
from gpucodegen.records import dataclass

_ROOM = 6000  # Python stack frames


@dataclass(slots=True)
class _Raised:
    """Number of users of the raised recursion limit, and the previous limit."""

    users: int = 0
    before: int = 0


_RAISED = _Raised()
_LOCK = Lock()


@contextmanager
def deep_recursion() -> Generator[None]:
    """Raise the interpreter's recursion limit for a while; never lower it."""
    with _LOCK:
        _enter()
    try:
        yield
    finally:
        with _LOCK:
            _leave()


def _enter() -> None:
    if _RAISED.users == 0:
        _RAISED.before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(_RAISED.before, _ROOM))
    _RAISED.users += 1


def _leave() -> None:
    """Restore the limit, unless it was changed meanwhile."""
    _RAISED.users -= 1
    raised = max(_RAISED.before, _ROOM)
    if _RAISED.users == 0 and sys.getrecursionlimit() == raised:
        sys.setrecursionlimit(_RAISED.before)


_EMPTY: Mapping[str, Attribute] = MappingProxyType({})


@dataclass(eq=False, slots=True, frozen=True)
class Value:
    """An SSA value, compared by identity; ``name`` is only a hint for printing."""

    type: Type
    name: str = ""
    location: Location = UNKNOWN

    def renewed(self, ty: Type | None = None) -> Value:
        """A new value with the same hint and location, and ``ty`` if given."""
        return Value(ty or self.type, self.name, self.location)


@dataclass(eq=False, slots=True, frozen=True)
class Operation:
    """One operation; ``attributes`` and ``properties`` are read-only mappings."""

    name: str
    operands: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: _EMPTY)
    regions: tuple[Region, ...] = ()
    successors: tuple[Successor, ...] = ()
    properties: Mapping[str, Attribute] = field(default_factory=lambda: _EMPTY)
    location: Location = UNKNOWN

    @property
    def result(self) -> Value:
        (value,) = self.results
        return value

    @property
    def used(self) -> tuple[Value, ...]:
        """The operands and the values passed to successors."""
        passed = (value for target in self.successors for value in target.operands)
        return (*self.operands, *passed) if self.successors else self.operands

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of all regions, in the order of the text."""
        return tuple([block for region in self.regions for block in region.blocks])

    @property
    def block_arguments(self) -> tuple[Value, ...]:
        """The arguments of all blocks of the regions."""
        return tuple([value for block in self.blocks for value in block.arguments])

    @property
    def nested(self) -> tuple[Operation, ...]:
        """The operations of all blocks, without those inside them."""
        return tuple([op for block in self.blocks for op in block.operations])

    @property
    def defined(self) -> tuple[Value, ...]:
        """The results and the arguments of all blocks."""
        return (*self.results, *self.block_arguments) if self.regions else self.results

    @property
    def dialect(self) -> str:
        """Name up to the first dot."""
        return self.name.partition(".")[0]

    def with_(self, **changes: object) -> Operation:
        """A copy with some fields replaced; values keep their identity."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def integer(self, name: str, default: int = 0) -> int:
        value = self.attributes.get(name)
        return value.value if isinstance(value, IntegerAttr) else default

    def string(self, name: str, default: str = "") -> str:
        value = self.attributes.get(name)
        return value.value if isinstance(value, StringAttr) else default

    def numbers(self, name: str) -> tuple[int, ...]:
        value = self.attributes.get(name)
        values = value.values if isinstance(value, DenseArrayAttr) else ()
        return tuple(map(int, values))

    def entries(self, name: str) -> tuple[Attribute, ...]:
        """The members of an array attribute, or none."""
        value = self.attributes.get(name)
        return value.values if isinstance(value, ArrayAttr) else ()

    def with_attribute(self, name: str, value: Attribute | None) -> Operation:
        """A copy with one attribute set, or removed when ``value`` is None."""
        attributes = {k: v for k, v in self.attributes.items() if k != name}
        if value is not None:
            attributes[name] = value
        return replace(self, attributes=attributes)

    def with_body(self, operations: Iterable[Operation]) -> Operation:
        """A copy whose first region's only block holds ``operations``.

        The operation itself is returned if they are its own.
        """
        block = self.body.with_operations(operations)
        if block is self.body:
            return self
        return replace(self, regions=(Region((block,)), *self.regions[1:]))

    def with_blocks(self, rewrite: Callable[[Block], Block]) -> Operation:
        """A copy with every block of its regions rewritten, or itself if unchanged."""
        regions = tuple([region.with_blocks(rewrite) for region in self.regions])
        same = all(map(is_, regions, self.regions))
        return self if same else replace(self, regions=regions)

    @property
    def body(self) -> Block:
        """The only block of the first region."""
        (block,) = self.regions[0].blocks
        return block

    def walk(self) -> Iterator[Operation]:
        """This operation and all nested ones, in textual order (pre-order)."""
        stack: list[Operation] = [self]
        while stack:
            op = stack.pop()
            yield op
            if op.regions:
                for region in reversed(op.regions):
                    for block in reversed(region.blocks):
                        stack.extend(reversed(block.operations))


@dataclass(eq=False, slots=True, frozen=True)
class Block:
    """A list of operations with arguments; compared by identity (branch targets).

    ``successors`` of terminators refer to blocks through :class:`Label`, which survives
    rebuilding the block.
    """

    arguments: tuple[Value, ...] = ()
    operations: tuple[Operation, ...] = ()
    label: Label | None = None

    def with_operations(self, operations: Iterable[Operation]) -> Block:
        """The block with other operations, or itself if they are its own."""
        given = tuple(operations)
        if len(given) == len(self.operations) and all(map(is_, given, self.operations)):
            return self
        return replace(self, operations=given)


@dataclass(eq=False, slots=True, frozen=True)
class Label:
    """Identity of a block that branches name; ``name`` is a printing hint."""

    name: str = ""


@dataclass(eq=False, slots=True, frozen=True)
class Successor:
    """A branch target with the operands it passes."""

    label: Label
    operands: tuple[Value, ...] = ()


@dataclass(eq=False, slots=True, frozen=True)
class Region:
    """A list of blocks; the first is the entry."""

    blocks: tuple[Block, ...] = ()

    def with_blocks(self, rewrite: Callable[[Block], Block]) -> Region:
        """The region with every block rewritten, or itself if none changes."""
        blocks = tuple(map(rewrite, self.blocks))
        return self if all(map(is_, blocks, self.blocks)) else Region(blocks)


def single_block(
    operations: Sequence[Operation], arguments: Sequence[Value] = ()
) -> Region:
    return Region((Block(tuple(arguments), tuple(operations)),))


Rewrite = Callable[[Operation], "Sequence[Operation] | None"]


def rewrite_bottom_up(op: Operation, rewrite: Rewrite) -> list[Operation]:
    """Rebuild ``op`` from its innermost operations outwards.

    ``rewrite`` gets each operation with its regions already rewritten and returns its
    replacements, or None to keep it.
    """

    def inside(block: Block) -> Block:
        operations: list[Operation] = []
        for inner in block.operations:
            operations += rewrite_bottom_up(inner, rewrite)
        return block.with_operations(operations)

    rebuilt = op.with_blocks(inside) if op.regions else op
    replacement = rewrite(rebuilt)
    return [rebuilt] if replacement is None else list(replacement)


def replaced(
    op: Operation, replacements: Mapping[Operation, Sequence[Operation]]
) -> Operation:
    """``op`` with nested operations replaced; replacements are not searched again.

    >>> old, new = Operation("test.old"), Operation("test.new")
    >>> outer = Operation("test.outer", regions=(single_block((old, old)),))
    >>> [inner.name for inner in replaced(outer, {old: (new,)}).body.operations]
    ['test.new', 'test.new']
    """
    (result,) = rewrite_bottom_up(op, replacements.get)
    return result


ValueMap = dict[Value, Value]


def substitute_values(op: Operation, mapping: Mapping[Value, Value]) -> Operation:
    """Replace uses of values in ``op`` and everything nested; definitions stay.

    >>> from gpucodegen.ir.types import F32
    >>> a, b = Value(F32), Value(F32)
    >>> substitute_values(Operation("test.use", (a,)), {a: b}).operands[0] is b
    True
    """
    (result,) = rewrite_bottom_up(op, lambda o: [renamed(o, mapping)])
    return result


def renamed(op: Operation, mapping: Mapping[Value, Value]) -> Operation:
    """Replace values among the operands of ``op`` itself and of its successors."""
    touched = any(v in mapping for v in op.operands) or any(
        v in mapping for s in op.successors for v in s.operands
    )
    if not touched:
        return op
    successors = tuple(
        Successor(s.label, tuple(mapping.get(v, v) for v in s.operands))
        for s in op.successors
    )
    operands = tuple(mapping.get(v, v) for v in op.operands)
    return replace(op, operands=operands, successors=successors)


def clone(op: Operation, mapping: ValueMap | None = None) -> Operation:
    """A deep copy with fresh results, block arguments and labels.

    ``mapping`` (old value -> new value) is applied to uses and extended with every
    value that the copy defines.
    """
    mapping = {} if mapping is None else mapping
    labels = {
        block.label: Label(block.label.name)
        for nested in op.walk()
        for block in nested.blocks
        if block.label is not None
    }
    for nested in op.walk():
        for value in nested.defined:
            mapping[value] = value.renewed()
    return _copy(op, mapping, labels)


def _copy(
    op: Operation, values: Mapping[Value, Value], labels: Mapping[Label, Label]
) -> Operation:
    def new(used: Iterable[Value]) -> tuple[Value, ...]:
        return tuple(values.get(v, v) for v in used)

    regions = tuple(
        Region(
            tuple(
                Block(
                    new(block.arguments),
                    tuple(_copy(nested, values, labels) for nested in block.operations),
                    None if block.label is None else labels[block.label],
                )
                for block in region.blocks
            )
        )
        for region in op.regions
    )
    successors = tuple(
        Successor(labels.get(s.label, s.label), new(s.operands)) for s in op.successors
    )
    return replace(
        op,
        operands=new(op.operands),
        results=new(op.results),
        regions=regions,
        successors=successors,
    )


OPERAND_SEGMENTS = "operandSegmentSizes"


def segment_sizes(groups: Sequence[Sequence[Value]]) -> DenseArrayAttr:
    """The ``operandSegmentSizes`` attribute of operand groups.

    >>> print(segment_sizes([(), ()]))
    array<i32: 0, 0>
    """
    return DenseArrayAttr(I32, tuple(map(len, groups)))


def segment_counts(*sizes: int) -> DenseArrayAttr:
    """The same attribute from the lengths of the groups.

    >>> print(segment_counts(1, 2))
    array<i32: 1, 2>
    """
    return DenseArrayAttr(I32, sizes)


def split(
    values: Sequence[Value], sizes: Sequence[int]
) -> tuple[tuple[Value, ...], ...]:
    """Cut ``values`` into consecutive groups of the given sizes."""
    groups: list[tuple[Value, ...]] = []
    start = 0
    for size in sizes:
        groups.append(tuple(values[start : start + size]))
        start += size
    return tuple(groups)


def operand_segments(op: Operation, count: int) -> tuple[tuple[Value, ...], ...]:
    """The operand groups; without an attribute all operands are in the first."""
    sizes = op.attributes.get(OPERAND_SEGMENTS)
    if isinstance(sizes, DenseArrayAttr):
        return split(op.operands, [int(size) for size in sizes.values])
    return (op.operands,) + ((),) * (count - 1)


class View(Protocol):
    """Reading access to an operation."""

    @property
    def operation(self) -> Operation: ...


@dataclass(frozen=True, slots=True)
class OperandAt:
    """Member of a view: one operand."""

    at: int

    def __get__(self, view: View, _: object) -> Value:
        return view.operation.operands[self.at]


@dataclass(frozen=True, slots=True)
class OperandsFrom:
    """Member of a view: the operands from a position on."""

    start: int

    def __get__(self, view: View, _: object) -> tuple[Value, ...]:
        return view.operation.operands[self.start :]


@dataclass(frozen=True, slots=True)
class Segments:
    """Member of a view: the operands in one of the segments, or in adjacent ones."""

    start: int
    end: int | None = None
    of: int = 0

    def __get__(self, view: View, _: object) -> tuple[Value, ...]:
        groups = operand_segments(view.operation, self.of)
        end = self.start + 1 if self.end is None else self.end
        return tuple(v for group in groups[self.start : end] for v in group)
