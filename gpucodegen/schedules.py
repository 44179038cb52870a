"""The schedules a function can be tuned over, and options that select one.

A contraction is tuned over its register tile and reduction block, any other nest over
the tile sizes of its outermost permutable band.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.options import Options

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.ir.operation import Operation
    from gpucodegen.program import Program
    from gpucodegen.tiling.space import Space

Point = Mapping[str, int]
CONTRACTION = ("rows", "columns", "k_block")
TILE_SIZES = (1, 8, 16, 32, 64, 128, 256)
REGISTER_ROWS = (1, 4, 6, 8, 12, 14)
REGISTER_VECTORS = (1, 2, 3, 4)
K_BLOCKS = (64, 128, 256, 512, 1024)


@dataclass(frozen=True, slots=True)
class Schedules:
    """The space of one function and the points to try first."""

    space: Space
    seeds: tuple[Point, ...]


def schedules(program: Program, name: str, arguments: Sequence[Any]) -> Schedules:
    """What can be tuned in a function called with these arguments."""
    from gpucodegen.signature import Signature
    from gpucodegen.tiling.space import Space

    signature = Signature.of(program[name].view)
    types = signature.specialized(signature.convert(arguments))
    module = _affine(program.module, name, types)
    if _contractions(module, name):
        return _register_tiles()
    depth = _band_depth(module, name)
    dimensions = {f"tile{i}": TILE_SIZES for i in range(depth)}
    space = Space(dimensions, lambda point: objection(module, point))
    untiled, square = (dict.fromkeys(dimensions, n) for n in (1, 32))
    return Schedules(space, (square, untiled) if dimensions else ())


def _register_tiles() -> Schedules:
    from gpucodegen.runtime.processor import cpu
    from gpucodegen.tiling.space import Space

    lanes = cpu().vector_bits // 32
    columns = tuple(lanes * n for n in REGISTER_VECTORS)
    values = (REGISTER_ROWS, columns, K_BLOCKS)
    space = Space(dict(zip(CONTRACTION, values, strict=True)))
    seed: Point = dict(zip(CONTRACTION, (8, 3 * lanes, 512), strict=True))
    return Schedules(space, (seed,))


def point_of(sizes: Sequence[int], schedules_: Schedules) -> Point:
    """A candidate given as plain sizes, by the names of the space's dimensions."""
    names = list(schedules_.space.dimensions)
    if names != list(CONTRACTION):
        names = [f"tile{i}" for i in range(len(sizes))]
    return dict(zip(names, sizes, strict=False))


def with_point(options: Options, point: Point) -> Options:
    """Options that compile with the sizes of a point."""
    if set(point) <= set(CONTRACTION):
        return replace(
            options, register_tile=tuple(point.get(k, 0) for k in CONTRACTION)
        )
    return replace(options, tile_sizes=tuple(point.values()))


def objection(module: Module, point: Point) -> str | None:
    """Why tiling by these sizes is illegal, or None."""
    from gpucodegen.passes.loops.tile import Tile

    sizes = tuple(point.values())
    try:
        Tile(sizes).apply(module)
    except errors.IllegalTransformation as refusal:
        return refusal.message
    return None


def _affine(module: Module, name: str, types: tuple[Any, ...]) -> Module:
    from gpucodegen.passes.base import run_pipeline
    from gpucodegen.passes.reachable import reachable
    from gpucodegen.pipeline import front_passes

    return run_pipeline(reachable(module, name), front_passes(name, types))


def _nests(module: Module, name: str) -> list[Operation]:
    (block,) = module.functions[name].regions[0].blocks
    return [op for op in block.operations if op.name == "affine.for"]


def _contractions(module: Module, name: str) -> bool:
    from gpucodegen.passes.analysis import analyse
    from gpucodegen.passes.contraction.recognize import recognize
    from gpucodegen.passes.distribute import distribute

    (block,) = module.functions[name].regions[0].blocks
    return any(
        recognize(piece)
        for op in _nests(module, name)
        for piece in distribute(op, analyse([op], block.operations))
    )


def _band_depth(module: Module, name: str) -> int:
    """Length of the shortest outermost permutable band among the nests."""
    from gpucodegen.analysis import analyze_function

    bands = analyze_function(name, module.functions[name]).bands
    outermost = [len(band.loops) for band in bands if not band.outer]
    return min(outermost, default=0)
