"""Translates statements: assignments, branches and loops.

Variables become SSA values. A loop carries the variables that its body assigns and that
are read later; a variable has one type in all iterations, to which its first value is
converted (``s = 0.0`` before ``s += a[i]`` on float32 is a float32, as NumPy makes it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpucodegen import errors
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import Region, single_block
from gpucodegen.ir.types import I1
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import indexing, loops, private_arrays
from gpucodegen.python.arrays import (
    Array,
    Lazy,
    View,
    assign,
    in_memory,
    in_place,
    lazy,
)
from gpucodegen.python.block_arguments import (
    Joins,
    Liveness,
    NumberJoin,
    assigned,
    join,
)
from gpucodegen.python.context import Bound, Context, described
from gpucodegen.python.expressions import (
    closure,
    condition,
    evaluate,
    is_harmless,
    operand,
)
from gpucodegen.python.functions import numpy_functions
from gpucodegen.python.functions.arguments import array_of
from gpucodegen.python.masks import Selected, settled
from gpucodegen.python.operators import combined
from gpucodegen.python.range_checks import Limits, convert, limited
from gpucodegen.python.results import is_tuple, leaves, rebuilt
from gpucodegen.python.scalars import OutOfRange, Scalar, known, united
from gpucodegen.python.types import (
    of_annotation,
)
from gpucodegen.records import dataclass

Variables = dict[str, Bound]


@dataclass(slots=True)
class Statements:
    """Translates blocks; ``live`` tells which variables are read later."""

    c: Context
    live: Liveness

    def block(self, nodes: Iterable[ast.stmt]) -> None:
        """Translate statements in sequence."""
        for node in nodes:
            rule = _RULES.get(type(node))
            if rule is None:
                what = f"`{ast.unparse(node).splitlines()[0]:.60}`"
                raise self.c.refuse(node, what, _HINTS.get(type(node), _HINT))
            self.c.at(node)
            try:
                rule(self, node)
            except OutOfRange:
                raise self.c.located(
                    errors.WrongOperand,
                    node,
                    what="an integer type of NumPy",
                    types="an integer that it does not hold",
                    hint="Use a wider type, or convert the array with .astype",
                ) from None

    # -- assignments -------------------------------------------------------------------

    def bind(self, target: ast.expr, value: Bound) -> None:
        """Assign to a name, a tuple of names, or a subscript."""
        c = self.c
        if isinstance(target, ast.Name):
            c.variables[target.id] = kept(self.c.b, value)
        elif isinstance(target, ast.Tuple | ast.List):
            stars = [isinstance(part, ast.Starred) for part in target.elts]
            if True not in stars:
                value = _unpacked(c, value, len(stars))
            elif is_tuple(value) and len(value) >= len(stars) - 1:
                n, more = stars.index(True), len(value) - len(stars) + 1
                value = (*value[:n], value[n : n + more], *value[n + more :])
            if not is_tuple(value) or len(value) != len(target.elts):
                hint = "Give each of them a value"
                what = f"to unpack {described(value)} to {len(target.elts)} targets"
                raise c.refuse(target, what, hint)
            for part, own in zip(target.elts, value, strict=True):
                self.bind(part, own)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value)
        elif isinstance(target, ast.Subscript):
            array, where = self.place(target)
            self.c.at(target)
            value = array_of(c, target, value) if is_tuple(value) else value
            if not isinstance(value, Scalar | View | Lazy | Selected):
                raise c.wrong(target, "an element", [value], "Assign numbers or arrays")
            indexing.store(c, target, array, where, value)
        else:
            what = f"an assignment to `{ast.unparse(target)}`"
            raise c.refuse(target, what, "Assign to a name or to elements of an array")

    def place(
        self, target: ast.Subscript
    ) -> tuple[Array, indexing.Subscript | indexing.Advanced]:
        array = evaluate(self.c, target.value)
        if not isinstance(array, View | Lazy) or not lazy(array).is_writable:
            hint = "Assign to an array, not to an expression"
            what = "an assignment to elements"
            raise self.c.wrong(target, what, [array], hint)
        return array, indexing.subscript(self.c, evaluate, array, target)

    def assign(self, node: ast.Assign) -> None:
        """``a = b = value``."""
        value = operand(self.c, node.value)
        if len(node.targets) > 1:
            value = settled(self.c.b, value)
        elif isinstance(node.targets[0], ast.Name):
            if private_arrays.selected(self.c, node.targets[0].id, value):
                return
            value = settled(self.c.b, value)
            if private_arrays.assigned(self.c, node.targets[0].id, value):
                return
        for target in node.targets:
            self.bind(target, value)

    def annotated(self, node: ast.AnnAssign) -> None:
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
        """``a += value``; in place for arrays."""
        c = self.c
        if isinstance(node.target, ast.Subscript):
            array, where = self.place(node.target)
            value = operand(c, node.value)
            c.at(node)
            old = indexing.read(c, array, where)
            made = combined(c, node, node.op, [old, value])
            numpy_functions.in_place(c, node, old, made)
            indexing.store(c, node, array, where, made)
            return
        if not isinstance(node.target, ast.Name):
            raise c.refuse(node, f"`{ast.unparse(node)}`", _HINT)
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        old, value = evaluate(c, load), evaluate(c, node.value)
        c.at(node)
        made = combined(c, node, node.op, [old, value])
        if isinstance(old, View | Lazy):
            if isinstance(old, Lazy) and not old.is_writable:
                hint = "Copy the array with .copy() first"
                raise c.wrong(node, "an update in place", [old, made], hint)
            numpy_functions.in_place(c, node, old, made)
            with c.operands(node, "an assignment", [old, made]):
                assign(c.b, made, old)
        else:
            c.variables[node.target.id] = kept(self.c.b, made)

    def expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            evaluate(self.c, node.value)

    def asserted(self, node: ast.Assert) -> None:
        """``assert``: a condition that ends the call where it does not hold."""
        c = self.c
        test = condition(c, node.test)
        if test.value is None and test.constant:
            return
        text = ast.unparse(node.test)
        if isinstance(node.msg, ast.Constant):
            text = str(node.msg.value)
        elif node.msg is not None and not isinstance(node.msg, ast.JoinedStr):
            raise c.refuse(node, "this message of `assert`", "Write a text")
        self.require(test, holds=True, message=text)

    def require(self, test: Scalar, *, holds: bool, message: str) -> None:
        """End the call by an error unless the test has a truth value."""
        b = self.c.b
        value = test.ssa(b)
        if not holds:
            value = b.value("arith.xori", (value, b.constant(True, I1)), I1)
        b.add("cf.assert", (value,), (), {"msg": StringAttr(message)})

    def define(self, node: ast.FunctionDef) -> None:
        """A nested function, which is inlined where it is called."""
        if node.decorator_list:
            raise self.c.refuse(node, "a decorated nested function", "Leave it out")
        self.c.variables[node.name] = closure(self.c, node, node.name)

    def refused(self, node: ast.Raise) -> None:
        """``raise`` in a function of `composed` refuses its call, with a remedy."""
        if self.c.source.place is None or not isinstance(node.exc, ast.Call):
            raise self.c.refuse(node, f"`{ast.unparse(node):.60}`", _HINTS[ast.Raise])
        what, hint = (evaluate(self.c, text) for text in node.exc.args)
        raise self.c.refuse(node, what, hint)

    def nothing(self, node: ast.stmt) -> None:
        """``pass``."""

    # -- branches ----------------------------------------------------------------------

    def branch(self, node: ast.If) -> None:
        """``scf.if``, or only one arm for a constant condition."""
        c = self.c
        test = condition(c, node.test)
        if test.value is None:
            self.block(node.body if test.constant else node.orelse)
            return
        is_own = c.source.place is None
        for arm, other, holds in (
            (node.body, node.orelse, False),
            (node.orelse, node.body, True),
        ):
            if len(arm) == 1 and isinstance(arm[0], ast.Raise) and is_own:
                c.at(arm[0])
                self.require(test, holds=holds, message=_raised(arm[0]))
                self.block(other)
                return
        before = dict(c.variables)
        private = dict(c.private)
        arms: list[tuple[OperationList, Variables]] = []
        rows: list[dict[str, View]] = []
        for part in (node.body, node.orelse):
            c.variables, c.private = dict(before), dict(private)
            with c.block() as inner:
                self.block(part)
            arms.append((inner, c.variables))
            rows.append(c.private)
        c.at(node)
        c.variables, c.private = before, private
        changed = assigned([*node.body, *node.orelse])
        for name in changed:
            before.pop(name, None)
        live = [n for n in changed if n in self.live.after.get(node, ())]
        both = [n for n in live if all(n in variables for _, variables in arms)]
        c.variables.update(
            {n: arms[0][1][n] for n in both if arms[0][1][n] is arms[1][1][n]}
        )
        both = [n for n in both if n not in c.variables]
        values = [[variables[n] for n in both] for _, variables in arms]
        joins = [
            private_arrays.join_rows(c, n, [v[k] for v in values], rows)
            or join(c, node, n, [v[k] for v in values])
            for k, n in enumerate(both)
        ]
        made = self.chosen(test, [ops for ops, _ in arms], values, joins)
        c.variables.update(zip(both, made, strict=True))

    def chosen(
        self,
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
                c.b.value("arith.select", (where, x, y), x.type)
                for x, y in zip(*rows, strict=True)
            ]
        else:
            regions: list[Region] = []
            for ops, row in zip(arms, rows, strict=True):
                ops.add("scf.yield", row)
                regions.append(single_block(ops.operations))
            types = [v.type for v in rows[0]]
            results = list(c.b.add("scf.if", (where,), types, {}, regions))
        values_made = iter(results)
        arms_leaves = [leaves(tuple(own)) for own in values]
        restored = iter(
            [
                _limited(join.restored(c, values_made), alternatives)
                for join, *alternatives in zip(flat, *arms_leaves, strict=True)
            ]
        )
        return [rebuilt(value, restored) for value in values[0]]


def _raised(node: ast.Raise) -> str:
    """The message of an exception."""
    match node.exc:
        case ast.Call(func=func, args=[ast.Constant(value=text)]):
            return f"{ast.unparse(func)}: {text}"
        case None:
            return "an exception"
        case raised:
            return ast.unparse(raised)


def _limited(value: Bound, alternatives: Sequence[Bound]) -> Bound:
    """An integer that is one of the alternatives, with their limits."""
    numbers = [a for a in alternatives if isinstance(a, Scalar)]
    if not isinstance(value, Scalar) or value.kind is not int:
        return value
    return replace(value, limits=united(numbers))


def kept(b: OperationList, value: Bound) -> Bound:
    """The stored form of a value: computed arrays get memory, views stay views."""
    value = settled(b, value)
    if is_tuple(value):
        return tuple([kept(b, part) for part in value])
    if isinstance(value, Lazy) and value.plain is None:
        return in_memory(b, value)
    return value


def _unpacked(c: Context, value: Bound, count: int) -> Bound:
    """The parts of an array along its first dimension: as many as there are targets."""
    if not isinstance(value, View | Lazy) or not value.extents:
        return value
    extent = value.extents[0]
    if extent.value is None:
        count = extent.constant
    limited(c.b, extent, Limits(count, count, f"other than {count} values to unpack"))
    array = in_place(c.b, value)
    return tuple([indexing.item(c, array, known(n)) for n in range(count)])


_HINT = "Write it with assignments, `if`, `for` over a range and `while`"
_HINTS: dict[type[ast.AST], str] = {
    ast.Raise: "Write it alone in a branch, or pass arguments that do not lead to it",
    ast.Try: "Check what may fail before the call",
    ast.With: "Open and close things outside of the function",
    ast.Import: "Import at the top of the file",
    ast.ImportFrom: "Import at the top of the file",
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
    ast.For: loops.loop,
    ast.While: loops.repeat,
    ast.Pass: Statements.nothing,
    ast.Assert: Statements.asserted,
    ast.FunctionDef: Statements.define,
    ast.Raise: Statements.refused,
}
