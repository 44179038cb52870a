"""What a call reads and writes: the accesses of its callee, on the call's operands.

Declared effects count (`gpucodegen.dialects.shared.effects`), once the body is known to
keep to them. Otherwise the body is lifted as if it stood in place of the call, so that
its indices are those of this call; its loops become iterators of the accesses
(`gpucodegen.tiling.model.summaries`). A function without a body, one that calls itself,
and one too large to look at touch all the buffers they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

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
from gpucodegen.passes.analysis.lifting.walk.walk import Walk
from gpucodegen.tiling.model.scop import Access
from gpucodegen.tiling.model.summaries import summary

Accesses = tuple[Access, ...]
LIMIT = 20_000
"""Operations of callees that one lifting looks at; calls of calls may be many."""


def accesses_of_call(op: Operation, walk: Walk) -> Accesses:
    """The accesses of a ``func.call``; its results are bound to what is known."""
    name = named_function(op)
    callee = walk.surroundings.functions.get(name)
    effects = None if callee is None else declared(callee)
    if effects is not None:
        return tuple(declared_accesses(effects, op.operands, op, walk.env))
    if callee is None or Function(callee).is_external:
        return tuple(accesses_of(op, walk.env) or ())
    size = sum(1 for _ in callee.walk())
    if name in walk.active or walk.env.summarised + size > LIMIT:
        _join(op.results, op.operands, walk)
        return (*(accesses_of(op, walk.env) or ()), *_hidden(callee, walk))
    walk.env.summarised += size
    return _summarised(op, callee, walk)


def _summarised(op: Operation, callee: Operation, walk: Walk) -> Accesses:
    copy = clone(callee)
    given = zip(Function(copy).arguments, op.operands, strict=True)
    copy = substitute_values(copy, dict(given))
    body = walk.inside(Function(callee).name).lifted(copy)
    kept = {walk.env.root(value) for value in _returned(op, copy, walk)}
    local = {
        array.name
        for value in made_in(copy) - kept
        if (array := walk.env.arrays.pop(value, None))
    }
    found = summary(body, local.__contains__)
    return tuple(replace(access, loc=op.location) for access in found)


def _returned(op: Operation, copy: Operation, walk: Walk) -> list[Value]:
    """Bind the results of the call; the buffers that leave the callee.

    With one return the results are what it returns, with several any of them.
    """
    returns = [o for o in copy.walk() if o.name == "func.return"]
    buffers = [v for o in returns for v in o.operands if is_memref(v)]
    if len(returns) != 1:
        _join(op.results, buffers, walk)
        return buffers
    for result, value in zip(op.results, returns[0].operands, strict=True):
        if is_memref(result):
            walk.env.views[result] = views.same(value, result)
        elif value in walk.env.texts:
            walk.env.texts[result] = walk.env.texts[value]
    return buffers


def _join(results: Iterable[Value], values: Iterable[Value], walk: Walk) -> None:
    """The memrefs among the results show any of the memrefs among the values."""
    memory = {value: value.renewed() for value in results if is_memref(value)}
    if memory:
        walk.env.views.update((v, View(base)) for v, base in memory.items())
        roots = {walk.env.root(value) for value in values if is_memref(value)}
        walk.env.joined.append(roots.union(memory.values()))


def made_in(function: Operation) -> set[Value]:
    """Values of a function's body, its arguments left out."""
    inside = {v for op in function.walk() for v in op.results}
    blocks = (b for op in function.walk() for r in op.regions for b in r.blocks)
    inside.update(v for block in blocks for v in block.arguments)
    return inside - set(Function(function).arguments)


def _hidden(callee: Operation, walk: Walk) -> Iterator[Access]:
    """All that a function can reach without being given it: globals, the outside."""
    env = walk.env
    for op in _reachable(callee, walk):
        if op.name == "memref.get_global":
            yield from whole(env, op, views.global_buffer(op, env), must=False)
    yield env.outside_access(callee.location)


def _reachable(callee: Operation, walk: Walk) -> Iterator[Operation]:
    """The operations of a function and of all it calls."""
    work, seen = [callee], {callee}
    while work:
        for op in work.pop().walk():
            yield op
            called = walk.surroundings.functions.get(named_function(op))
            if called is not None and called not in seen:
                seen.add(called)
                work.append(called)
