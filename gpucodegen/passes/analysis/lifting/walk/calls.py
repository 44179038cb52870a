"""What a call reads and writes: the accesses of its callee, on the call's operands.

Declared effects count (`gpucodegen.dialects.shared.effects`), once the body is known to
keep to them. Otherwise the body is lifted as if it stood in place of the call, so that
its indices are those of this call; its loops become iterators of the accesses
(`gpucodegen.tiling.model.summary`). A function without a body, one that calls itself,
and one too large to look at touch all the buffers they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from gpucodegen.dialects.func import Function, named_function
from gpucodegen.dialects.shared.effects import declared
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.passes.analysis.lifting.environment import View
from gpucodegen.passes.analysis.lifting.values import views
from gpucodegen.passes.analysis.lifting.values.accesses import (
    accesses_of,
    is_memref,
    whole,
)
from gpucodegen.passes.analysis.lifting.walk.effects import declared_accesses
from gpucodegen.tiling.model.scop import Access
from gpucodegen.tiling.model.summary import summary

if TYPE_CHECKING:
    from gpucodegen.passes.analysis.lifting.walk.walker import Lifter

Accesses = tuple[Access, ...]
LIMIT = 20_000
"""Operations of callees that one lifting looks at; calls of calls may be many."""


def accesses_of_call(op: Operation, lifter: Lifter) -> Accesses:
    """The accesses of a ``func.call``; its results are bound to what is known."""
    name = named_function(op)
    callee = lifter.surroundings.functions.get(name)
    effects = None if callee is None else declared(callee)
    if effects is not None:
        return tuple(declared_accesses(effects, op.operands, op, lifter.env))
    if callee is None or Function(callee).is_external:
        return tuple(accesses_of(op, lifter.env) or ())
    size = sum(1 for _ in callee.walk())
    if name in lifter.active or lifter.env.summarised + size > LIMIT:
        _join(op.results, op.operands, lifter)
        return (*(accesses_of(op, lifter.env) or ()), *_hidden(callee, lifter))
    lifter.env.summarised += size
    return _summarised(op, callee, lifter)


def _summarised(op: Operation, callee: Operation, lifter: Lifter) -> Accesses:
    copy = clone(callee)
    given = zip(Function(copy).arguments, op.operands, strict=True)
    copy = substitute_values(copy, dict(given))
    body = lifter.inside(Function(callee).name).lifted(copy)
    kept = {lifter.env.root(value) for value in _returned(op, copy, lifter)}
    local = {
        array.name
        for value in made_in(copy) - kept
        if (array := lifter.env.arrays.pop(value, None))
    }
    found = summary(body, local.__contains__)
    return tuple(replace(access, loc=op.location) for access in found)


def _returned(op: Operation, copy: Operation, lifter: Lifter) -> list[Value]:
    """Bind the results of the call; the buffers that leave the callee.

    With one return the results are what it returns, with several any of them.
    """
    returns = [o for o in copy.walk() if o.name == "func.return"]
    buffers = [v for o in returns for v in o.operands if is_memref(v)]
    if len(returns) != 1:
        _join(op.results, buffers, lifter)
        return buffers
    for result, value in zip(op.results, returns[0].operands, strict=True):
        if is_memref(result):
            lifter.env.views[result] = views.same(value, result)
        elif value in lifter.env.texts:
            lifter.env.texts[result] = lifter.env.texts[value]
    return buffers


def _join(results: Iterable[Value], values: Iterable[Value], lifter: Lifter) -> None:
    """The memrefs among the results show any of the memrefs among the values."""
    memory = {value: value.renewed() for value in results if is_memref(value)}
    if memory:
        lifter.env.views.update((v, View(base)) for v, base in memory.items())
        roots = {lifter.env.root(value) for value in values if is_memref(value)}
        lifter.env.joined.append(roots.union(memory.values()))


def made_in(function: Operation) -> set[Value]:
    """Values of a function's body, its arguments left out."""
    inside = {v for op in function.walk() for v in op.results}
    blocks = (b for op in function.walk() for r in op.regions for b in r.blocks)
    inside.update(v for block in blocks for v in block.arguments)
    return inside - set(Function(function).arguments)


def _hidden(callee: Operation, lifter: Lifter) -> Iterator[Access]:
    """All that a function can reach without being given it: globals, the outside."""
    env = lifter.env
    for op in _reachable(callee, lifter):
        if op.name == "memref.get_global":
            yield from whole(env, op, views.global_buffer(op, env), must=False)
    yield env.outside_access(callee.location)


def _reachable(callee: Operation, lifter: Lifter) -> Iterator[Operation]:
    """The operations of a function and of all it calls."""
    work, seen = [callee], {callee}
    while work:
        for op in work.pop().walk():
            yield op
            called = lifter.surroundings.functions.get(named_function(op))
            if called is not None and called not in seen:
                seen.add(called)
                work.append(called)
