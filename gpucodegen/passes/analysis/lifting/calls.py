"""Access relations of calls: the callee's accesses, applied to the call's operands.

Declared effects (`gpucodegen.dialects.shared.effects`) are used once the body is proven
to keep to them.  Otherwise the body is lifted as if it were inlined, so its indices are
those of this call, and its loops become iterators of the accesses
(`gpucodegen.tiling.model.summaries`).  Functions without a body, recursive functions,
and functions too large to lift touch all elements of the buffers they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpucodegen.dialects.func import Function, named_function
from gpucodegen.dialects.shared.effects import Effect, declared, is_number
from gpucodegen.ir.attributes import AffineMapAttr, IntegerSetAttr
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import index_values
from gpucodegen.passes.analysis.lifting.accesses import (
    Accesses,
    accesses_of,
    is_memref,
    whole,
)
from gpucodegen.passes.analysis.lifting.environment import (
    Environment,
    Text,
    View,
    constraint_texts,
    map_texts,
)
from gpucodegen.passes.analysis.lifting.module_context import LiftingWalk
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import Access, AccessKind
from gpucodegen.tiling.model.summaries import summary


def declared_accesses(
    effects: Sequence[Effect],
    operands: Sequence[Value],
    op: Operation,
    env: Environment,
) -> Accesses:
    """The accesses of a function with declared effects to a call's operands."""
    numbers = [env.text(value) for value in operands if is_number(value.type)]
    return [
        access
        for effect in effects
        for access in _accesses(effect, operands[effect.argument], numbers, op, env)
    ]


def _accesses(
    effect: Effect,
    memref: Value,
    numbers: Sequence[Text],
    op: Operation,
    env: Environment,
) -> Accesses:
    kind = AccessKind.WRITE if effect.writes else AccessKind.READ
    cells = _cells(effect, memref, numbers, env)
    if cells is None:
        return whole(env, op, memref, (kind,), must=effect.certain)
    array, indices = env.resolve(memref, cells.indices)
    return [
        Access(
            array.name,
            kind,
            indices,
            span=tuple((name, None) for name in cells.free),
            where=cells.where,
            must=effect.certain,
            listed=False,
            loc=op.location,
        )
    ]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Indices into the buffer, over free iterators for which ``where`` holds."""

    indices: tuple[Text, ...]
    free: tuple[str, ...] = ()
    where: tuple[str, ...] = ()


def _cells(
    effect: Effect, memref: Value, numbers: Sequence[Text], env: Environment
) -> _Cells | None:
    """The relation; None stands for every cell."""
    ty, relation = memref.type, effect.relation
    if not isinstance(ty, MemRefType):
        return None
    extents = [_extent(memref, ty, dimension, env) for dimension in range(ty.rank)]
    if isinstance(relation, AffineMapAttr):
        free = _fresh(env, "any", relation.map.num_dims - len(numbers))
        texts = map_texts(relation.map, (*numbers, *free, *extents))
        return _Cells(texts, free, _inside(texts, extents) if free else ())
    if isinstance(relation, IntegerSetAttr):
        free = _fresh(env, "cell", ty.rank)
        found = (
            constraint_texts([constraint], (*numbers, *free), extents)
            for constraint in relation.set.constraints
        )
        known = [text for texts in found if texts is not None for text in texts]
        return _Cells(free, free, (*known, *_inside(free, extents)))
    return None


def _fresh(env: Environment, hint: str, count: int) -> tuple[str, ...]:
    return tuple(env.names.fresh(hint) for _ in range(count))


def _inside(indices: Sequence[Text], extents: Sequence[Text]) -> tuple[str, ...]:
    """Constraints that indices lie within the extents."""
    pairs = zip(indices, extents, strict=True)
    return tuple(
        f"{index} >= 0" if extent is None else f"0 <= {index} < {extent}"
        for index, extent in pairs
        if index is not None
    )


def _extent(memref: Value, ty: MemRefType, dimension: int, env: Environment) -> Text:
    extent = ty.shape[dimension]
    if extent is not None:
        return str(extent)
    return None if memref in env.views else env.extent(memref, dimension)


CallAccesses = tuple[Access, ...]
LIMIT = 20_000
"""Most operations of callees in one lifting; nested calls may be many."""


def accesses_of_call(op: Operation, walk: LiftingWalk) -> CallAccesses:
    """The accesses of a ``func.call``; known results are bound."""
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


def _summarised(op: Operation, callee: Operation, walk: LiftingWalk) -> CallAccesses:
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


def _returned(op: Operation, copy: Operation, walk: LiftingWalk) -> list[Value]:
    """Bind the results of the call; returns the buffers that leave the callee.

    With one return the results are its operands, with several any of them.
    """
    returns = [o for o in copy.walk() if o.name == "func.return"]
    buffers = [v for o in returns for v in o.operands if is_memref(v)]
    if len(returns) != 1:
        _join(op.results, buffers, walk)
        return buffers
    for result, value in zip(op.results, returns[0].operands, strict=True):
        if is_memref(result):
            walk.env.views[result] = index_values.same(value, result)
        elif value in walk.env.texts:
            walk.env.texts[result] = walk.env.texts[value]
    return buffers


def _join(results: Iterable[Value], values: Iterable[Value], walk: LiftingWalk) -> None:
    """Let each memref result show any of the memrefs among the values."""
    memory = {value: value.renewed() for value in results if is_memref(value)}
    if memory:
        walk.env.views.update((v, View(base)) for v, base in memory.items())
        roots = {walk.env.root(value) for value in values if is_memref(value)}
        walk.env.joined.append(roots.union(memory.values()))


def made_in(function: Operation) -> set[Value]:
    """Values defined in a function's body, without its arguments."""
    inside = {v for op in function.walk() for v in op.defined}
    return inside - set(Function(function).arguments)


def _hidden(callee: Operation, walk: LiftingWalk) -> Iterator[Access]:
    """Accesses of a callee to memory that is no argument: globals and the outside."""
    env = walk.env
    for op in _reachable(callee, walk):
        if op.name == "memref.get_global":
            yield from whole(env, op, index_values.global_buffer(op, env), must=False)
    yield env.outside_access(callee.location)


def _reachable(callee: Operation, walk: LiftingWalk) -> Iterator[Operation]:
    """The operations of a function and of all it calls."""
    work, seen = [callee], {callee}
    while work:
        for op in work.pop().walk():
            yield op
            called = walk.surroundings.functions.get(named_function(op))
            if called is not None and called not in seen:
                seen.add(called)
                work.append(called)
