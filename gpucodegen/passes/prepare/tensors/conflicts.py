"""Read-after-write conflict analysis of bufferization.

A write of operation ``w`` into the place of a tensor conflicts with a use ``u`` of a
tensor ``a`` if

    a shares memory with what is written,  u reads it,  and  u may run after w

for one and the same ``a``.  An insertion whose slice covers the written part does not
read that part of its destination, and an insertion of contents that are already there
writes nothing.  A value is computed anew whenever its operation runs, so a use is later
if it may run, for the same value, after ``w``: the order follows loops, branches and
the text.

``restrict`` on a ``to_tensor`` says that the buffer is accessed through this tensor
only, apart from views of its memref.  The tensor then needs no copy unless, for an
operation ``w`` that may write the buffer and a use ``u`` of the tensor or a possible
view of it,

    w may run after the to_tensor,  and  u may run after w
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from gpucodegen.dialects import linalg
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.memref import Mixed, Slice
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.ir.types import MemRefType, TensorType
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.analysis.lifting.index_values import VIEWS
from gpucodegen.passes.prepare.tensors.placement import Buffer, Part
from gpucodegen.records import dataclass

BRANCHES = frozenset(
    {"scf.if", "affine.if", "scf.index_switch", "scf.execute_region", "func.func"}
)
"""Operations whose regions run at most once each; regions of others may repeat."""


@dataclass(frozen=True, slots=True)
class Use:
    """The operand of an operation at a position; -1 is a branch's operand."""

    op: Operation
    position: int


@dataclass(slots=True)
class Order:
    """Positions in a function, with the definition and uses of each value."""

    begin: dict[Operation, int] = field(default_factory=dict[Operation, int])
    end: dict[Operation, int] = field(default_factory=dict[Operation, int])
    around: dict[Operation, tuple[Operation, ...]] = field(
        default_factory=dict[Operation, tuple[Operation, ...]]
    )
    """The enclosing operations of each one, the function first."""
    region: dict[Operation, Region] = field(default_factory=dict[Operation, Region])
    block: dict[Operation, Block] = field(default_factory=dict[Operation, Block])
    scope: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    home: dict[Value, Block] = field(default_factory=dict[Value, Block])
    """The block in which a value is defined."""
    made: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    uses: dict[Value, list[Use]] = field(default_factory=dict[Value, list[Use]])

    @staticmethod
    def of(function: Operation) -> Order:
        order = Order()
        order.around[function] = ()
        order._visit(function)
        return order

    def _visit(self, op: Operation) -> None:
        self.begin[op] = len(self.begin)
        for position, value in enumerate(op.operands):
            self.uses.setdefault(value, []).append(Use(op, position))
        for target in op.successors:
            for value in target.operands:
                self.uses.setdefault(value, []).append(Use(op, -1))
        inside = (*self.around[op], op)
        for region in op.regions:
            for block in region.blocks:
                self._define(block.arguments, op, block)
                for inner in block.operations:
                    self.around[inner], self.region[inner] = inside, region
                    self.block[inner] = block
                    self._define(inner.results, op, block)
                    self.made.update((v, inner) for v in inner.results)
                    self._visit(inner)
        self.end[op] = len(self.begin)

    def _define(self, values: tuple[Value, ...], op: Operation, block: Block) -> None:
        self.scope.update((v, op) for v in values)
        self.home.update((v, block) for v in values)

    def is_inside(self, op: Operation, outer: Operation) -> bool:
        """Whether an operation is nested in another one."""
        return self.begin[outer] < self.begin[op] < self.end[outer]

    def precedes(self, value: Value, op: Operation) -> bool:
        """Whether a value is defined before an operation, in a block around it."""
        made = self.made.get(value)
        is_around = self.scope[value] in self.around[op]
        return is_around and (made is None or self.begin[made] < self.begin[op])

    def repeats(self, value: Value, op: Operation) -> Operation | None:
        """The outermost loop that runs ``op`` again for one and the same value."""
        outer = self.around[op]
        start = outer.index(self.scope[value]) + 1
        return next((o for o in outer[start:] if o.name not in BRANCHES), None)

    def may_follow(self, value: Value, use: Operation, op: Operation) -> bool:
        """Whether ``use`` may see the value after ``op`` ran."""
        if self.scope[value] not in self.around[op]:
            return False
        loop = self.repeats(value, op)
        if loop is not None and (use is loop or self.is_inside(use, loop)):
            return use is not loop
        if self._jumps(value, use, op):
            return True
        if use is op or self.is_inside(use, op) or self.is_inside(op, use):
            return False
        return self.begin[use] > self.begin[op] and not self._excluded(use, op)

    def _jumps(self, value: Value, use: Operation, op: Operation) -> bool:
        """Whether blocks between them may run in any order."""
        for outer in (*self.around[op], op)[1:]:
            region = self.region[outer]
            if len(region.blocks) < 2:
                continue
            home, scope = self.block[outer], self.scope[value]
            is_nested = scope is outer or outer in self.around[scope]
            if is_nested:
                continue
            if self.home[value] is not home:
                return True
            path = (*self.around[use], use)[1:]
            if any(
                self.region[o] is region and self.block[o] is not home for o in path
            ):
                return True
        return False

    def _excluded(self, use: Operation, op: Operation) -> bool:
        """Whether they are in mutually exclusive regions."""
        first, second = (*self.around[use], use), (*self.around[op], op)
        for one, other in zip(first[1:], second[1:], strict=False):
            if one is not other:
                outer = self.around[one][-1]
                is_choice = outer.name in BRANCHES
                return is_choice and self.region[one] is not self.region[other]
        return False


UNREAD = frozenset(
    {"tensor.dim", "tensor.rank", "shape.shape_of", "bufferization.dealloc_tensor"}
)
"""Operations that read extents only."""

UNDEFINED = frozenset({"tensor.empty", "bufferization.alloc_tensor"})
"""Operations that make tensors without contents."""


def is_undefined(op: Operation) -> bool:
    """Whether the result has undefined contents."""
    copies = any(isinstance(v.type, TensorType) for v in op.operands)
    return op.name in UNDEFINED and not copies


def reads(use: Use) -> bool:
    """Whether the operation reads the elements of its operand.

    >>> reads(Use(Operation("tensor.dim"), 0)), reads(Use(Operation("test.x"), 0))
    (False, True)
    """
    if use.op.name in UNREAD:
        return False
    rule = _READS.get(use.op.name)
    return rule is None or rule(use)


def _generic(use: Use) -> bool:
    """An output is read where the body uses its element."""
    structured = linalg.Structured(use.op)
    if use.position < len(structured.inputs):
        return True
    argument = structured.body.arguments[use.position]
    return argument in used_inside(use.op)


def used_inside(op: Operation) -> set[Value]:
    """Values that the operation's regions use."""
    return {v for inner in op.walk() if inner is not op for v in inner.operands}


def _but(position: int) -> Callable[[Use], bool]:
    return lambda use: use.position != position


_READS: Mapping[str, Callable[[Use], bool]] = {
    "linalg.generic": _generic,
    "linalg.pack": _but(1),
    "linalg.unpack": _but(1),
    "bufferization.materialize_in_destination": _but(1),
}
"""Operations that overwrite all of an operand."""


def is_elementwise(op: Operation, source: int, target: int) -> bool:
    """Whether each element of an output depends on that of one input at its place.

    No loop is a reduction, and both are accessed through one permutation.
    """
    if op.name != "linalg.generic":
        return False
    structured = linalg.Structured(op)
    maps, kinds = structured.indexing_maps, structured.iterator_types
    if source >= len(structured.inputs):
        return False
    map_ = maps[target]
    is_permutation = len(set(map_.results)) == len(map_.results) == map_.num_dims
    parallel = all(kind == "parallel" for kind in kinds)
    return parallel and is_permutation and maps[source] == map_


INSERTIONS = frozenset({"tensor.insert_slice", "tensor.parallel_insert_slice"})


@dataclass(frozen=True, slots=True)
class Write:
    """A write into a tensor's place: the operand ``position`` of an operation.

    ``part``: the written part of the place, all of it by default.  ``settled``:
    positions of operands that were already moved.  ``into``: the place, if it is
    another one.
    """

    op: Operation
    position: int
    part: Part | None = None
    settled: frozenset[int] = frozenset()
    into: Buffer | None = None


@dataclass(slots=True)
class Conflicts:
    """Finds conflicts in one function; ``buffers``: the place of each tensor."""

    order: Order
    buffers: Mapping[Value, Buffer]
    constants: dict[Value, int] = field(default_factory=dict[Value, int])
    undefined: set[Value] = field(default_factory=set[Value])

    @staticmethod
    def of(function: Operation, buffers: Mapping[Value, Buffer]) -> Conflicts:
        found = Conflicts(Order.of(function), buffers)
        for op in function.walk():
            value = op.attributes.get("value")
            if op.name == "arith.constant" and isinstance(value, IntegerAttr):
                found.constants[op.result] = value.value
        return found

    def part(self, op: Operation) -> Part:
        """The slice that an operation extracts or inserts."""
        view = Slice(op)
        return Part(*map(self._known, (view.offsets, view.sizes, view.strides)))

    def _known(self, entries: tuple[Mixed, ...]) -> tuple[Mixed, ...]:
        return tuple(
            entry if isinstance(entry, int) else self.constants.get(entry, entry)
            for entry in entries
        )

    def of_write(self, write: Write) -> Use | None:
        """A use that conflicts with the write, or None."""
        into = write.into or self.buffers[write.op.operands[write.position]]
        for value in into.storage.members:
            buffer = self.buffers[value]
            if buffer.misses(into, its=write.part):
                continue
            for use in self.order.uses.get(value, ()):
                if self._spoils(write, into, use, value):
                    return use
            if write.op.regions and value in used_inside(write.op):
                inside = self._use_inside(write.op, value)
                if inside is not None:
                    return inside
        return None

    def _use_inside(self, op: Operation, value: Value) -> Use | None:
        inside = (
            use
            for use in self.order.uses.get(value, ())
            if self.order.is_inside(use.op, op)
        )
        return next((use for use in inside if reads(use)), None)

    def _spoils(self, write: Write, into: Buffer, use: Use, value: Value) -> bool:
        """Whether the use reads ``value`` after, or during, the write."""
        if use.op is write.op and not self.order.may_follow(value, use.op, write.op):
            return self._is_read_beside(write, into, use, value)
        if value in self.undefined or not reads(use):
            return False
        follows = self.order.may_follow(value, use.op, write.op)
        return follows and not self._is_spared(write, into, use, value)

    def _is_read_beside(
        self, write: Write, into: Buffer, use: Use, value: Value
    ) -> bool:
        """Whether the write conflicts with another operand of its operation."""
        if use.position == write.position or use.position in write.settled:
            return False
        op, place = write.op, self.buffers[value]
        if op.name in INSERTIONS:
            return not place.is_at(into, write.part)
        pairs = is_elementwise(op, use.position, write.position)
        return not (pairs and place.is_at(into, write.part))

    def _stays(self, part: Part, write: Write, value: Value) -> bool:
        """Whether a slice is the same in each iteration that repeats the write."""
        loop = self.order.repeats(value, write.op)
        if loop is None:
            return True
        entries = (*part.offsets, *part.sizes, *part.strides)
        scopes = [self.order.scope[e] for e in entries if isinstance(e, Value)]
        return not any(s is loop or loop in self.order.around[s] for s in scopes)

    def _is_spared(self, write: Write, into: Buffer, use: Use, value: Value) -> bool:
        """Whether the use reads other elements, or the same values."""
        place = self.buffers[value]
        rule = _SPARED.get(use.op.name)
        part = self.part(use.op) if rule else None
        stays = part is not None and self._stays(part, write, value)
        if rule and part and stays and rule(part, write, into, place, use.position):
            return True
        is_source = write.op.name in INSERTIONS and write.position == 1
        source = self.buffers.get(write.op.operands[0]) if is_source else None
        return (
            source is not None
            and source.is_at(into, write.part)
            and place.is_at(source)
        )


Rule = Callable[[Part, Write, Buffer, Buffer, int], bool]


def _covered(
    part: Part, write: Write, into: Buffer, place: Buffer, position: int
) -> bool:
    """The destination of an insertion: its slice is not read."""
    if write.part is not None and into.is_at(place) and write.part == part:
        return position == 1
    return position == 1 and into.is_within(place, part)


def _apart(
    part: Part, write: Write, into: Buffer, place: Buffer, position: int
) -> bool:
    """An extracted slice that the write does not touch."""
    return position == 0 and place.misses(into, mine=part, its=write.part)


_SPARED: Mapping[str, Rule] = {
    **dict.fromkeys(INSERTIONS, _covered),
    "tensor.extract_slice": _apart,
}


READERS = VIEWS | frozenset(
    "affine.load affine.vector_load bufferization.to_tensor func.return memref.dim "
    "memref.load memref.rank vector.load vector.transfer_read vector.print".split()
)
"""Operations that do not change their memref operands."""
SOURCES = frozenset({"memref.copy", "bufferization.materialize_in_destination"})
"""Operations that only read their first operand."""


def obstacle(order: Order, op: Operation) -> Operation | None:
    """The operation that prevents a ``to_tensor`` from using its buffer, or None.

    It is a write, or a use that may pass the tensor on.
    """
    lives = _views(order, op.result)
    if isinstance(lives, Operation):
        return lives
    function = order.around[op][0]
    called = {str(inner.attributes.get("callee")) for inner in function.walk()}
    aliases = Aliases.of([function], {name.removeprefix("@") for name in called})
    uses = [(v, use.op) for v in lives for use in order.uses.get(v, ())]
    for write in _writes(function, op.operands[0], aliases):
        if order.may_follow(op.result, write, op) and any(
            use is write or order.may_follow(value, use, write) for value, use in uses
        ):
            return write
    return None


def _views(order: Order, tensor: Value) -> list[Value] | Operation:
    """A tensor with all possible views of it, or an operation that passes it on."""
    found = [tensor]
    for value in found:
        for use in order.uses.get(value, ()):
            if use.op.dialect == "linalg":
                continue
            if _hands_on(use.op):
                return use.op
            found += (v for v in use.op.results if isinstance(v.type, TensorType))
    return found


def _hands_on(op: Operation) -> bool:
    """Whether the tensor may escape under another name."""
    definition = lookup(op.name)
    ends = definition is None or definition.has(Trait.TERMINATOR)
    copies = op.name in {"func.return", "bufferization.materialize_in_destination"}
    holds = bool(op.regions) and op.name != "tensor.pad"
    return not copies and (ends or holds or op.name in _HANDING)


_HANDING = frozenset({"bufferization.to_buffer", "func.call", "func.call_indirect"})


def _writes(
    function: Operation, buffer: Value, aliases: Aliases
) -> Iterator[Operation]:
    """Operations that may change the buffer's contents."""
    for op in function.walk():
        if op.name in READERS or (op.regions and op.dialect != "linalg"):
            continue
        if any(aliases.may_overlap(v, buffer) for v in _written(op)):
            yield op


def _written(op: Operation) -> Iterator[Value]:
    """The memrefs of an operation that it may write."""
    first = 1 if op.name in SOURCES else 0
    if op.name == "linalg.generic":
        first = len(linalg.Structured(op).inputs)
    for value in op.operands[first:]:
        if isinstance(value.type, MemRefType):
            yield value
