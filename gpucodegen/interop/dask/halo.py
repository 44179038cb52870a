"""What a block of a grid needs around it, from the analysis of the function.

Comes in: a function that computes a grid from grids.  Goes out: how far its values
travel in a call, as `gpucodegen.tiling.proof.halos` finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpucodegen import errors
from gpucodegen.calls.function import Function
from gpucodegen.interop.functional import Functional, Source
from gpucodegen.tiling.proof.halos import Reach, Unbounded, reach_of


def reach(function: Function, arguments: Sequence[Any] = ()) -> Reach:
    """How far the one grid that comes out reaches into those that go in.

    ``arguments``: those of a call, of which numbers count: of steps, for instance.
    Raises NoStencil.

    >>> import gpucodegen as gcg
    >>> reach(gcg.compile('''
    ... func.func @blur(%a: memref<?xf32>, %b: memref<?xf32>) {
    ...   %c0 = arith.constant 0 : index
    ...   %n = memref.dim %a, %c0 : memref<?xf32>
    ...   affine.for %i = 2 to affine_map<()[n] -> (n - 2)>()[%n] {
    ...     %v = affine.load %a[%i - 2] : memref<?xf32>
    ...     %w = affine.load %a[%i + 1] : memref<?xf32>
    ...     %s = arith.addf %v, %w : f32
    ...     affine.store %s, %b[%i] : memref<?xf32>
    ...   }
    ...   return
    ... }
    ... ''', target="cpu").blur)
    Reach(cells=((-2, 1),), border=(2,))
    """
    sources = Functional(function).sources()
    try:
        return _reach(function, sources[place_of(function, sources)], arguments)
    except Unbounded as problem:
        raise errors.NoStencil(function=function.name, reason=str(problem)) from None


def place_of(function: Function, sources: Sequence[Source]) -> int:
    """Which result is the grid: the first argument, or the only one.

    Raises NoStencil.
    """
    arguments = [source.argument for source in sources]
    if 0 in arguments:
        return arguments.index(0)
    if len(sources) != 1:
        reason = f"{len(sources)} arrays come out of it, and none is its first argument"
        raise errors.NoStencil(function=function.name, reason=reason)
    return 0


def _reach(function: Function, source: Source, arguments: Sequence[Any]) -> Reach:
    from gpucodegen.compiling.pipeline import front_passes
    from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
    from gpucodegen.passes.framework.base import run_pipeline
    from gpucodegen.passes.framework.reachable import reachable
    from gpucodegen.tiling.model.relations import model

    name, module = function.name, function.source.module
    types = (None,) * len(function.signature.parameters)
    passes = [p for p in front_passes(name, types) if p.name not in CHECKS]
    affine = run_pipeline(reachable(module, name), passes)
    operation = affine.functions[name]
    lifted = lift_function(operation, Surroundings.of(affine))
    block = operation.regions[0].blocks[0]
    if source.argument is not None:
        out = block.arguments[source.argument]
    else:
        assert source.result is not None
        out = block.operations[-1].operands[source.result]
    names = {value: array for array, value in lifted.arrays.items()}
    if out not in names:
        raise Unbounded("its result is no array that it computes")
    rank = len(function.signature.parameters[0].shape or ())
    pairs = zip(block.arguments, function.signature.parameters, strict=True)
    grids = [names[v] for v, p in pairs if v in names and len(p.shape or ()) == rank]
    places = {value: n for n, value in enumerate(block.arguments)}
    numbers = {
        parameter: int(arguments[places[value]])
        for parameter, value in lifted.parameters.items()
        if places.get(value, len(arguments)) < len(arguments)
    }
    if not grids:
        raise Unbounded("no grid goes in")
    shapes = {array.name: array.shape for array in lifted.scop.arrays}
    first, *others = (shapes[name] for name in grids)
    alike = (f"{a} = {b}" for one in others for a, b in zip(first, one, strict=True))
    scop = replace(lifted.scop, context=(*lifted.scop.context, *alike))
    return reach_of(model(scop), grids, names[out], numbers)


CHECKS = frozenset({"check-bounds", "check-reads", "check-effects"})
"""Passes that only warn or refuse: a call makes them."""
