"""Arguments so small that the emulated device runs all of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen.program import Program

CELLS = 1 << 15
"""Elements that an array has about, at most."""


def reduced(
    program: Program, name: str, arguments: Sequence[Any]
) -> tuple[Any, ...] | None:
    """Arguments of smaller extents; None where the function's types fix them.

    Numbers of type ``index`` become smaller too, as they may be extents.  Floats are
    random, integers zero.
    """
    from gpucodegen.report.gpu.arguments.extents import OpenExtents
    from gpucodegen.report.gpu.arguments.made_up import HostMemory, made_up
    from gpucodegen.report.sizes import Sizes

    function = program[name]
    parameters = function.signature.parameters
    names = OpenExtents.of(program.module, name, parameters).names
    if not names:
        return None
    rank = max(len(p.shape or ()) for p in parameters)
    most = round(CELLS ** (1 / rank))
    given: dict[str, int] = {}
    for p, argument in zip(parameters, arguments, strict=True):
        if p.shape is None and p.dtype == "index":
            given[p.name] = min(int(argument), most)
        for axis, extent in enumerate(p.shape or ()):
            if extent is None:
                given[names[p.name, axis][-1]] = min(argument.shape[axis], most)
    made = made_up(program.module, function, Sizes(given), HostMemory()).values
    random = np.random.default_rng(0)
    for array in made:
        if getattr(array, "dtype", None) is not None and array.dtype.kind == "f":
            array[...] = random.random(array.shape)
    return made
