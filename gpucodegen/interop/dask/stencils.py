"""Time-stepped stencils on dask arrays, with halos from the dependence analysis.

Input: a function that steps a grid, and a grid in blocks. Output: the grid after some
steps. A task takes a block with its halo, makes several steps, and drops the cells that
these invalidate. `gpucodegen.tiling.proof.halos` computes how far values travel in a
call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.function import Function
from gpucodegen.interop.dask.blocks import Shipped, dtype_of
from gpucodegen.interop.functional import Functional, Source
from gpucodegen.tiling.proof.halos import Halo, Unbounded, halo_of


def halo(function: Function, arguments: Sequence[Any] = ()) -> Halo:
    """The halo of the one output grid in the input grids.

    ``arguments``: those of a call, of which numbers matter, such as the number of
    steps. Raises NoStencil.

    >>> import gpucodegen as gcg
    >>> halo(gcg.compile('''
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
    Halo(cells=((-2, 1),), border=(2,))
    """
    sources = Functional(function).sources()
    try:
        return _halo(function, sources[place_of(function, sources)], arguments)
    except Unbounded as problem:
        raise errors.NoStencil(function=function.name, reason=str(problem)) from None


def place_of(function: Function, sources: Sequence[Source]) -> int:
    """The result that is the grid: the first argument, or the only result.

    Raises NoStencil.
    """
    arguments = [source.argument for source in sources]
    if 0 in arguments:
        return arguments.index(0)
    if len(sources) != 1:
        reason = f"{len(sources)} arrays come out of it, and none is its first argument"
        raise errors.NoStencil(function=function.name, reason=reason)
    return 0


def _halo(function: Function, source: Source, arguments: Sequence[Any]) -> Halo:
    from gpucodegen.compiling.pipeline import front_passes
    from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
    from gpucodegen.passes.framework.base import run_pipeline
    from gpucodegen.passes.framework.functions import reachable
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
    return halo_of(model(scop), grids, names[out], numbers)


CHECKS = frozenset({"check-bounds", "check-reads", "check-effects"})
"""Passes that only warn or refuse, which a call runs anyway."""


class Steps:
    """Several calls of a function on one block and its halo."""

    def __init__(
        self, called: Shipped, count: int, order: Sequence[int], numbers: Sequence[Any]
    ) -> None:
        """``order``: for each argument a grid's index, or -1 for the next number."""
        self.called, self.count = called, count
        self.order, self.numbers = tuple(order), tuple(numbers)

    def __call__(self, state: Any, *others: Any) -> Any:
        """The block after all steps."""
        for _ in range(self.count):
            grids, numbers = (state, *others), iter(self.numbers)
            state = self.called(
                *(next(numbers) if n < 0 else grids[n] for n in self.order)
            )
        return state

    def __dask_tokenize__(self) -> tuple[object, ...]:
        """Identity of the task for dask."""
        shipped = self.called.__dask_tokenize__()
        return *shipped, self.count, self.order, repr(self.numbers)


def stencil(
    function: Function,
    state: Any,
    *others: Any,
    numbers: Sequence[Any] = (),
    steps: int = 1,
    together: int = 1,
) -> Any:
    """Compute a grid after some steps of a function.

    The function takes the grid, further constant grids of its extents, and ``numbers``,
    in the order of its own arguments. It returns the new grid, or writes it into the
    grid itself, or into one more memref after the others, which starts as a copy of the
    grid: elements that it does not write, at the border, keep their values.

    ``together``: steps between two halo exchanges. The halo is as deep as values travel
    in that many steps: `halo` computes it from the accesses and dependences of the
    function. More steps move the same elements less often, and compute some twice.

    Raises NoStencil if values travel along a whole axis, or elements are not treated
    uniformly.
    """
    da: Any = import_module("dask.array")

    if steps < 0 or together < 1:
        hint = "Pass steps >= 0 and together >= 1"
        raise errors.InvalidOption(name="steps", value=(steps, together), hint=hint)
    sources = Functional(function).sources()
    chosen = place_of(function, sources)
    order = _order(function, sources[chosen], 1 + len(others), len(numbers))
    found = halo(function, _with_numbers(order, numbers))
    called, dtype = Shipped.of(function, chosen), dtype_of(function, chosen)
    while steps:
        count = min(steps, together)
        depth = dict(enumerate(found.depth(count)))
        state = da.map_overlap(
            Steps(called, count, order, numbers),
            state,
            *others,
            depth=depth,
            boundary="none",
            dtype=dtype,
            meta=np.empty((0,) * state.ndim, dtype),
        )
        steps -= count
    return state


def _order(function: Function, out: Source, grids: int, numbers: int) -> list[int]:
    """For each argument: the index of its grid, or -1 for a number.

    A written memref without a grid of its own starts as a copy of the first grid.
    """
    order: list[int] = []
    given = 0
    for n, p in enumerate(function.signature.parameters):
        if p.shape is None:
            order.append(-1)
        elif given < grids and not (n == out.argument and n > 0):
            order.append(given)
            given += 1
        else:
            order.append(0)
    if given != grids or order.count(-1) != numbers:
        raise errors.WrongArgumentCount(
            function=function.name,
            expected=len(order),
            actual=grids + numbers,
            signature=str(function.signature),
        )
    return order


def _with_numbers(order: Sequence[int], numbers: Sequence[Any]) -> list[Any]:
    """The arguments of a call that are numbers; None for grids."""
    left = iter(numbers)
    return [next(left) if n < 0 else 0 for n in order]
