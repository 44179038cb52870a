"""Which threads are lanes of one warp: relations between the instances of statements.

The threads of a block are counted along x, then y, then z; each 32 in that order are a
warp. L is the number of a thread, W = floor(L / 32) its warp, L mod 32 its lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.tiling.machine.gpu.limits import WARP
from gpucodegen.tiling.model.isl import Map
from gpucodegen.tiling.model.relations import Instances, Model, header
from gpucodegen.tiling.model.scop import Loop, Role

ALL_LANES = (1 << WARP) - 1


def same_warp(
    model: Model, a: Instances, b: Instances, lanes: int = ALL_LANES
) -> Map | None:
    """{ x -> y : W(x) = W(y), the lanes of both among ``lanes`` }, of any blocks.

    None where the extents of blocks that decide over it are not known.
    """
    first, second = (_names(i, mark) for i, mark in ((a, "x"), (b, "y")))
    one, other = _number(a.loops, first), _number(b.loops, second)
    if one is None or other is None:
        return None
    conditions = [f"floor(({one})/{WARP}) = floor(({other})/{WARP})"]
    if lanes != ALL_LANES:
        conditions += [_among(one, lanes), _among(other, lanes)]
    tuples = f"[{', '.join(first)}] -> [{', '.join(second)}]"
    text = f"{header(model.scop)} {{ {tuples} : {' and '.join(conditions)} }}"
    return model.solver.map(text)


def _names(instances: Instances, mark: str) -> list[str]:
    return [f"__{mark}{d}" for d in range(len(instances.loops))]


def _number(loops: Sequence[Loop], names: Sequence[str]) -> str | None:
    """L as isl text; dimensions of extent 1 count for nothing."""
    terms: list[str] = []
    factor: int | None = 1
    for loop, name in zip(loops, names, strict=True):
        if loop.role is not Role.THREAD or loop.uppers == ("1",):
            continue
        if factor is None:
            return None
        terms.append(f"{factor}*{name}")
        (extent,) = loop.uppers or ("",)
        factor = factor * int(extent) if extent.isdecimal() else None
    return " + ".join(terms) or "0"


def _among(number: str, lanes: int) -> str:
    """Whether the lane of a thread is one of some, as ranges of lanes."""
    bits = [bool(lanes >> lane & 1) for lane in range(WARP)] + [False]
    starts = [
        lane for lane in range(WARP) if bits[lane] and not (lane and bits[lane - 1])
    ]
    ranges = [(lane, bits.index(False, lane)) for lane in starts]
    texts = (f"{low} <= (({number}) mod {WARP}) < {high}" for low, high in ranges)
    return f"({' or '.join(texts) or '1 = 0'})"
