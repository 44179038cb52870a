"""Comprehensions over items whose number only the call knows, as arguments.

``np.array([f(x) for x in a])`` is a loop that fills a new array; ``sum``, ``any`` and
``all`` of a generator are loops that carry a number. The loop is the body of a nested
function that is inlined, so the rules of loops hold for it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpucodegen.python import iterables
from gpucodegen.python.arrays import Lazy, View, allocated
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.elementwise import apply
from gpucodegen.python.scalars import Scalar, known
from gpucodegen.python.structured_control_flow import assignment, loaded
from gpucodegen.python.types import dtype_of

Comprehension = ast.ListComp | ast.GeneratorExp
Evaluate = Callable[[Context, ast.expr], Bound]

_ITEMS, _FOUND, _PLACE, _NEW = "items.", "found.", "place.", "new."
WHOLE: frozenset[Any] = frozenset({builtins.sum, builtins.any, builtins.all, np.stack})
"""Functions whose result replaces a call with such an argument alone."""

_TAKE_ARRAYS: frozenset[Any] = frozenset(
    {np.array, np.asarray, np.sum, np.prod, np.mean, np.max, np.min, np.std, np.var}
    | {np.median, np.any, np.all, np.argmax, np.argmin, np.cumsum, np.sort}
)


def argument(
    c: Context, evaluate: Evaluate, bind: Any, node: ast.Call, function: Bound
) -> Bound | None:
    """What a call has in place of a comprehension of items whose number is not known.

    For functions in `WHOLE` it is the result. None for other arguments.
    """
    given = node.args[0] if node.args else None
    if not isinstance(given, Comprehension):
        return None
    if function not in _TAKE_ARRAYS and function not in WHOLE:
        return None
    first, *others = given.generators
    with c.block("other"):
        items = evaluate(c, first.iter)
        kinds = iterables.Range | iterables.Zipped | View | Lazy
        if not isinstance(items, kinds) or iterables.known_items(c, node, items):
            return None
    if function is not np.stack and function in WHOLE:
        return _number(c, given, function)
    if others or first.ifs:
        hint = "Fill an array of numpy.empty in a loop"
        raise c.refuse(given, "a list of an unknown number of items", hint)
    return _array(c, evaluate, bind, given)


def _array(c: Context, evaluate: Evaluate, bind: Any, node: Comprehension) -> View:
    """A new array with an item of each iteration; all have the shape of the first."""
    (generator,) = node.generators
    element = node.elt
    if isinstance(element, ast.List | ast.Tuple):
        element = ast.copy_location(ast.Call(loaded(node, _NEW), [element], []), node)
    items = evaluate(c, generator.iter)
    count = apply(c.b, np.maximum, [iterables.length(c, node, items), known(0)])
    if isinstance(items, iterables.Range):
        items = replace(items, count=count)
    saved = dict(c.variables)
    with c.block("other") as trial:
        bind(c, generator.target, iterables.item(c, node, items, known(0)))
        c.variables[_NEW] = np.array
        item = evaluate(c, element)
    c.variables = saved
    if not isinstance(item, Scalar | View | Lazy):
        raise c.wrong(node, "a list", [item], "Give numbers or arrays of one shape")
    extents = () if isinstance(item, Scalar) else item.extents
    if any(e.value is not None and trial.defines(e.value) for e in extents):
        hint = "Fill an array of numpy.empty in a loop"
        raise c.refuse(node, "items whose shape may differ", hint)
    kind = item.kind if isinstance(item, Scalar) else item.dtype
    made = allocated(c.b, dtype_of(kind), (count, *extents))
    numbered = iterables.Zipped((iterables.Range(known(0), known(1), None), items))
    target = ast.Tuple([ast.Name(_PLACE, ast.Store()), generator.target], ast.Store())
    place = ast.Subscript(loaded(node, _FOUND), loaded(node, _PLACE), ast.Store())
    body = [assignment(node, place, element)]
    loop = ast.For(target, loaded(node, _ITEMS), body, [])
    _inlined(c, node, [loop], {_ITEMS: numbered, _FOUND: made, _NEW: np.array})
    return made


def _number(c: Context, node: Comprehension, function: Any) -> Bound:
    """``sum``, ``any`` or ``all``: the iterations in order, the latter with `break`."""
    is_sum, stops_at = function is builtins.sum, function is builtins.any
    item = node.elt if stops_at or is_sum else ast.UnaryOp(ast.Not(), node.elt)
    added = ast.BinOp(loaded(node, _FOUND), ast.Add(), node.elt)
    start = ast.Constant(0 if is_sum else not stops_at)
    if is_sum:
        body: list[ast.stmt] = [assignment(node, _FOUND, added)]
    else:
        found = assignment(node, _FOUND, ast.Constant(stops_at))
        body = [ast.If(item, [found, ast.Return(loaded(node, _FOUND))], [])]
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = [ast.If(test, body, [])]
        body = [ast.For(generator.target, generator.iter, body, [])]
    result = ast.Return(loaded(node, _FOUND))
    return _inlined(c, node, [assignment(node, _FOUND, start), *body, result], {})


def _inlined(
    c: Context, node: ast.expr, body: Sequence[ast.stmt], variables: dict[str, Bound]
) -> Bound:
    from gpucodegen.python.expressions import closure

    saved = dict(c.variables)
    parameters = ast.arguments([], [], None, [], [], None, [])
    made = ast.FunctionDef("comprehension", parameters, list(body), [])
    c.variables |= variables
    tree = ast.fix_missing_locations(ast.copy_location(made, node))
    found = c.callees.inline(c, node, closure(c, tree, tree.name), ((), {}))
    c.variables = saved
    return found
