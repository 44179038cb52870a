"""Calls: what is called, and with which arguments."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpucodegen.python.translation import functions
from gpucodegen.python.translation.context import Bound, Context
from gpucodegen.python.values.arrays import (
    Lazy,
    View,
)
from gpucodegen.python.values.elementwise import ROWS
from gpucodegen.python.values.types import of_annotation

Rule = Callable[..., Bound]


def call(c: Context, evaluate: Any, node: ast.Call) -> Bound:
    """The value of a call."""
    if any(isinstance(a, ast.Starred) for a in node.args) or any(
        k.arg is None for k in node.keywords
    ):
        raise c.refuse(node, "`*` and `**` in a call", "Pass the arguments one by one")
    function, own = _called(c, evaluate, node)
    arguments = own + [evaluate(c, a) for a in node.args]
    named = {str(k.arg): evaluate(c, k.value) for k in node.keywords}
    c.at(node)
    what = f"`{ast.unparse(node.func)}`"
    if isinstance(function, np.ufunc) and function in ROWS:
        return functions.of_numbers(c, node, function, arguments, named)
    if _is_jit(function):
        return c.callees.call(c, node, function, _in_order(function, arguments, named))
    kind = of_annotation(function) if isinstance(function, type) else None
    if kind is not None:
        return functions.converted(c, node, kind, arguments)
    rule = functions.FUNCTIONS.get(function) if callable(function) else None
    if rule is None:
        raise c.refuse(node, f"a call of {what}", _advice(function))
    try:
        with c.operands(node, what, arguments):
            return rule(c, node, *arguments, **named)
    except TypeError as problem:
        if "argument" not in str(problem):
            raise
        hint = "Leave the other arguments out"
        raise c.refuse(node, f"these arguments of {what}", hint) from problem


def _called(c: Context, evaluate: Any, node: ast.Call) -> tuple[Any, list[Bound]]:
    """What is called, and the array whose method it is."""
    if isinstance(node.func, ast.Attribute):
        base = evaluate(c, node.func.value)
        if isinstance(base, View | Lazy):
            if node.func.attr not in functions.METHODS:
                hint = f"Arrays have {', '.join(sorted(functions.METHODS))}"
                raise c.refuse(node, f"the method '{node.func.attr}'", hint)
            return functions.METHODS[node.func.attr], [base]
    return evaluate(c, node.func), []


def _is_jit(function: object) -> bool:
    return hasattr(function, "py_func") and hasattr(function, "parameters")


def _in_order(
    function: Any, arguments: list[Bound], named: Mapping[str, Bound]
) -> list[Bound]:
    bound = function.signature.bind(*arguments, **named)
    bound.apply_defaults()
    from gpucodegen.python.translation.context import frozen

    return [frozen(value) for value in bound.arguments.values()]


def _advice(function: object) -> str:
    name = getattr(function, "__name__", "")
    if function is builtins.sum:
        return "Use numpy.sum"
    if function is builtins.print:
        return "Print outside of the function"
    if callable(function) and type(function).__name__ == "function" and name:
        module = getattr(function, "__module__", "") or ""
        if not module.startswith(("numpy", "math")):
            return f"Decorate '{name}' with gpucodegen.jit"
    return "Write it as loops, or see docs/python.md for the functions that there are"
