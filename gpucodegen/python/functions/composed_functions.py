"""Functions of NumPy and ``math`` that are composed of others: programs in `composed`.

A call of such a function is inlined. Constants, dtypes and axes are known there, so a
program branches on them; errors belong to the user's line.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from gpucodegen.ir.locations import FileLoc
from gpucodegen.python.arrays import lazy
from gpucodegen.python.composed import (
    calculus,
    checks,
    construction,
    python_math,
    selection,
    statistics,
)
from gpucodegen.python.context import Bound, Closure, Context
from gpucodegen.python.functions.arguments import (
    array_given,
    axis_given,
    constant_given,
    number_given,
)
from gpucodegen.python.scalars import known
from gpucodegen.python.source import names_of, read

Rule = Callable[..., Bound]
MODULES = (calculus, construction, selection, statistics)


def is_composed(function: object) -> bool:
    """Whether calls of a function are inlined."""
    package = calculus.__name__.rpartition(".")[0]
    is_function = isinstance(function, FunctionType)
    return is_function and (function.__module__ or "").startswith(package)


@functools.cache
def closure_of(function: Any) -> Closure:
    source = replace(read(function), place=FileLoc(__file__, 1, 1))
    own = inspect.signature(function)
    bare = [
        p.replace(annotation=inspect.Parameter.empty) for p in own.parameters.values()
    ]
    signature = inspect.Signature(bare)
    return Closure(function.__name__, signature, source, names_of(function))


def _inlined(function: Any) -> Rule:
    def rule(c: Context, node: ast.AST, *values: Bound, **named: Bound) -> Bound:
        return c.callees.inline(c, node, closure_of(function), (values, named))

    return rule


def _constant(c: Context, node: ast.AST, value: Bound, what: Bound) -> Bound:
    constant_given(c, node, value, what)
    return value


def _axis(c: Context, node: ast.AST, axis: Bound, ndim: Bound) -> Bound:
    rank = constant_given(c, node, ndim, "a rank")
    return known(axis_given(c, node, rank, axis))


def _last_diagonal(c: Context, node: ast.AST, squares: Bound) -> Bound:
    whole = lazy(array_given(c, node, squares))
    last = len(whole.extents) - 1
    reads = tuple(
        replace(read, follows=tuple(last - 1 if d == last else d for d in read.follows))
        for read in whole.reads
    )
    return replace(whole, extents=whole.extents[:-1], reads=reads)


def _is_one(c: Context, node: ast.AST, extent: Bound) -> Bound:
    return known(number_given(c, node, extent).mixed() == 1)


FUNCTIONS: dict[Any, Rule] = {
    **{
        getattr(np, name): _inlined(function)
        for module in MODULES
        for name, function in vars(module).items()
        if is_composed(function) and hasattr(np, name)
    },
    **{
        getattr(math, name): _inlined(function)
        for name, function in vars(python_math).items()
        if is_composed(function) and hasattr(math, name)
    },
    checks.constant: _constant,
    checks.axis_of: _axis,
    checks.is_one: _is_one,
    checks.last_diagonal: _last_diagonal,
}
"""The functions by those that they replace, whose names they have."""
