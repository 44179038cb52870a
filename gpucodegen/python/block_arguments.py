"""Merges values of a variable at joins of control flow (block arguments).

Liveness tells which variables are read later, before they are assigned again; the
values of each at a branch's end or a loop's head get a common type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from gpucodegen import errors
from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import INDEX, MemRefType, Type
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.arrays import Lazy, Part, View, allocated
from gpucodegen.python.context import Bound, Context, described
from gpucodegen.python.indexing import strides_of, viewed
from gpucodegen.python.range_checks import convert
from gpucodegen.python.results import leaves
from gpucodegen.python.scalars import NATURAL, Scalar, known, same
from gpucodegen.python.structured_control_flow import RESULT
from gpucodegen.python.types import element, equal, joined
from gpucodegen.records import dataclass


def assigned(block: Iterable[ast.stmt]) -> list[str]:
    r"""Names that a block assigns, in order.

    >>> assigned(ast.parse("b = a\nfor i in x: c[0] = 1; b += 2").body)
    ['b', 'i']
    """
    names = (
        inner.id
        for node in block
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    )
    return list(dict.fromkeys(names))


def always_assigned(block: Iterable[ast.stmt]) -> frozenset[str]:
    r"""Names that every path through a block assigns; its loops may have no iteration.

    >>> sorted(always_assigned(ast.parse("if a: b = 1\nelse: b = c = 2\nd = 3").body))
    ['b', 'd']
    """
    found = NOTHING
    for node in block:
        if isinstance(node, ast.If):
            found |= always_assigned(node.body) & always_assigned(node.orelse)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= names(node, ast.Store)
    return found


@dataclass(slots=True)
class Liveness:
    """Live variables after each statement.

    ``always``: names that nested functions read whenever they are called.

    ``after``: for each loop and branch; ``inside``: variables that a loop's body reads
    from before the loop, or from an earlier iteration.
    """

    always: frozenset[str] = frozenset()
    after: dict[ast.stmt, frozenset[str]] = field(
        default_factory=dict[ast.stmt, "frozenset[str]"]
    )
    inside: dict[ast.stmt, frozenset[str]] = field(
        default_factory=dict[ast.stmt, "frozenset[str]"]
    )

    def before(self, block: Sequence[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        """Variables live before the block, given those live after it."""
        live |= self.always
        for node in reversed(block):
            live = self._statement(node, live)
        return live

    def _statement(self, node: ast.stmt, live: frozenset[str]) -> frozenset[str]:
        if isinstance(node, ast.If):
            self.after[node] = self.after.get(node, NOTHING) | live
            first, second = (self.before(arm, live) for arm in (node.body, node.orelse))
            return first | second | names(node.test, ast.Load)
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, live)
        read = names(node, ast.Load)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return live | read | {node.target.id}
        return (live - names(node, ast.Store)) | read | self.always

    def _loop(self, node: ast.For | ast.While, live: frozenset[str]) -> frozenset[str]:
        if isinstance(node, ast.For):
            head, target, around = node.iter, names(node.target, ast.Store), live
        else:
            head, target = node.test, NOTHING
            around = live | names(head, ast.Load)
        found = around
        while True:
            wider = (self.before(node.body, found) - target) | found
            if wider == found:
                break
            found = wider
        self.after[node] = self.after.get(node, NOTHING) | live
        self.inside[node] = self.inside.get(node, NOTHING) | found
        return found | names(head, ast.Load)


NOTHING: frozenset[str] = frozenset()


def names(node: ast.AST, ctx: type[ast.expr_context]) -> frozenset[str]:
    """Names that are read or stored anywhere in a node.

    >>> sorted(names(ast.parse("a[i] = b"), ast.Load))
    ['a', 'b', 'i']
    """
    inner = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return frozenset(n.id for n in inner if isinstance(n.ctx, ctx))


def captured(block: Iterable[ast.stmt]) -> frozenset[str]:
    """Names that nested functions and lambdas of a block read."""
    inner = (n for node in block for n in ast.walk(node))
    nested = (n for n in inner if isinstance(n, ast.FunctionDef | ast.Lambda))
    return NOTHING.union(*(names(n, ast.Load) for n in nested))


class Unset:
    """A number or array that no way to this line has set; its value is never used."""


UNSET = Unset()


@dataclass(frozen=True)
class NumberJoin:
    """A join of numbers of one kind."""

    leaf: Scalar

    @property
    def type(self) -> Type | None:
        return element(self.leaf.kind)

    def value(self, b: OperationList, leaf: Any) -> Any:
        number = known(0) if leaf is UNSET else leaf
        return convert(b, number, self.leaf.kind).ssa(b)

    def restored(self, _: Context, values: Any) -> Bound:
        """The number after the join."""
        return Scalar(self.leaf.kind, next(values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberJoin) and equal(other.leaf.kind, self.leaf.kind)

    def __hash__(self) -> int:
        return hash(str(self.leaf.kind))


@dataclass(frozen=True)
class ArrayJoin:
    """A join of arrays; ``agree``: their extents are the same values.

    Arrays of different layouts are cast to a strided type that holds both.
    """

    leaf: View
    agree: bool

    @property
    def type(self) -> Type | None:
        return self.leaf.type

    def value(self, b: OperationList, leaf: Any) -> Any:
        memory = _empty(b, self.leaf) if leaf is UNSET else leaf.memory
        if memory.type == self.leaf.type:
            return memory
        return b.value("memref.cast", (memory,), self.leaf.type)

    def restored(self, c: Context, values: Any) -> Bound:
        """The array after the join; its extents are read again if they may differ."""
        memory = next(values)
        extents = self.leaf.extents
        if not self.agree:
            extents = tuple(extent_of(c.b, memory, d) for d in range(len(extents)))
        return replace(self.leaf, memory=memory, extents=extents)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayJoin):
            return False
        mine, theirs = (
            (j.leaf.type, j.leaf.roots, j.leaf.apart, j.agree) for j in (self, other)
        )
        return mine == theirs

    def __hash__(self) -> int:
        return hash(self.leaf.roots)


def _empty(b: OperationList, like: View) -> Value:
    """An array that stands where none is set; its open extents are zero."""
    extents = tuple(known(0 if n is None else n) for n in like.type.shape)
    return allocated(b, like.dtype, extents).memory


def common_type(one: MemRefType, other: MemRefType) -> MemRefType | None:
    """The memref type to which both can be cast; None if there is none.

    Extents, strides and offsets that differ become dynamic.
    """
    if one == other:
        return one
    if one.element != other.element or len(one.shape) != len(other.shape):
        return None

    def open_(x: int | None, y: int | None) -> int | None:
        return x if x == y else None

    shape = tuple(map(open_, one.shape, other.shape))
    (strides, offset), (others, start) = map(strides_of, (one, other))
    if one.layout is None and other.layout is None:
        return replace(one, shape=shape)
    layout = StridedLayoutAttr(tuple(map(open_, strides, others)), open_(offset, start))
    return replace(one, shape=shape, layout=layout)


def narrowed(join: Join, before: Join) -> Join:
    """A join of arrays whose extents agree only if they did ``before``."""
    if isinstance(join, ArrayJoin) and isinstance(before, ArrayJoin):
        return replace(join, agree=join.agree and before.agree)
    return join


@dataclass(frozen=True)
class SameJoin:
    """A join of identical values: nothing is passed."""

    leaf: Bound
    type = None

    def value(self, _: OperationList, __: Any) -> Any:
        """No passed values."""

    def restored(self, _: Context, __: Any) -> Bound:
        return self.leaf


@dataclass(frozen=True, eq=False)
class PrefixJoin:
    """A join of arrays that are the first rows of one buffer: their number is passed.

    ``name``: the variable, whose array in the buffer is in `Context.private`.
    """

    leaf: View
    name: str
    type = INDEX

    def value(self, b: OperationList, leaf: Any) -> Any:
        return leaf.extents[0].ssa(b)

    def restored(self, c: Context, values: Any) -> Bound:
        """The first rows; also where the variable is private."""
        view = prefix(c, self.leaf, Scalar(int, next(values), limits=NATURAL))
        if self.name in c.private:
            c.private[self.name] = view
        return view


def prefix(c: Context, view: View, count: Scalar) -> View:
    """The first ``count`` rows of an array."""
    rest = [Part(known(0), extent, 1) for extent in view.extents[1:]]
    return viewed(c, view, [Part(known(0), count, 1), *rest])


Join = NumberJoin | ArrayJoin | SameJoin | PrefixJoin
Joins = list[Join]


def joined_leaves(one: Bound, other: Bound) -> Join | None:
    """The join of two leaves; None if they cannot be joined."""
    numbers = [leaf for leaf in (one, other) if isinstance(leaf, Scalar)]
    if (one is UNSET or other is UNSET) and len(numbers) == 1:
        return NumberJoin(Scalar(numbers[0].kind))
    arrays = [leaf for leaf in (one, other) if isinstance(leaf, View)]
    if (one is UNSET or other is UNSET) and len(arrays) == 1:
        return ArrayJoin(arrays[0], agree=False)
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        try:
            kind = joined(one.kind, other.kind)
        except TypeError:
            return None
        return NumberJoin(Scalar(kind))
    if isinstance(one, View) and isinstance(other, View):
        if one.memory is other.memory:
            return ArrayJoin(one, agree=True)
        ty = common_type(one.type, other.type)
        if ty is None or one.dtype != other.dtype:
            return None
        memory = one.memory if one.type == ty else one.memory.renewed(ty)
        apart = one.apart if one.apart == other.apart else None
        return ArrayJoin(
            replace(
                one,
                memory=memory,
                roots=one.roots | other.roots,
                apart=apart,
                gapless=one.is_contiguous and other.is_contiguous,
            ),
            same(one.extents, other.extents),
        )
    if isinstance(one, Scalar | View | Lazy) or one is not other:
        return None
    return SameJoin(one)


def join(c: Context, node: ast.AST, name: str, values: Sequence[Bound]) -> Joins:
    """The joins of the leaves of two values of a variable."""
    columns = [list(leaves(value)) for value in values]
    found: list[Join] = []
    if len({len(column) for column in columns}) == 1:
        for one, other in zip(*columns, strict=True):
            join = joined_leaves(one, other)
            if join is None:
                break
            found.append(join)
        else:
            return found
    if name.startswith(RESULT):
        hint = "End every way through the function with `return` of the same types"
        raise c.refuse(node, "results on some ways only", hint)
    first, second = (described(value) for value in values)
    if {first, second} == {str(values[0])} or first == second:
        first, second = "one array", "one of another layout or shape"
    raise c.located(
        errors.VariableChangesType, node, name=name, first=first, second=second
    )


@dataclass(frozen=True)
class Carried:
    """A loop-carried variable; ``shape``: a value with the same tuple structure."""

    name: str
    joins: Joins
    shape: Bound

    @property
    def types(self) -> list[Type]:
        return [join.type for join in self.joins if join.type is not None]

    def apart(self, loop: object, numbers: Iterator[int]) -> Carried:
        """The same variable, whose arrays are distinct from the loop's other arrays."""
        joins = [
            replace(j, leaf=replace(j.leaf, apart=(loop, next(numbers))))
            if isinstance(j, ArrayJoin)
            else j
            for j in self.joins
        ]
        return replace(self, joins=joins)

    def passed(self, b: OperationList, value: Bound) -> list[Value]:
        pairs = zip(self.joins, leaves(value), strict=True)
        return [j.value(b, leaf) for j, leaf in pairs if j.type is not None]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Carried) and self.joins == other.joins

    def __hash__(self) -> int:
        return hash(self.name)


def extent_of(b: OperationList, memory: Value, dimension: int) -> Scalar:
    """An extent of a memref: a constant, or ``memref.dim``."""
    ty: Any = memory.type
    if ty.shape[dimension] is not None:
        return known(ty.shape[dimension])
    number = b.constant(dimension, INDEX)
    value = b.value("memref.dim", (memory, number), INDEX)
    return Scalar(int, value, limits=NATURAL)
