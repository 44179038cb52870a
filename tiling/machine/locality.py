"""Locality: cache lines per iteration of a nest, by the choice of the innermost loop.

The cost is the loop cost of McKinley, Carr and Tseng ("Improving data locality with
loop transformations", 1996) for one iteration, independent of the other loops' extents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gpucodegen.tiling.machine.processor import MEMORY
from gpucodegen.tiling.model.isl import Solver
from gpucodegen.tiling.model.isl_forms import coefficients
from gpucodegen.tiling.model.relations import Model, Reference, header
from gpucodegen.tiling.model.scop import Loop

LINE_ELEMENTS = MEMORY.line // 4
"""Elements of a cache line, of 32 bits."""


def innermost_cost(model: Model, loop: Loop) -> float:
    """Cache lines per iteration with ``loop`` innermost, its arrays row-major.

    Per access: 0 if its cell does not change with the loop, c/16 if it moves by c
    elements along the last dimension, 1 if it moves otherwise.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> column = Statement("S", (read("A", "i", "j"), write("s", "j")))
    >>> chain = [Loop("j", "0", "N"), Loop("i", "0", "N")]
    >>> arrays = (Array("A", ("N", "N")), Array("s", ("N",)))
    >>> built = model(Scop(("N",), (), arrays, nest(chain, (column,))))
    >>> [innermost_cost(built, loop) for loop in chain]
    [0.125, 1.0]
    """
    return sum(
        _lines(model, reference, loop)
        for reference in model.references
        if reference.instances.depth(loop) is not None
        and not model.array(reference.access.array).register
    )


def turned_against(model: Model, loops: Sequence[Loop], innermost: Loop) -> Loop | None:
    """The loop along which some array is contiguous while ``innermost`` strides in it.

    Both loops walk cache lines, each in another array: a transposition.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> turn = Statement("S", (read("A", "i", "j"), write("B", "j", "i")))
    >>> chain = [Loop("i", "0", "N"), Loop("j", "0", "N")]
    >>> arrays = (Array("A", ("N", "N")), Array("B", ("N", "N")))
    >>> built = model(Scop(("N",), (), arrays, nest(chain, (turn,))))
    >>> turned_against(built, chain, chain[1]).name
    'i'
    """
    for loop in loops:
        for factors, others in _pairs(model, loop, innermost):
            is_consecutive = abs(factors[-1]) == 1 and not any(factors[:-1])
            if loop != innermost and is_consecutive and any(others):
                return loop
    return None


def continues(model: Model, loop: Loop, innermost: Loop) -> bool:
    """Whether ``loop`` indexes the dimension before that of ``innermost`` everywhere.

    Then both may be collapsed into one loop over whole rows.
    """
    return all(
        not any(factors) or _moved(factors) + 1 == _moved(others) > 0
        for factors, others in _pairs(model, loop, innermost)
    )


def _moved(factors: Sequence[int]) -> int:
    """The only dimension that moves, by one; else one with no dimension before it."""
    moved = [at for at, factor in enumerate(factors) if factor]
    return moved[0] if [factors[at] for at in moved] == [1] else -2


def _pairs(
    model: Model, first: Loop, second: Loop
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The factors of two loops in each access inside of both, where known."""
    for reference in model.references:
        depths = [reference.instances.depth(loop) for loop in (first, second)]
        if None in depths or model.array(reference.access.array).register:
            continue
        factors, others = (_factors(model, reference, loop) for loop in (first, second))
        if factors and others:
            yield factors, others


def _lines(model: Model, reference: Reference, loop: Loop) -> float:
    factors = _factors(model, reference, loop)
    if factors is None:
        return 1.0
    *others, last = factors or (0,)
    return 1.0 if any(others) else min(1.0, abs(last) / LINE_ELEMENTS)


def _factors(model: Model, reference: Reference, loop: Loop) -> Sequence[int] | None:
    """The coefficient of the loop in each index; None where one is not linear."""
    names = [outer.name for outer in reference.instances.loops]
    indices = reference.access.indices
    if None in indices:
        return None
    target = ", ".join(map(str, indices))
    rows = _rows(f"{header(model.scop)} {{ [{', '.join(names)}] -> [{target}] }}")
    at = names.index(loop.name)
    return None if rows is None else [row[at] for row in rows]


@lru_cache(maxsize=1 << 12)
def _rows(text: str) -> tuple[tuple[int, ...], ...] | None:
    """`coefficients` of isl text, which follow from it alone."""
    solver = Solver()
    return solver.ask(lambda: coefficients(solver.map(text)), None)


TALL = 128
"""Iterations after which a strided loop finds no cache line again."""


def walks_columns(
    row: int, along: float, columns: Sequence[tuple[int | None, float]]
) -> bool:
    """Whether loops inside of a loop over a ``row`` should run along the row.

    ``along``: cache lines per iteration of the row, ``columns``: trips of the inner
    loops, and their cache lines per iteration.  Sums of columns, 64 x 30000, take as
    long either way; 1000 x 513 take 1.5 times as long by columns, 4096 x 4096 2.5.

    >>> [walks_columns(4096, 0.125, [(trips, 1.0)]) for trips in (4096, 9)]
    [True, False]
    """
    return row >= LINE_ELEMENTS and any(
        trips is not None and trips >= TALL and along < lines
        for trips, lines in columns
    )


def shares_data(model: Model, first: Loop, second: Loop) -> bool:
    """Whether both loops sweep over one array: each index set moves with its loop.

    Data that two neighbouring loops reuse within an iteration stays in the cache
    anyway.
    """
    return not _swept(model, first).isdisjoint(_swept(model, second))


def _swept(model: Model, loop: Loop) -> set[str]:
    """The arrays whose cells change with the loop."""
    return {
        reference.access.array
        for reference in model.references
        if reference.instances.depth(loop) is not None
        and any(_factors(model, reference, loop) or ())
        and not model.array(reference.access.array).register
    }
