"""Statements: assignments, branches and loops, as arith, memref, linalg and scf.

Variables become SSA values.  A loop carries those that its body assigns and that are
read later; a variable has one type in all iterations, to which its first value is
converted (``s = 0.0`` before ``s += a[i]`` on float32 is a float32, as NumPy makes it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.ir.operation import Value, single_block
from gpucodegen.ir.types import INDEX, MemRefType, Type
from gpucodegen.passes.framework.operation_list import OperationList
from gpucodegen.python import indexing
from gpucodegen.python.arrays import Lazy, View, assign, in_memory, may_share
from gpucodegen.python.context import Bound, Context, described, leaves, rebuilt
from gpucodegen.python.expressions import combined, evaluate, is_harmless, truth
from gpucodegen.python.scalars import Scalar, convert, integers, known, same
from gpucodegen.python.types import category, element, joined, of_annotation
from gpucodegen.python.ways import Liveness, assigned, range_of

Variables = dict[str, Bound]


@dataclass(slots=True)
class Statements:
    """Translates blocks; ``live`` tells which variables are read later."""

    c: Context
    live: Liveness

    def block(self, nodes: Iterable[ast.stmt]) -> None:
        """Statements one after another."""
        for node in nodes:
            rule = _RULES.get(type(node))
            if rule is None:
                what = f"`{ast.unparse(node).splitlines()[0]:.60}`"
                raise self.c.refuse(node, what, _HINTS.get(type(node), _HINT))
            self.c.at(node)
            rule(self, node)

    # -- assignments -------------------------------------------------------------------

    def bind(self, target: ast.expr, value: Bound) -> None:
        """Assign to a name, a tuple of them, or a subscript."""
        c = self.c
        if isinstance(target, ast.Name):
            c.variables[target.id] = self.kept(value)
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                hint = "Give each of them a value"
                what = f"to unpack {described(value)} to {len(target.elts)} targets"
                raise c.refuse(target, what, hint)
            for part, own in zip(target.elts, value, strict=True):
                self.bind(part, own)
        elif isinstance(target, ast.Subscript):
            array, where = self.place(target)
            self.c.at(target)
            if not isinstance(value, Scalar | View | Lazy):
                raise c.wrong(target, "an element", [value], "Assign numbers or arrays")
            indexing.store(c, target, array, where, value)
        else:
            what = f"an assignment to `{ast.unparse(target)}`"
            raise c.refuse(target, what, "Assign to a name or to elements of an array")

    def kept(self, value: Bound) -> Bound:
        """What a variable holds: computed arrays get memory now, views stay views."""
        if isinstance(value, tuple):
            return tuple([self.kept(part) for part in value])
        if isinstance(value, Lazy) and value.plain is None:
            return in_memory(self.c.b, value)
        return value

    def place(self, target: ast.Subscript) -> tuple[View, indexing.Subscript]:
        """The array and the subscript of a target."""
        array = evaluate(self.c, target.value)
        if not isinstance(array, View):
            hint = "Assign to an array, not to its transpose or to an expression"
            what = "an assignment to elements"
            raise self.c.wrong(target, what, [array], hint)
        return array, indexing.subscript(self.c, evaluate, array, target)

    def assign(self, node: ast.Assign) -> None:
        """``a = b = value``."""
        value = evaluate(self.c, node.value)
        for target in node.targets:
            self.bind(target, value)

    def annotated(self, node: ast.AnnAssign) -> None:
        """``a: float = value``: a number gets that type."""
        if node.value is None:
            return
        value = evaluate(self.c, node.value)
        try:
            note: Any = evaluate(self.c, node.annotation)
        except errors.PythonError:
            note = None
        kind = of_annotation(note) if not isinstance(note, View | Lazy) else None
        if isinstance(value, Scalar) and kind is not None:
            value = convert(self.c.b, value, kind)
        self.bind(node.target, value)

    def augmented(self, node: ast.AugAssign) -> None:
        """``a += value``: in place where it is an array."""
        c = self.c
        if isinstance(node.target, ast.Subscript):
            array, where = self.place(node.target)
            value = evaluate(c, node.value)
            c.at(node)
            old = indexing.read(c, node, array, where)
            made = combined(c, node, node.op, [old, value])
            self.in_place(node, old, made)
            indexing.store(c, node, array, where, made)
            return
        if not isinstance(node.target, ast.Name):
            raise c.refuse(node, f"`{ast.unparse(node)}`", _HINT)
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        old, value = evaluate(c, load), evaluate(c, node.value)
        c.at(node)
        made = combined(c, node, node.op, [old, value])
        if isinstance(old, View):
            self.in_place(node, old, made)
            with c.operands(node, "an assignment", [old, made]):
                assign(c.b, made, old)
        else:
            c.variables[node.target.id] = self.kept(made)

    def in_place(self, node: ast.AST, old: Bound, made: Bound) -> None:
        """An array keeps its dtype: NumPy refuses to change the kind of number."""
        if not isinstance(old, View) or not isinstance(made, View | Lazy):
            return
        if not np.can_cast(made.dtype, old.dtype, "same_kind"):
            hint = f"Convert it with .astype(numpy.{old.dtype.name})"
            raise self.c.wrong(node, "an update in place", [old, made], hint)

    def expression(self, node: ast.Expr) -> None:
        """A call, or a text."""
        if not isinstance(node.value, ast.Constant):
            evaluate(self.c, node.value)

    def nothing(self, node: ast.stmt) -> None:
        """``pass``."""

    # -- branches ----------------------------------------------------------------------

    def branch(self, node: ast.If) -> None:
        """``scf.if``; of a known condition, one arm."""
        c = self.c
        test = truth(c, node.test, evaluate(c, node.test))
        if test.value is None:
            self.block(node.body if test.constant else node.orelse)
            return
        before = dict(c.variables)
        arms: list[tuple[OperationList, Variables]] = []
        for part in (node.body, node.orelse):
            c.variables = dict(before)
            with c.block() as inner:
                self.block(part)
            arms.append((inner, c.variables))
        c.at(node)
        c.variables = before
        changed = assigned([*node.body, *node.orelse])
        for name in changed:
            before.pop(name, None)
        live = [n for n in changed if n in self.live.after.get(node, ())]
        both = [n for n in live if all(n in variables for _, variables in arms)]
        c.variables.update(
            {n: arms[0][1][n] for n in both if arms[0][1][n] == arms[1][1][n]}
        )
        both = [n for n in both if n not in c.variables]
        values = [[variables[n] for n in both] for _, variables in arms]
        joins = [
            self.join(node, n, [v[k] for v in values]) for k, n in enumerate(both)
        ]
        made = self.chosen(node, test, [ops for ops, _ in arms], values, joins)
        c.variables.update(zip(both, made, strict=True))

    def chosen(
        self,
        node: ast.If,
        test: Scalar,
        arms: Sequence[OperationList],
        values: Sequence[Sequence[Bound]],
        joins: Sequence[Joins],
    ) -> list[Bound]:
        """The variables after a branch."""
        c = self.c
        flat = [join for own in joins for join in own]
        passed = [
            [
                join.value(ops, leaf)
                for join, leaf in zip(flat, leaves(tuple(own)), strict=True)
            ]
            for ops, own in zip(arms, values, strict=True)
        ]
        places = [n for n, join in enumerate(flat) if join.type is not None]
        rows = [[own[n] for n in places] for own in passed]
        where = test.ssa(c.b)
        if all(is_harmless(ops.operations) for ops in arms) and all(
            isinstance(flat[n], NumberJoin) for n in places
        ):
            for ops in arms:
                c.b.operations += ops.operations
            results = [
                c.b.add("arith.select", (where, x, y), [x.type])[0]
                for x, y in zip(*rows, strict=True)
            ]
        else:
            regions = []
            for ops, row in zip(arms, rows, strict=True):
                ops.add("scf.yield", row)
                regions.append(single_block(ops.operations))
            types = [v.type for v in rows[0]]
            results = list(c.b.add("scf.if", (where,), types, {}, regions))
        values_made = iter(results)
        restored = iter(
            [join.restored(c, values_made) for join in flat]
        )
        return [rebuilt(value, restored) for value in values[0]]

    def join(self, node: ast.AST, name: str, values: Sequence[Bound]) -> Joins:
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
        first, second = (described(value) for value in values)
        if {first, second} == {str(values[0])} or first == second:
            first, second = "one array", "one of another layout or shape"
        raise self.c.located(
            errors.VariableChangesType, node, name=name, first=first, second=second
        )

    # -- loops -------------------------------------------------------------------------

    def loop(self, node: ast.For) -> None:
        """``scf.for`` over a range."""
        c = self.c
        ends = range_of(node, c.refuse)
        if not isinstance(node.iter, ast.Call) or "range" in c.variables:
            raise c.refuse(node, "a loop over something else than a range", _HINT)
        start, stop, step = (self.whole(end) for end in ends)
        c.at(node)
        if step.value is None and step.constant == 0:
            raise c.refuse(node, "a range whose step is 0", "Use another step")
        target = node.target.id if isinstance(node.target, ast.Name) else "i"
        counted = step.value is not None or step.constant < 0
        bounds = (start, stop, step)
        if counted:
            bounds = known(0), self.trips(start, stop, step), known(1)
        operands = [bound.ssa(c.b) for bound in bounds]

        def head(iv: Value) -> None:
            position = Scalar(int, iv)
            if counted:
                passed = integers(c.b, "mul", position, step)
                position = integers(c.b, "add", start, passed)
            c.variables[target] = position

        def body(carried: Sequence[Value], own: Sequence[Carried]) -> Any:
            iv = Value(INDEX, target, c.b.location)
            with c.block() as inner:
                head(iv)
                self.received(own, carried)
                self.block(node.body)
                after = {n.name: c.variables.get(n.name) for n in own}
            return inner, iv, after

        own = self.carried(node, skip=target)
        while True:
            saved = dict(c.variables)
            arguments = [Value(ty, n.name, c.b.location) for n in own for ty in n.types]
            inner, iv, after = body(arguments, own)
            c.variables = saved
            wider = self.widened(node, own, after, arguments)
            if wider == own:
                break
            own = wider
        c.at(node)
        inner.add("scf.yield", [v for n in own for v in n.passed(inner, after[n.name])])
        first = [v for n in own for v in n.passed(c.b, c.variables[n.name])]
        region = single_block(inner.operations, (iv, *arguments))
        results = c.b.add(
            "scf.for", (*operands, *first), [v.type for v in arguments], {}, [region]
        )
        self.left(node, own, results)

    def whole(self, node: ast.expr) -> Scalar:
        """An integer of a range."""
        value = evaluate(self.c, node)
        if not isinstance(value, Scalar) or category(value.kind) not in "iu":
            raise self.c.wrong(node, "`range`", [value], "Use integers")
        return convert(self.c.b, value, int)

    def trips(self, start: Scalar, stop: Scalar, step: Scalar) -> Scalar:
        """``ceil((stop - start) / step)``; a loop runs no less often than never."""
        b = self.c.b
        if step.value is None:
            rest = integers(b, "sub", start, stop)
            size = known(-step.constant)
            more = integers(b, "add", rest, known(-step.constant - 1))
            return integers(b, "floordiv", more, size)
        rest = integers(b, "sub", start, stop)
        return integers(b, "sub", known(0), integers(b, "floordiv", rest, step))

    def repeat(self, node: ast.While) -> None:
        """``scf.while``."""
        c = self.c
        own = self.carried(node)
        while True:
            saved = dict(c.variables)
            asked = [Value(ty, n.name, c.b.location) for n in own for ty in n.types]
            with c.block() as test:
                self.received(own, asked)
                condition = truth(c, node.test, evaluate(c, node.test)).ssa(test)
            c.variables = dict(saved)
            inside = [v.renewed() for v in asked]
            with c.block() as inner:
                self.received(own, inside)
                self.block(node.body)
                after = {n.name: c.variables.get(n.name) for n in own}
            c.variables = saved
            wider = self.widened(node, own, after, inside)
            if wider == own:
                break
            own = wider
        c.at(node)
        test.add("scf.condition", (condition, *asked))
        inner.add("scf.yield", [v for n in own for v in n.passed(inner, after[n.name])])
        first = [v for n in own for v in n.passed(c.b, c.variables[n.name])]
        regions = [
            single_block(test.operations, asked),
            single_block(inner.operations, inside),
        ]
        results = c.b.add("scf.while", first, [v.type for v in asked], {}, regions)
        self.left(node, own, results)

    def carried(self, node: ast.For | ast.While, skip: str = "") -> list[Carried]:
        """Variables that an iteration hands on."""
        c = self.c
        needed = self.live.inside[node]
        names = [
            n
            for n in assigned(node.body)
            if n in c.variables and n in needed and n != skip
        ]
        return [Carried(n, self.join(node, n, [c.variables[n]] * 2), c.variables[n])
                for n in names]

    def widened(
        self,
        node: ast.AST,
        own: Sequence[Carried],
        after: Variables,
        inside: Sequence[Value],
    ) -> list[Carried]:
        """What variables must be to hold their values after an iteration too.

        Arrays that are only swapped stay apart from each other.
        """
        made: list[Carried] = []
        for n in own:
            if after[n.name] is None:
                raise self.c.located(errors.UndefinedName, node, name=n.name)
            first = rebuilt(n.shape, iter([j.leaf for j in n.joins]))
            made.append(
                replace(n, joins=self.join(node, n.name, [first, after[n.name]]))
            )
        before, views = (
            [leaf for value in values for leaf in leaves(value) if isinstance(leaf, View)]
            for values in ([n.shape for n in own], after.values())
        )
        arrays = {v for v in inside if isinstance(v.type, MemRefType)}
        swapped = {v.memory for v in views} == arrays and not any(
            may_share(x, y) for x, y in combinations(before, 2)
        )
        if not swapped:
            return made
        numbers = count()
        return [n.apart(node, numbers) for n in made]

    def received(self, own: Sequence[Carried], values: Sequence[Value]) -> None:
        """The variables inside of an iteration."""
        given = iter(values)
        for n in own:
            made = iter([join.restored(self.c, given) for join in n.joins])
            self.c.variables[n.name] = rebuilt(n.shape, made)

    def left(
        self, node: ast.For | ast.While, own: Sequence[Carried], values: Sequence[Value]
    ) -> None:
        """The variables after a loop: others that it assigned have no value."""
        names = assigned([node])
        for name in names:
            self.c.variables.pop(name, None)
        self.received(own, values)


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

    def restored(self, c: Context, values: Any) -> Bound:
        """The number on the other side."""
        return Scalar(self.leaf.kind, next(values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberJoin) and other.leaf.kind == self.leaf.kind

    def __hash__(self) -> int:
        return hash(str(self.leaf.kind))


@dataclass(frozen=True)
class ArrayJoin:
    """Arrays of a memref type; ``agree``: their extents are the same values."""

    leaf: View
    agree: bool

    @property
    def type(self) -> Type | None:
        """What is passed on."""
        return self.leaf.type

    def value(self, b: OperationList, leaf: Any) -> Any:
        """An array as it is passed on."""
        return leaf.memory

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
        mine, theirs = ((j.leaf.roots, j.leaf.apart, j.agree) for j in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash(self.leaf.roots)


@dataclass(frozen=True)
class SameJoin:
    """What is the same on all ways: nothing is passed on."""

    leaf: Bound
    type = None

    def value(self, b: OperationList, leaf: Any) -> Any:
        """Nothing."""

    def restored(self, c: Context, values: Any) -> Bound:
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
        if one.type != other.type or one.dtype != other.dtype:
            return None
        return ArrayJoin(
            replace(one, roots=one.roots | other.roots), same(one.extents, other.extents)
        )
    if isinstance(one, Scalar | View | Lazy) or one is not other:
        return None
    return SameJoin(one)


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


_HINT = "Write it with assignments, `if`, `for` over a range and `while`"
_HINTS: dict[type[ast.AST], str] = {
    ast.Assert: "Check arguments before the call",
    ast.Raise: "Check arguments before the call, or return a flag",
    ast.Try: "Check what may fail before the call",
    ast.With: "Open and close things outside of the function",
    ast.Import: "Import at the top of the file",
    ast.ImportFrom: "Import at the top of the file",
    ast.FunctionDef: "Define it outside, decorated with jit",
    ast.Global: "Return the value, or pass an array",
    ast.Nonlocal: "Return the value, or pass an array",
    ast.Delete: "Leave it out: memory is given back by itself",
}
_RULES: dict[type[ast.AST], Any] = {
    ast.Assign: Statements.assign,
    ast.AnnAssign: Statements.annotated,
    ast.AugAssign: Statements.augmented,
    ast.Expr: Statements.expression,
    ast.If: Statements.branch,
    ast.For: Statements.loop,
    ast.While: Statements.repeat,
    ast.Pass: Statements.nothing,
}
