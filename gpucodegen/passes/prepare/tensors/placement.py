"""Placement of tensors in memory: storages, views, buffer types and allocations.

`Storage` is a buffer and `Part` a view of it that holds a tensor.  `Frame` collects the
allocations of a block during rewriting.  `buffer_type` and `Globals` give the memref
types of tensors and the ``memref.global`` operations of constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import count

from gpucodegen import errors
from gpucodegen.dialects import complex as complex_
from gpucodegen.dialects.memref import Mixed
from gpucodegen.dialects.memref.checks import static
from gpucodegen.dialects.memref.layouts import (
    Extent,
    Strided,
    plus,
    strided_form,
    times,
    with_strides,
)
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import (
    ComplexType,
    MemRefType,
    Shape,
    TensorType,
    Type,
    UnrankedTensorType,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.flatten_elements import with_columns
from gpucodegen.records import dataclass


def kept_dimensions(sizes: tuple[Mixed, ...], shape: Shape) -> tuple[int, ...]:
    """The dimensions of a slice that a shape keeps; others have an extent of 1.

    >>> kept_dimensions((1, 8, 1), (8, 1))
    (1, 2)
    """
    if len(sizes) == len(shape):
        return tuple(range(len(sizes)))
    kept: list[int] = []
    dropped = len(sizes) - len(shape)
    wanted = list(shape)
    for d, size in enumerate(static(sizes)):
        fits = bool(wanted) and (wanted[0] == size or None in (wanted[0], size))
        if dropped and size == 1 and not (fits and _needs_all(sizes, d, wanted)):
            dropped -= 1
        else:
            kept.append(d)
            wanted = wanted[1:]
    return tuple(kept)


def _needs_all(sizes: tuple[Mixed, ...], d: int, wanted: list[Extent]) -> bool:
    """Whether a dimension of extent 1 cannot be dropped any more."""
    return sum(size == 1 for size in sizes[d + 1 :]) < wanted.count(1)


@dataclass(eq=False, slots=True)
class Storage:
    """Memory, compared by identity; ``members`` are the tensors that lie in it.

    ``owned``: allocated here, and not seen as a memref.
    """

    writable: bool
    owned: bool = False
    members: list[Value] = field(default_factory=list[Value])


@dataclass(frozen=True, slots=True)
class Part:
    """A slice: offset, size and stride of each dimension."""

    offsets: tuple[Mixed, ...]
    sizes: tuple[Mixed, ...]
    strides: tuple[Mixed, ...]

    def misses(self, other: Part) -> bool:
        """Whether both surely have no element in common."""
        if len(self.offsets) != len(other.offsets):
            return False
        return any(
            _misses(self._span(d), other._span(d)) for d in range(len(self.offsets))
        )

    def _span(self, d: int) -> tuple[int, int] | None:
        offset, size, stride = self.offsets[d], self.sizes[d], self.strides[d]
        numbers = isinstance(offset, int) and isinstance(size, int)
        if not numbers or not isinstance(stride, int) or stride <= 0:
            return None
        assert isinstance(offset, int)
        assert isinstance(size, int)
        return offset, offset + max(size - 1, 0) * stride if size else offset - 1


def _misses(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    if one is None or other is None:
        return False
    return one[1] < other[0] or other[1] < one[0]


Step = Part | tuple[object, ...]
"""A slice, or another view of the whole."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """The memref that holds a tensor: all of its storage, seen through ``steps``."""

    value: Value
    storage: Storage
    steps: tuple[Step, ...] = ()

    def is_at(self, other: Buffer, step: Step | None = None) -> bool:
        """Whether it has the place of another one, or of a part of that."""
        steps = other.steps if step is None else (*other.steps, step)
        return self.storage is other.storage and self.steps == steps

    def is_within(self, other: Buffer, step: Step) -> bool:
        """Whether it lies in a part of another one."""
        steps = (*other.steps, step)
        return self.storage is other.storage and self.steps[: len(steps)] == steps

    def misses(
        self, other: Buffer, mine: Step | None = None, its: Step | None = None
    ) -> bool:
        """Whether two places (or parts of them) surely have no element in common."""
        if self.storage is not other.storage:
            return True
        first = self.steps if mine is None else (*self.steps, mine)
        second = other.steps if its is None else (*other.steps, its)
        return _part_ways(first, second)


def _part_ways(first: Sequence[Step], second: Sequence[Step]) -> bool:
    for one, other in zip(first, second, strict=False):
        if one != other:
            if isinstance(one, Part) and isinstance(other, Part):
                return one.misses(other)
            return False
    return False


def buffer_type(ty: Type, location: Location = UNKNOWN) -> Type:
    """The row-major memref of a tensor type; other types are themselves."""
    encoded = isinstance(ty, TensorType) and ty.encoding is not None
    if encoded or isinstance(ty, UnrankedTensorType):
        raise errors.UnsupportedType(location, type=ty, target="buffers")
    return MemRefType(ty.shape, ty.element) if isinstance(ty, TensorType) else ty


@dataclass(slots=True)
class Globals:
    """The global constants that functions need; ``taken``: names of the module."""

    taken: set[str]
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(self, value: DenseElementsAttr, ty: MemRefType) -> str:
        """The name of a new constant."""
        names = (f"constant_{n}" for n in count())
        name = next(n for n in names if n not in self.taken)
        self.taken.add(name)
        attributes: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "sym_visibility": StringAttr("private"),
            "type": TypeAttr(ty),
            "initial_value": value,
            "constant": UnitAttr(),
        }
        self.operations.append(Operation("memref.global", attributes=attributes))
        return name

    def shown(self, b: Builder, value: DenseElementsAttr, ty: MemRefType) -> Value:
        """The buffer of a new constant."""
        name = SymbolRefAttr((self.add(value, ty),))
        return b.value("memref.get_global", (), ty, {"name": name})


def scalar_constant(b: Builder, value: object, ty: Type) -> Value:
    """One element of a constant."""
    if isinstance(ty, ComplexType):
        given = value if isinstance(value, int | float | complex) else 0
        b.operations.append(complex_.constant(given, ty, name="c", location=b.location))
        return b.operations[-1].result
    is_number = isinstance(value, int | float)
    return b.constant(value if is_number else float(str(value)), ty)


@dataclass(frozen=True, slots=True)
class Copied:
    """A tensor whose contents were copied for an operation.

    ``reason``: the cause; ``notes``: locations of the operations that force it.
    """

    op: Operation
    tensor: Value
    reason: str
    notes: Sequence[tuple[Location, str]] = ()


@dataclass(slots=True)
class Frame:
    """The allocations of a block; between branching blocks, nothing is freed."""

    frees: bool
    buffers: list[Buffer] = field(default_factory=list[Buffer])


@dataclass(frozen=True, slots=True)
class Opened:
    """A block without its terminator yet."""

    block: Block
    frame: Frame
    b: Builder = field(default_factory=Builder)


def shape_of(ty: Type) -> Shape:
    return ty.shape if isinstance(ty, MemRefType | TensorType) else ()


def part_of(b: Builder, buffer: Buffer, part: Part, shape: Shape) -> Buffer:
    """A slice of a buffer, without the dimensions of extent 1 that ``shape`` lacks."""
    ty = part_type(buffer.value.type, part, shape)
    view = b.value("memref.subview", [buffer.value], ty, hint=buffer.value.name)
    columns = (part.offsets, part.sizes, part.strides)
    b.operations[-1] = with_columns(b.operations[-1], columns)
    return Buffer(view, buffer.storage, (*buffer.steps, part))


def part_type(ty: Type, part: Part, shape: Shape) -> MemRefType:
    """The type of a slice: ``offset + o . strides`` and ``strides * s``.

    >>> from gpucodegen.ir.types import F32
    >>> print(part_type(MemRefType((8, 8), F32), Part((2, 0), (1, 8), (1, 1)), (8,)))
    memref<8xf32, strided<[1], offset: 16>>
    """
    assert isinstance(ty, MemRefType)
    form = strided_form(ty)
    assert form is not None
    offset = form.offset
    for start, stride in zip(static(part.offsets), form.strides, strict=True):
        offset = plus(offset, times(start, stride) if start != 0 else 0)
    steps = tuple(map(times, form.strides, static(part.strides)))
    kept = kept_dimensions(part.sizes, shape)
    strides = tuple(steps[d] for d in kept)
    return with_strides(
        ty, tuple(static(part.sizes)[d] for d in kept), Strided(offset, strides)
    )


def extent(b: Builder, memref: Value, dimension: int) -> Value:
    ty = memref.type
    known = ty.shape[dimension] if isinstance(ty, MemRefType) else None
    if known is not None:
        return b.index(Index.of(known))
    position = b.index(Index.of(dimension))
    return b.value("memref.dim", (memref, position), position.type, hint="n")


def dimensions(b: Builder, value: Value) -> list[Mixed]:
    """The extents of a buffer, numbers where they are known."""
    return [
        extent(b, value, d) if known is None else known
        for d, known in enumerate(shape_of(value.type))
    ]
