"""Arrays of a traced function: views of memory, and lazy elementwise expressions.

An expression is kept until something stores or returns it, or needs its memory; then it
becomes one ``linalg.generic`` that reads each of its views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpucodegen.dialects import linalg, memref
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Value, segment_sizes
from gpucodegen.ir.types import I64, INDEX, MemRefType
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import elementwise
from gpucodegen.python.range_checks import Block, convert, leave
from gpucodegen.python.scalars import NATURAL, Scalar, distance, known
from gpucodegen.python.types import Kind, dtype_of, element, equal
from gpucodegen.records import dataclass

if TYPE_CHECKING:
    import numpy as np

Extents = tuple[Scalar, ...]
Body = Callable[[OperationList, Sequence[Scalar]], Scalar]


ONE = known(1)


@dataclass(frozen=True, slots=True)
class Part:
    """One dimension of a subscript; ``step`` is None for a single element."""

    offset: Scalar
    size: Scalar = ONE
    step: int | Value | None = None

    def is_like(self, other: Part) -> bool:
        """Whether both certainly select the same positions in the same order."""
        pairs = (self.offset, other.offset), (self.size, other.size)
        return self.step == other.step and all(distance(*pair) == 0 for pair in pairs)

    def is_before(self, other: Part) -> bool:
        """Whether all positions certainly precede those of another part."""
        if not {self.step, other.step} <= {1, None}:
            return False
        form = other.offset.linear.plus(self.offset.linear, -1)
        form = form.plus(self.size.linear, -1)
        return not form.terms and form.constant >= 0


@dataclass(frozen=True, slots=True)
class View:
    """A strided view of memory; ``roots``: the buffers that may hold it.

    ``gapless``: its elements are row-major without gaps, after any offset.
    ``cut``: an array and the parts of its dimensions that this view is.

    ``apart``: a loop and a number; arrays with different numbers of one loop are
    different buffers in each iteration, such as arrays that a loop swaps.
    """

    memory: Value
    dtype: np.dtype[Any]
    extents: Extents
    roots: frozenset[object]
    apart: tuple[object, int] | None = None
    gapless: bool = False
    cut: tuple[Value, tuple[Part, ...]] | None = None

    @property
    def is_contiguous(self) -> bool:
        return self.gapless or self.type.layout is None

    @property
    def type(self) -> MemRefType:
        ty = self.memory.type
        assert isinstance(ty, MemRefType)
        return ty

    def element(self, b: OperationList, at: Sequence[Scalar]) -> Scalar:
        """``memref.load``."""
        places = [index.ssa(b) for index in at]
        value = b.value("memref.load", (self.memory, *places), self.type.element)
        return Scalar(self.dtype, value)

    def put(self, b: OperationList, at: Sequence[Scalar], number: Scalar) -> None:
        """``memref.store``, converted to the array's dtype."""
        value = convert(b, number, self.dtype).ssa(b)
        b.add("memref.store", (value, self.memory, *(i.ssa(b) for i in at)))

    def __str__(self) -> str:
        return _described(self.dtype, self.extents)


@dataclass(frozen=True, slots=True)
class Read:
    """A view in an expression: the loop of each of its dimensions.

    None stands for an extent of 1 that is broadcast. Without a view it is the position
    along the one dimension that it follows.
    """

    view: View | None
    follows: tuple[int | None, ...]

    def map(self) -> tuple[AffineExpr, ...]:
        """The results of its indexing map."""
        return tuple(Const(0) if d is None else Dim(d) for d in self.follows)


@dataclass(frozen=True, slots=True)
class Lazy:
    """An array that is computed on demand: ``body`` of the elements read."""

    kind: Kind
    extents: Extents
    reads: tuple[Read, ...]
    body: Body

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an array with its elements."""
        return dtype_of(self.kind)

    @property
    def plain(self) -> Read | None:
        """The view that is read, if nothing is computed."""
        return self.reads[0] if self.body is _itself else None

    @property
    def is_writable(self) -> bool:
        """Whether it is a view: a transpose, or one with new axes, of an array."""
        read = self.plain
        if read is None or read.view is None:
            return False
        followed = [d for d in read.follows if d is not None]
        others = {*range(len(self.extents))}.difference(followed)
        broadcast = [self.extents[d] for d in others]
        broadcast += [
            extent
            for extent, d in zip(read.view.extents, read.follows, strict=True)
            if d is None
        ]
        is_once = len({*followed}) == len(followed)
        return is_once and all(extent.mixed() == 1 for extent in broadcast)

    def permuted(self, order: Sequence[int]) -> Lazy:
        """Its dimensions permuted: result dimension ``n`` is its ``order[n]``."""
        places = {d: n for n, d in enumerate(order)}
        return replace(
            self,
            extents=tuple(self.extents[d] for d in order),
            reads=tuple(_moved(read, places) for read in self.reads),
        )

    def __str__(self) -> str:
        return _described(self.dtype, self.extents)


Array = View | Lazy


def _described(dtype: np.dtype[Any], extents: Extents) -> str:
    rank = len(extents)
    return f"an array of {dtype.name} with {rank} dimension{'s' * (rank != 1)}"


def _moved(read: Read, places: Mapping[int, int]) -> Read:
    """The read in a nest whose loops have other places; dropped ones have one step."""
    follows = (None if d is None else places.get(d) for d in read.follows)
    return replace(read, follows=tuple(follows))


def _itself(_: OperationList, elements: Sequence[Scalar]) -> Scalar:
    return elements[0]


def positions(extents: Extents, dimension: int) -> Lazy:
    """The integers 0, 1, ... along a dimension of an array."""
    read = Read(None, (dimension,))
    return Lazy(int, extents, (read,), lambda _, elements: elements[0])


def lazy(value: Array | Scalar) -> Lazy:
    """A number or an array as an expression."""
    if isinstance(value, Lazy):
        return value
    if isinstance(value, Scalar):
        return Lazy(value.kind, (), (), lambda _, __: value)
    read = Read(value, tuple(range(len(value.extents))))
    return Lazy(value.dtype, value.extents, (read,), _itself)


class Disagree(Exception):
    """Extents that certainly differ."""


def broadcast(arrays: Sequence[Lazy]) -> tuple[Extents, list[Lazy]]:
    """The common extents, and each array broadcast to them.

    Raises Disagree.

    Only extents known to be 1 are broadcast.
    """
    rank = max(len(a.extents) for a in arrays)
    columns = [(known(1),) * (rank - len(a.extents)) + a.extents for a in arrays]
    extents = tuple(common(entries) for entries in zip(*columns, strict=True))
    return extents, [stretched(a, extents) for a in arrays]


def common(entries: Sequence[Scalar]) -> Scalar:
    """The extent to which all of these are broadcast.  Raises Disagree."""
    wide = [e for e in entries if e.mixed() != 1]
    numbers = {e.constant for e in wide if e.value is None}
    if len(numbers) > 1:
        raise Disagree
    told = [e for e in wide if e.value is None]
    return (told or wide or [known(1)])[0]


def stretched(array: Lazy, extents: Extents) -> Lazy:
    """An array broadcast to extents that agree with its own. Raises Disagree."""
    added = len(extents) - len(array.extents)
    if added < 0:
        raise Disagree
    ones = {
        d
        for d, (own, all_) in enumerate(
            zip(array.extents, extents[added:], strict=True)
        )
        if own.mixed() == 1 and all_.mixed() != 1
    }
    _common_each(array.extents, extents[added:])
    reads = (
        replace(
            read,
            follows=tuple(
                None if d is None or d in ones else d + added for d in read.follows
            ),
        )
        for read in array.reads
    )
    return replace(array, extents=extents, reads=tuple(reads))


def _common_each(own: Extents, wide: Extents) -> None:
    for one, other in zip(own, wide, strict=True):
        if one.value is None and one.constant != 1 and other.mixed() == 1:
            raise Disagree
        common((one, other))


def mapped(ufunc: np.ufunc, values: Sequence[Array | Scalar]) -> Lazy:
    """An elementwise function. Raises NoRow, Disagree."""
    extents, arrays = broadcast([lazy(v) for v in values])
    _, kind = elementwise.kinds_of(ufunc, [a.kind for a in arrays])

    def combine(b: OperationList, parts: Sequence[Scalar]) -> Scalar:
        return elementwise.apply(b, ufunc, parts, checked=True)

    return composed(kind, extents, arrays, combine)


def composed(kind: Kind, extents: Extents, arrays: Sequence[Lazy], top: Body) -> Lazy:
    """``top`` of the elements of arrays over the same extents; views are read once."""
    reads = list(dict.fromkeys(read for a in arrays for read in a.reads))
    places = [[reads.index(read) for read in a.reads] for a in arrays]

    def body(b: OperationList, elements: Sequence[Scalar]) -> Scalar:
        parts = [
            a.body(b, [elements[n] for n in own])
            for a, own in zip(arrays, places, strict=True)
        ]
        return top(b, parts)

    return Lazy(kind, extents, tuple(reads), body)


def cast(array: Array, kind: Kind) -> Lazy:
    """The elements converted to another kind."""
    whole = lazy(array)
    if equal(whole.kind, kind):
        return whole
    return renewed(whole, kind)


def renewed(array: Array, kind: Kind) -> Lazy:
    """``astype``: a new array, even where the kind stays."""
    whole = lazy(array)
    return composed(kind, whole.extents, [whole], lambda b, v: convert(b, v[0], kind))


# -- memory ----------------------------------------------------------------------------


def allocated(b: OperationList, dtype: np.dtype[Any], extents: Extents) -> View:
    """``memref.alloc``: a new array."""
    shape = tuple(e.constant if e.value is None else None for e in extents)
    sizes = [e.value for e in extents if e.value is not None]
    op = memref.alloc(MemRefType(shape, element(dtype)), sizes, location=b.location)
    b.operations.append(op)
    return View(op.result, dtype, extents, frozenset([op.result]))


def fill(b: OperationList, view: View, number: Scalar) -> None:
    """``linalg.fill``."""
    value = convert(b, number, view.dtype).ssa(b)
    segments = {OPERAND_SEGMENTS: segment_sizes([[value], [view.memory]])}
    b.add("linalg.fill", (value, view.memory), (), segments)


def in_memory(b: OperationList, array: Array, dtype: Any = None) -> View:
    """A view of the elements: its own, or a new array with them."""
    if isinstance(array, View) and dtype in (None, array.dtype):
        return array
    return copied(b, array, dtype)


def in_place(b: OperationList, array: Array) -> Array:
    """A view, a transpose or new axes of one, or a new array with the elements."""
    read = lazy(array).plain
    return array if read is not None and read.view is not None else in_memory(b, array)


def copied(b: OperationList, array: Array, dtype: Any = None) -> View:
    """A new array with the same elements."""
    whole = lazy(array)
    made = allocated(b, whole.dtype if dtype is None else dtype, whole.extents)
    store(b, whole, made)
    return made


def assign(b: OperationList, array: Array | Scalar, target: Array) -> None:
    """``target[...] = array``, as if all reads precede all writes.

    The target is a view, or an expression that is one (`Lazy.is_writable`).
    Raises Disagree.
    """
    whole = stretched(lazy(array), target.extents)
    if isinstance(target, Lazy):
        assert target.plain is not None
        read, view = target.plain, target.plain.view
        assert view is not None
        places = {d: n for n, d in enumerate(read.follows) if d is not None}
        reads = tuple(_moved(each, places) for each in whole.reads)
        whole, target = replace(whole, extents=view.extents, reads=reads), view
    if any(_collides(read, target) for read in whole.reads):
        whole = lazy(copied(b, whole, target.dtype))
    store(b, whole, target)


def _collides(read: Read, target: View) -> bool:
    """Whether an element may be read after it was overwritten through the target."""
    if read.view is None:
        return False
    in_order = read.follows == tuple(range(len(target.extents)))
    in_place = in_order and _is_same(read.view, target)
    return not in_place and may_share(read.view, target)


def _is_same(one: View, other: View) -> bool:
    """Whether two arrays certainly have the same elements in the same order."""
    if one.memory is other.memory:
        return True
    parts = _common_cut(one, other)
    return parts is not None and all(a.is_like(b) for a, b in parts)


def _common_cut(one: View, other: View) -> list[tuple[Part, Part]] | None:
    """The parts of one array that both are, per dimension."""
    if not one.cut or not other.cut or one.cut[0] is not other.cut[0]:
        return None
    return list(zip(one.cut[1], other.cut[1], strict=True))


def may_share(one: View, other: View) -> bool:
    """Whether two arrays may have an element in common."""
    parts = _common_cut(one, other)
    if parts and any(a.is_before(b) or b.is_before(a) for a, b in parts):
        return False
    if one.apart and other.apart and one.apart[0] is other.apart[0]:
        return one.apart[1] == other.apart[1]
    return bool(one.roots & other.roots)


def store(b: OperationList, array: Lazy, target: View) -> None:
    """One ``linalg.generic``, or ``linalg.fill`` where nothing is read."""
    if not array.reads:
        fill(b, target, array.body(b, []))
        return
    rank = len(target.extents)
    own = tuple(Dim(d) for d in range(rank))

    def body(inner: OperationList, elements: Sequence[Scalar]) -> Scalar:
        return array.body(inner, elements[:-1])

    generic(b, array.reads, target, own, ["parallel"] * rank, body)


def generic(
    b: OperationList,
    reads: Sequence[Read],
    target: View,
    target_map: Sequence[AffineExpr],
    iterators: Sequence[str],
    body: Body,
) -> None:
    """``linalg.generic``; ``body`` gets elements of the views and of the target."""
    viewed = [(read, read.view) for read in reads if read.view is not None]
    views = [*(view for _, view in viewed), target]
    arguments = [Value(element(v.dtype), v.memory.name, b.location) for v in views]
    made = iter([Scalar(v.dtype, a) for v, a in zip(views, arguments, strict=True)])
    inner = Block(b.location, outer=b, role="elements", own=arguments)
    elements = [
        _position(inner, read) if read.view is None else next(made) for read in reads
    ]
    result = body(inner, [*elements, next(made)])
    value = convert(inner, result, target.dtype).ssa(inner)
    leave(b, inner)
    maps = [*(read.map() for read, _ in viewed), tuple(target_map)]
    b.operations.append(
        linalg.generic(
            [view.memory for _, view in viewed],
            [target.memory],
            [AffineMap(len(iterators), 0, results) for results in maps],
            iterators,
            arguments,
            [*inner.operations, linalg.yield_([value], location=b.location)],
            location=b.location,
        )
    )


def _position(b: OperationList, read: Read) -> Scalar:
    (dimension,) = read.follows
    if dimension is None:
        return known(0)
    number = {"dim": IntegerAttr(dimension, I64)}
    value = b.value("linalg.index", (), INDEX, number)
    return Scalar(int, value, limits=NATURAL)
