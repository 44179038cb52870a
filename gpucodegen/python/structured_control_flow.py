"""Rewrites jumps to structured control flow.

``return`` becomes an assignment to `RESULT`; the code after a branch that ends in a
jump moves into the other branch. ``break`` ends the loop through a flag. ``else`` of a
loop with ``break`` becomes a branch on another flag.  An assignment expression becomes
an assignment before its statement, if the statement certainly evaluates it and nothing
that it evaluates before can tell the difference.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from typing import Any, cast

from gpucodegen.records import dataclass

RESULT = "return"
"""The variable of the return value, and the prefix of its parts'; no identifier."""

UNSET_NAME = "unset."
"""The name of the value that a result has before a loop returns it."""

RUNS = "runs."
"""Prefix of the names of flags that `break` clears."""

LENGTH, RANGE, RESHAPED = "len.", "range.", "reshaped."
"""Names of ``len``, ``range`` and `reshaped_in_place` that no variable can hide."""

Refuse = Callable[[ast.AST, str, str], Exception]
Block = list[ast.stmt]


@dataclass(slots=True)
class Structured:
    """Rewrites the statements of a function without jumps.

    ``refuse`` makes the error for a node, a description and a suggestion.
    """

    refuse: Refuse
    flags: int = 0

    def function(self, tree: ast.FunctionDef) -> Block:
        body = _without_named(tree.body)
        return self._sunk(self._without_else(body), in_loop=False)

    def _without_else(self, block: Sequence[ast.stmt]) -> Block:
        """A block whose loops have no ``else``."""
        made: Block = []
        for node in block:
            if isinstance(node, ast.If):
                arms = map(self._without_else, (node.body, node.orelse))
                made.append(_if(node, node.test, *arms))
            elif isinstance(node, ast.For | ast.While):
                body, other = map(self._without_else, (node.body, node.orelse))
                loop = copy(node)
                loop.body, loop.orelse = body, []
                if not other or not _breaks(body):
                    made += [loop, *other]
                    continue
                self.flags += 1
                flag = f"unbroken.{self.flags}"
                loop.body = _breaking(body, flag)
                test = ast.copy_location(ast.If(_name(node, flag), other, []), node)
                made += [_assigned(node, flag, ast.Constant(True)), loop, test]
            else:
                made.append(node)
        return made

    def _sunk(
        self, block: Sequence[ast.stmt], *, in_loop: bool, flag: str = ""
    ) -> Block:
        """A block whose jumps are all at the end of a path."""
        made: Block = []
        for n, node in enumerate(block):
            rest = list(block[n + 1 :])
            if isinstance(node, ast.Return | ast.Break | ast.Continue):
                return [*made, *self._jump(node, in_loop, flag)]
            if isinstance(node, ast.Raise):
                return [*made, node]
            if isinstance(node, ast.FunctionDef) and in_loop:
                hint = "Define it before the loop"
                raise self.refuse(node, "a function defined inside of a loop", hint)
            if isinstance(node, ast.If):
                if _jumps(node):
                    arms = (_followed(arm, rest) for arm in (node.body, node.orelse))
                    body, other = (
                        self._sunk(arm, in_loop=in_loop, flag=flag) for arm in arms
                    )
                    return [*made, _if(node, node.test, body, other)]
                body, other = (
                    self._sunk(arm, in_loop=in_loop, flag=flag)
                    for arm in (node.body, node.orelse)
                )
                made.append(_if(node, node.test, body, other))
            elif isinstance(node, ast.For | ast.While) and _returns(node):
                ended = self._escaped(node)
                return [*made, *self._sunk([*ended, *rest], in_loop=in_loop, flag=flag)]
            elif isinstance(node, ast.For) and not _is_range(node):
                made += self._sunk(self._over_elements(node), in_loop=in_loop)
            elif isinstance(node, ast.For | ast.While):
                made += self._loop(node)
            elif isinstance(node, ast.Assign) and any(
                map(_reshaped_name, node.targets)
            ):
                made += self._reshaped(node)
            elif isinstance(node, ast.Assign):
                made += map(_branched, _split(node))
            else:
                made.append(node)
        return made

    def _escaped(self, node: ast.For | ast.While) -> Block:
        """A loop that breaks where it returned, and the return after it.

        Before the loop the value, or each part of a tuple, is `UNSET`.
        """
        self.flags += 1
        value, is_set = f"early.{self.flags}", f"returned.{self.flags}"
        made = deepcopy(node)
        first = next(n.value for n in ast.walk(node) if isinstance(n, ast.Return))

        def broken(block: Sequence[ast.stmt]) -> Block:
            found: Block = []
            for inner in block:
                if isinstance(inner, ast.Return):
                    result = inner.value
                    if result is None:
                        hint = "Assign the result to a variable, and `break`"
                        what = "`return` of nothing inside of a loop"
                        raise self.refuse(inner, what, hint)
                    stop = ast.copy_location(ast.Break(), inner)
                    yes = ast.copy_location(ast.Constant(True), inner)
                    found += [
                        _assigned(inner, value, result),
                        _assigned(inner, is_set, yes),
                        stop,
                    ]
                elif isinstance(inner, ast.If):
                    arms = (broken(arm) for arm in (inner.body, inner.orelse))
                    found.append(_if(inner, inner.test, *arms))
                elif isinstance(inner, ast.For | ast.While) and _returns(inner):
                    found += broken(self._escaped(inner))
                else:
                    found.append(inner)
            return found

        is_endless = _is_endless(made)
        made.body = broken(made.body)
        no = ast.copy_location(ast.Constant(False), node)
        given = ast.copy_location(ast.Return(_name(node, value)), node)
        test = ast.copy_location(ast.If(_name(node, is_set), [given], []), node)
        return [
            _assigned(node, value, _unset(node, first)),
            _assigned(node, is_set, no),
            made,
            given if is_endless else test,
        ]

    def _over_elements(self, node: ast.For) -> Block:
        """A loop over an array's first dimension, or over the parts of a tuple."""
        self.flags += 1
        if isinstance(node.iter, ast.Tuple | ast.List):
            flag = f"{RUNS}{self.flags}" if _breaks(node.body) else ""
            parts = [_assigned(node, deepcopy(node.target), e) for e in node.iter.elts]
            bodies = [
                [part, *self._sunk(deepcopy(node.body), in_loop=True, flag=flag)]
                for part in parts
            ]
            if not flag:
                return [inner for body in bodies for inner in body]
            rounds = [
                ast.copy_location(ast.If(_name(node, flag), body, []), node)
                for body in bodies
            ]
            return [_assigned(node, flag, ast.Constant(True)), *rounds]
        array, count = f"array.{self.flags}", f"place.{self.flags}"
        made = deepcopy(node)
        element = ast.Subscript(_name(node, array), _name(node, count), ast.Load())
        made.target = ast.copy_location(ast.Name(count, ast.Store()), node)
        length = ast.Call(_name(node, LENGTH), [_name(node, array)], [])
        made.iter = ast.Call(_name(node, RANGE), [length], [])
        made.body = [_assigned(node, deepcopy(node.target), element), *made.body]
        found = ast.copy_location(made, node)
        return [_assigned(node, array, node.iter), ast.fix_missing_locations(found)]

    def _reshaped(self, node: ast.Assign) -> Block:
        """``a.shape = shape`` as an assignment to ``a``."""
        self.flags += 1
        shape = f"shape.{self.flags}"
        made: Block = [_assigned(node, shape, node.value)]
        for target in node.targets:
            value, array = _name(node, shape), _reshaped_name(target)
            if array is None:
                made.append(_assigned(node, target, value))
            else:
                given = [_name(target, array.id), value]
                view = ast.Call(_name(target, RESHAPED), given, [])
                made.append(_assigned(node, array.id, view))
        return made

    def _jump(self, node: ast.stmt, in_loop: bool, flag: str) -> Block:
        if isinstance(node, ast.Return):
            if in_loop:
                hint = "Assign the result to a variable, and `break`"
                raise self.refuse(node, "`return` inside of a loop", hint)
            value = node.value or ast.copy_location(ast.Constant(None), node)
            parts = value.elts if isinstance(value, ast.Tuple) else []
            if not any(isinstance(part, ast.IfExp) for part in parts):
                return [_branched(_assigned(node, RESULT, value))]
            self.flags += 1
            found = [f"{RESULT}.{self.flags}.{n}" for n in range(len(parts))]
            made = [
                _branched(_assigned(node, name, part))
                for name, part in zip(found, parts, strict=True)
            ]
            whole = ast.Tuple([_name(node, name) for name in found], ast.Load())
            return [*made, _assigned(node, RESULT, whole)]
        if isinstance(node, ast.Break):
            stop = ast.copy_location(ast.Constant(False), node)
            return [_assigned(node, flag, stop)]
        return []

    def _loop(self, node: ast.For | ast.While) -> Block:
        if not _breaks(node.body):
            body = self._sunk(node.body, in_loop=True)
            made = deepcopy(node)
            made.body = body or [ast.copy_location(ast.Pass(), node)]
            return [made]
        self.flags += 1
        flag = f"{RUNS}{self.flags}"
        go = _assigned(node, flag, ast.Constant(True))
        if isinstance(node, ast.While):
            tests: list[ast.expr] = [_name(node, flag), node.test]
            test = ast.copy_location(ast.BoolOp(ast.And(), tests), node)
            body = self._sunk(node.body, in_loop=True, flag=flag)
            return [go, ast.copy_location(ast.While(test, body, []), node)]
        return [go, *self._counted(node, flag)]

    def _counted(self, node: ast.For, flag: str) -> Block:
        """``for`` over a range with ``break`` as a ``while`` loop with a counter."""
        start, stop, step = range_of(node, self.refuse)
        by = _number(step)
        if not by:
            hint = "Give the range a step that is a number other than 0"
            raise self.refuse(node, "`break` where the step is a variable", hint)
        count, last = f"count.{self.flags}", f"stop.{self.flags}"
        compare = ast.Lt() if by > 0 else ast.Gt()
        inside = ast.Compare(_name(node, count), [compare], [_name(node, last)])
        test = ast.BoolOp(ast.And(), [_name(node, flag), inside])
        add = ast.BinOp(_name(node, count), ast.Add(), ast.Constant(by))
        body = [
            _assigned(node, node.target, _name(node, count)),
            _assigned(node, count, add),
            *self._sunk(node.body, in_loop=True, flag=flag),
        ]
        loop = ast.copy_location(ast.While(test, body, []), node)
        begin = [_assigned(node, count, start), _assigned(node, last, stop)]
        return [*begin, ast.fix_missing_locations(loop)]


def _without_named(block: Sequence[ast.stmt]) -> Block:
    """A block whose assignment expressions are assignments before their statements."""
    made: Block = []
    for node in block:
        new = copy(node)
        for part in ("body", "orelse"):
            if isinstance(node, ast.If | ast.For | ast.While):
                setattr(new, part, _without_named(getattr(node, part)))
        head = _HEADS.get(type(node), "value")
        value = getattr(node, head, None)
        if not isinstance(value, ast.expr) or not _names_values(value):
            made.append(new)
            continue
        before: Block = []
        read = [*ast.walk(node.target)] if isinstance(node, ast.AugAssign) else []
        value = _without_names(node, value, before, read)
        if not isinstance(new, ast.While):
            setattr(new, head, value)
            made += [*before, new]
        elif new.orelse:
            made.append(new)
        else:
            end = ast.copy_location(ast.UnaryOp(ast.Not(), value), value)
            stop = ast.If(end, [ast.copy_location(ast.Break(), node)], [])
            new.test = ast.copy_location(ast.Constant(True), node)
            new.body = [*before, ast.copy_location(stop, node), *new.body]
            made.append(new)
    return made


def _names_values(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node))


def _without_names(
    place: ast.stmt, node: ast.expr, before: Block, read: list[ast.AST]
) -> ast.expr:
    """An expression of which assignment expressions move to ``before``.

    ``read``: what the statement evaluates before the expression.  Operands that a
    condition may skip stay as they are.
    """
    if not _names_values(node):
        read += ast.walk(node)
        return node
    new = copy(node)
    if isinstance(new, ast.NamedExpr):
        own: list[ast.AST] = []
        new.value = _without_names(place, new.value, before, own)
        is_known = not any(isinstance(n, ast.Call) for n in read) and not (
            any(isinstance(n, ast.Call) for n in own)
            and any(isinstance(n, ast.Subscript) for n in read)
        )
        is_read = any(isinstance(n, ast.Name) and n.id == new.target.id for n in read)
        if not is_known or is_read or _names_values(new.value):
            return node
        before.append(_assigned(place, new.target.id, new.value))
        result = _name(node, new.target.id)
        read += (result, *own)
        return result
    last, count = _ALWAYS.get(type(node), ("", 0))
    for name, part in ast.iter_fields(node):
        parts = cast("list[Any]", part) if isinstance(part, list) else [part]
        done = parts[:count] if name == last else parts
        found: list[Any] = [
            _without_names(place, p, before, read) if isinstance(p, ast.expr) else p
            for p in done
        ]
        found += parts[len(done) :]
        setattr(new, name, found if isinstance(part, list) else found[0])
        if name == last:
            break
    read.append(node)
    return new


_HEADS: dict[type[ast.stmt], str] = {
    ast.If: "test",
    ast.While: "test",
    ast.For: "iter",
    ast.Assert: "test",
}
"""The expression that a statement evaluates first, if it is not its ``value``."""

_ALWAYS: dict[type[ast.expr], tuple[str, int]] = {
    ast.BoolOp: ("values", 1),
    ast.Compare: ("comparators", 1),
    **dict.fromkeys((ast.IfExp, ast.Lambda), ("body", 0)),
    **dict.fromkeys((ast.ListComp, ast.GeneratorExp), ("elt", 0)),
}
"""The field from whose count of parts on an expression may skip its operands."""


def _is_endless(node: ast.For | ast.While) -> bool:
    """Whether only a ``return`` ends a loop."""
    return (
        isinstance(node, ast.While)
        and isinstance(node.test, ast.Constant)
        and bool(node.test.value)
        and not _breaks(node.body)
    )


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))


def _is_range(node: ast.For) -> bool:
    call = node.iter
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("range", RANGE)
    )


def range_of(node: ast.For, refuse: Refuse) -> tuple[ast.expr, ast.expr, ast.expr]:
    """Start, stop and step of ``for ... in range(...)``."""
    call = node.iter
    is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    arguments = call.args if is_range and isinstance(call, ast.Call) else []
    is_known = is_range and ast.unparse(node.iter).startswith(("range(", RANGE))
    if (
        not is_known
        or not 1 <= len(arguments) <= 3
        or not isinstance(node.target, ast.Name)
    ):
        hint = "Count with `for i in range(n)`, and index the array with `i`"
        what = f"`for {ast.unparse(node.target)} in {ast.unparse(node.iter)}`"
        raise refuse(node, what, hint)
    zero, one = (ast.copy_location(ast.Constant(n), node) for n in (0, 1))
    if len(arguments) == 1:
        return zero, arguments[0], one
    return arguments[0], arguments[1], (arguments[2:] or [one])[0]


def _number(node: ast.expr) -> int:
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return 0
    return found if type(found) is int else 0


def _name(place: ast.AST, name: str) -> ast.expr:
    return ast.copy_location(ast.Name(name, ast.Load()), place)  # type: ignore[arg-type]


def _unset(place: ast.stmt, like: ast.expr | None) -> ast.expr:
    """`UNSET`, or a tuple of it in the form of another tuple."""
    if not isinstance(like, ast.Tuple):
        return _name(place, UNSET_NAME)
    return ast.Tuple([_unset(place, part) for part in like.elts], ast.Load())


def _reshaped_name(target: ast.expr) -> ast.Name | None:
    """The variable whose shape a target is."""
    if not isinstance(target, ast.Attribute) or target.attr != "shape":
        return None
    return target.value if isinstance(target.value, ast.Name) else None


def _split(node: ast.Assign) -> list[ast.Assign]:
    """``a, b = x, y`` in sequence, if nothing is called and ``y`` does not read a."""
    (target, *others), value = node.targets, node.value
    if others or not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return [node]
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    if not len(names) == len(target.elts) == len(value.elts):
        return [node]
    inner = [[*ast.walk(part)] for part in value.elts]
    read = [{n.id for n in nodes if isinstance(n, ast.Name)} for nodes in inner]
    calls = any(isinstance(n, ast.Call | ast.Starred) for own in inner for n in own)
    later = (name in own for n, name in enumerate(names) for own in read[n + 1 :])
    if calls or any(later):
        return [node]
    return [_assigned(node, n, v) for n, v in zip(names, value.elts, strict=True)]


def _branched(node: ast.Assign) -> ast.stmt:
    """``x = a if test else b`` as a branch, whose arms may be arrays."""
    target, *others = node.targets
    chosen = node.value
    if others or not (isinstance(target, ast.Name) and isinstance(chosen, ast.IfExp)):
        return node
    arms = (
        [_branched(_assigned(node, target.id, v))] for v in (chosen.body, chosen.orelse)
    )
    return ast.copy_location(ast.If(chosen.test, *arms), node)


def _assigned(place: ast.stmt, target: str | ast.expr, value: ast.expr) -> ast.Assign:
    to = ast.Name(target, ast.Store()) if isinstance(target, str) else target
    made = ast.copy_location(ast.Assign([to], value), place)
    return ast.fix_missing_locations(made)


def _if(place: ast.If, test: ast.expr, body: Block, other: Block) -> ast.stmt:
    return ast.copy_location(
        ast.If(test, body or [ast.copy_location(ast.Pass(), place)], other), place
    )


def _followed(arm: Block, rest: Block) -> Block:
    """An arm followed by the rest of the block, unless the arm jumps."""
    return [*arm, *deepcopy(rest)]


def _jumps(node: ast.stmt) -> bool:
    """Whether a path through a branch ends in a jump."""
    if isinstance(node, ast.Return | ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.If):
        return any(map(_jumps, (*node.body, *node.orelse)))
    if isinstance(node, ast.For | ast.While):
        return any(isinstance(inner, ast.Return) for inner in ast.walk(node))
    return False


def _breaking(block: Block, flag: str) -> Block:
    """A loop's body that clears a flag before each ``break`` of this loop."""
    made: Block = []
    for node in block:
        if isinstance(node, ast.Break):
            made += [_assigned(node, flag, ast.Constant(False)), node]
        elif isinstance(node, ast.If):
            arms = (_breaking(arm, flag) for arm in (node.body, node.orelse))
            made.append(_if(node, node.test, *arms))
        else:
            made.append(node)
    return made


def _breaks(block: Iterable[ast.stmt]) -> bool:
    """Whether a ``break`` in the body ends this loop."""
    return any(
        isinstance(node, ast.Break)
        or (isinstance(node, ast.If) and _breaks((*node.body, *node.orelse)))
        for node in block
    )
