"""Selects the CPU kernel of a contraction: register tiles, dots, split-K, transposed.

Register tiles, inner products and the transposed result have a modelled time, and the
least is taken; split-K is compared in the same way. No model compares the kinds of
register tiles well enough, so the first kind in the order of `KINDS` that accepts a
problem is taken, with the sizes of least modelled cycles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TypeAlias

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.convolution_kernels import in_lines
from gpucodegen.tiling.machine.dot_kernels import Products, dots_time, in_dots
from gpucodegen.tiling.machine.panel_kernels import (
    in_outer_panels,
    in_place,
    in_stripes,
    reduction_parts,
    transposed_time,
)
from gpucodegen.tiling.machine.processor import COSTS, Machine
from gpucodegen.tiling.machine.product_problem import (
    Candidate,
    DotProducts,
    PrivatePanels,
    Problem,
    SharedPanels,
    SplitK,
    TileSizes,
    TransposedResult,
)
from gpucodegen.tiling.machine.register_tiles import TileRequest, least_cycles

Kernel: TypeAlias = DotProducts | TransposedResult | SplitK | Candidate

Planner = Callable[[Problem, Machine], Candidate]
"""Chooses among the kernels with register tiles."""


def private_panels(request: TileRequest) -> PrivatePanels | None:
    """Panels that a single task uses: it has all rows, and there is no batch."""
    problem, tiling = request.problem, request.tiling()
    once = problem.outer == 1 or problem.panel_per_outer
    whole = tiling.row_block >= problem.rows and once
    return PrivatePanels(tiling) if whole else None


KINDS: tuple[Callable[[TileRequest], Candidate | None], ...] = (
    in_lines,
    in_place,
    in_outer_panels,
    in_stripes,
    private_panels,
)
"""Kernels with register tiles: the first that serves a problem is taken."""


def plan_contraction(
    problem: Problem, machine: Machine, sizes: TileSizes | None = None
) -> Candidate:
    """The kernel of a contraction whose lanes walk the columns.

    >>> from gpucodegen.tiling.machine.processor import VectorUnit
    >>> problem = Problem(1024, 1024, (1024,), 1, 32, True, False, 1024)
    >>> made = plan_contraction(problem, Machine(2, VectorUnit(512, 32)))
    >>> type(made).__name__, made.tiling.columns, made.tiling.k_chunk
    ('Stripes', 64, 512)
    """
    request = TileRequest.of(problem, machine, sizes or TileSizes())
    for kind in KINDS:
        made = kind(request)
        if made is not None:
            return made
    return SharedPanels(request.tiling())


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms in which a contraction may be computed.

    ``tiles``: with lanes along the columns; ``products``: as inner products; ``work``
    of these, in multiply-adds.  ``transposed``: the lanes along the rows of a
    transposed result, 0: not allowed.  ``splits``: split-K is allowed.
    """

    tiles: Problem | None
    products: Products | None = None
    work: int = 0
    transposed: int = 0
    splits: bool = False


def plan_kernel(
    forms: Forms, machine: Machine, planner: Planner = plan_contraction
) -> Kernel | None:
    """The kernel of least modelled time; None: the contraction has no form.

    >>> from gpucodegen.tiling.machine.processor import VectorUnit
    >>> sums = Problem(6, 32, (100000,), 1, 32, True, False)
    >>> plan_kernel(Forms(sums, splits=True), Machine(8, VectorUnit(512, 32)))
    SplitK(parts=8)
    >>> few, many = (
    ...     Problem(300, n, (500,), 1, 32, True, False, left_is_transposed=True)
    ...     for n in (5, 300)
    ... )
    >>> machine = Machine(1, VectorUnit(512, 32))
    >>> for problem in (few, many):
    ...     print(type(plan_kernel(Forms(problem, transposed=16), machine)).__name__)
    TransposedResult
    PrivatePanels
    """
    problem, products = forms.tiles, forms.products
    times: dict[Callable[[], Kernel], float] = {}
    if problem is not None:
        tiles = partial(_in_tiles, problem, machine, planner, splits=forms.splits)
        times[tiles] = tiles_time(problem, machine)
    if products is not None:
        dots = partial(in_dots, products, machine, forms.work)
        times[dots] = dots_time(products, machine, forms.work)
    if forms.transposed:
        transposed = partial(TransposedResult, forms.transposed)
        times[transposed] = (
            inf if problem is None else transposed_time(problem, machine)
        )
    return min(times, key=times.__getitem__)() if times else None


def _in_tiles(
    problem: Problem, machine: Machine, planner: Planner, *, splits: bool
) -> SplitK | Candidate:
    """The kernel with register tiles, with split-K if it pays."""
    parts = reduction_parts(problem, machine) if splits else 1
    return planner(problem, machine) if parts == 1 else SplitK(parts)


def tiles_time(problem: Problem, machine: Machine) -> float:
    """Modelled cycles of each thread of register tiles, without cache misses.

    A B that is contiguous along the reduction is transposed.
    """
    shape = problem.rows, problem.columns, problem.element_bits
    computed = problem.steps * least_cycles(*shape, problem.summing(machine.unit))
    against = not problem.right_is_contiguous
    packed = against * COSTS.transpose * problem.columns * problem.steps
    return (computed + packed) / machine.threads_for(problem.work)
