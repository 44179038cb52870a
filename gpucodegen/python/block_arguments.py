"""Values of a variable that meet after a branch, or at the head of a loop.

Which variables a function reads later, before they get new values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpucodegen import errors
from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import INDEX, MemRefType, Type
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.arrays import Lazy, View
from gpucodegen.python.context import Bound, Context, described, leaves
from gpucodegen.python.indexing import strides_of
from gpucodegen.python.scalars import Scalar, convert, known, same
from gpucodegen.python.structured_control_flow import RESULT
from gpucodegen.python.types import element, equal, joined


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


@dataclass(slots=True)
class Liveness:
    """Which variables are read after each statement, before they get new values.

    ``after``: for each loop and branch; ``inside``: what a loop's body reads of what
    was assigned before, or in an earlier iteration.
    """

    after: dict[ast.stmt, frozenset[str]] = field(
        default_factory=dict[ast.stmt, "frozenset[str]"]
    )
    inside: dict[ast.stmt, frozenset[str]] = field(
        default_factory=dict[ast.stmt, "frozenset[str]"]
    )

    def before(self, block: Sequence[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        """What is read before the block, if ``live`` is read after it."""
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
        return (live - names(node, ast.Store)) | read

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


@dataclass(frozen=True)
class NumberJoin:
    """Numbers of a kind."""

    leaf: Scalar

    @property
    def type(self) -> Type | None:
        """What is passed on."""
        return element(self.leaf.kind)

    def value(self, b: OperationList, leaf: Any) -> Any:
        """A number as it is passed on."""
        return convert(b, leaf, self.leaf.kind).ssa(b)

    def restored(self, _: Context, values: Any) -> Bound:
        """The number on the other side."""
        return Scalar(self.leaf.kind, next(values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberJoin) and equal(other.leaf.kind, self.leaf.kind)

    def __hash__(self) -> int:
        return hash(str(self.leaf.kind))


@dataclass(frozen=True)
class ArrayJoin:
    """Arrays of a memref type; ``agree``: their extents are the same values.

    An array of another layout is cast to the strided one that holds both.
    """

    leaf: View
    agree: bool

    @property
    def type(self) -> Type | None:
        """What is passed on."""
        return self.leaf.type

    def value(self, b: OperationList, leaf: Any) -> Any:
        """An array as it is passed on."""
        if leaf.type == self.leaf.type:
            return leaf.memory
        return b.add("memref.cast", (leaf.memory,), [self.leaf.type])[0]

    def restored(self, c: Context, values: Any) -> Bound:
        """The array on the other side; its extents are asked for where they differ."""
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


def common_type(one: MemRefType, other: MemRefType) -> MemRefType | None:
    """The memref type to which both cast; None if there is none.

    Extents, strides and offsets that differ are open.
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
    """A join of arrays that agrees upon extents only if it did ``before``."""
    if isinstance(join, ArrayJoin) and isinstance(before, ArrayJoin):
        return replace(join, agree=join.agree and before.agree)
    return join


@dataclass(frozen=True)
class SameJoin:
    """What is the same on all ways: nothing is passed on."""

    leaf: Bound
    type = None

    def value(self, _: OperationList, __: Any) -> Any:
        """Nothing."""

    def restored(self, _: Context, __: Any) -> Bound:
        """It itself."""
        return self.leaf


Join = NumberJoin | ArrayJoin | SameJoin
Joins = list[Join]


def joined_leaves(one: Bound, other: Bound) -> Join | None:
    """How two leaves become one; None if they do not."""
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
            replace(one, memory=memory, roots=one.roots | other.roots, apart=apart),
            same(one.extents, other.extents),
        )
    if isinstance(one, Scalar | View | Lazy) or one is not other:
        return None
    return SameJoin(one)


def join(c: Context, node: ast.AST, name: str, values: Sequence[Bound]) -> Joins:
    """How the leaves of two values of a variable become one."""
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
    if name == RESULT:
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
    """A variable that a loop hands on; ``shape``: a value with the same tuples."""

    name: str
    joins: Joins
    shape: Bound

    @property
    def types(self) -> list[Type]:
        """What is passed on."""
        return [join.type for join in self.joins if join.type is not None]

    def apart(self, loop: object, numbers: Iterator[int]) -> Carried:
        """The same with arrays that are never another one of the loop's."""
        joins = [
            replace(j, leaf=replace(j.leaf, apart=(loop, next(numbers))))
            if isinstance(j, ArrayJoin)
            else j
            for j in self.joins
        ]
        return replace(self, joins=joins)

    def passed(self, b: OperationList, value: Bound) -> list[Value]:
        """The values that are passed on."""
        pairs = zip(self.joins, leaves(value), strict=True)
        return [j.value(b, leaf) for j, leaf in pairs if j.type is not None]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Carried) and self.joins == other.joins

    def __hash__(self) -> int:
        return hash(self.name)


def extent_of(b: OperationList, memory: Value, dimension: int) -> Scalar:
    """An extent of a memref: its number, or ``memref.dim``."""
    ty: Any = memory.type
    if ty.shape[dimension] is not None:
        return known(ty.shape[dimension])
    number = b.constant(dimension, INDEX)
    return Scalar(int, b.add("memref.dim", (memory, number), [INDEX])[0])
