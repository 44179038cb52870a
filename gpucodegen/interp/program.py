"""A function of a module on values of the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.interp.control.func import run
from gpucodegen.interp.machine import Machine, Shared
from gpucodegen.ir.recursion import deep_recursion


def interpret(
    module: Module,
    name: str,
    arguments: Sequence[Any],
    handlers: Mapping[str, Callable[..., Any]] | None = None,
    *,
    refuses_nan: bool = False,
    arbitrary: bool = False,
) -> tuple[Any, ...]:
    """The results of a function; buffers among the arguments are changed in place.

    ``refuses_nan``: an operation that makes NaN of numbers raises NanMade.
    ``arbitrary``: fresh memory may be read before it is written, as mapped kernels do
    with elements of vectors that no result depends on; it holds NaN or -1.

    >>> from gpucodegen.parser import parse_module
    >>> text = '''func.func @f(%a: i8) -> i8 {
    ...   %b = arith.addi %a, %a : i8
    ...   return %b : i8
    ... }'''
    >>> interpret(parse_module(text), "f", [100])
    (-56,)
    """
    machine = Machine(
        Shared(module, handlers or {}, refuses_nan=refuses_nan, arbitrary=arbitrary)
    )
    function = module.functions[name]
    try:
        with deep_recursion():
            return run(machine, function, arguments)
    except RecursionError as problem:
        from sys import getrecursionlimit

        depth = getrecursionlimit()
        raise errors.CallsTooDeep(
            function.location, function=name, depth=depth
        ) from problem
