"""Which kernel a contraction becomes on a CPU.

Inner products, transposed results and shared reductions are compared with other kernels
by their modelled cycles.  No model compares those with register tiles well enough, so
the first kind that says of itself that it serves a problem is taken, in the order of
`KINDS`; within a kind, the sizes of least modelled cycles are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpucodegen.tiling.machine.model import Machine
from gpucodegen.tiling.machine.products.candidates import (
    Candidate,
    DotProducts,
    PrivatePanels,
    SharedPanels,
    SplitK,
    TileSizes,
    TransposedResult,
)
from gpucodegen.tiling.machine.products.kinds.dots import Products, dots_pay, in_dots
from gpucodegen.tiling.machine.products.kinds.im2row import in_lines
from gpucodegen.tiling.machine.products.kinds.in_place import in_place
from gpucodegen.tiling.machine.products.kinds.outer_panels import in_outer_panels
from gpucodegen.tiling.machine.products.kinds.split_k import reduction_parts
from gpucodegen.tiling.machine.products.kinds.stripes import in_stripes
from gpucodegen.tiling.machine.products.kinds.transposed_result import transposed_pays
from gpucodegen.tiling.machine.products.problem import Problem
from gpucodegen.tiling.machine.products.tiling import TileRequest

Planner = Callable[[Problem, Machine], Candidate]
"""Chooses among the kernels with register tiles."""


def private_panels(request: TileRequest) -> PrivatePanels | None:
    """Panels that one task alone uses: it has all rows, and they are not of a batch."""
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

    >>> from gpucodegen.tiling.machine.vector_unit import VectorUnit
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
    """What a contraction may be computed as.

    ``tiles``: with lanes along the columns; ``products``: as inner products; ``work``
    of these, in multiply-adds of 32 bits.  ``transposed``: the lanes along the rows
    that a transposed result has, 0: it may not be computed so.  ``splits``: its
    reduction may be shared.
    """

    tiles: Problem | None
    products: Products | None = None
    work: int = 0
    transposed: int = 0
    splits: bool = False


def plan_kernel(
    forms: Forms, machine: Machine, planner: Planner = plan_contraction
) -> DotProducts | TransposedResult | SplitK | Candidate | None:
    """The kernel of a contraction in one of its forms; None: it has none.

    >>> from gpucodegen.tiling.machine.vector_unit import VectorUnit
    >>> sums = Problem(6, 32, (100000,), 1, 32, True, False)
    >>> plan_kernel(Forms(sums, splits=True), Machine(8, VectorUnit(512, 32)))
    SplitK(parts=8)
    """
    problem, products = forms.tiles, forms.products
    if products is not None and (
        problem is None or dots_pay(products, problem, machine)
    ):
        return in_dots(products, machine, forms.work)
    if forms.transposed and (problem is None or transposed_pays(problem, machine)):
        return TransposedResult(forms.transposed)
    if problem is None:
        return None
    parts = reduction_parts(problem, machine) if forms.splits else 1
    return planner(problem, machine) if parts == 1 else SplitK(parts)
