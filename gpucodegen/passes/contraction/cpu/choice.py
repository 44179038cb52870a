"""Which kernel a contraction becomes on a CPU: register tiles or inner products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType
from gpucodegen.passes.analysis.queries import Analysis
from gpucodegen.passes.contraction.cpu import depthwise, dots
from gpucodegen.passes.contraction.cpu import split_k as splitting
from gpucodegen.passes.contraction.cpu import transposed_result as flipping
from gpucodegen.passes.contraction.cpu.blocking import column_axis, outer_axes, row_axis
from gpucodegen.passes.contraction.cpu.depthwise import Sliding, sliding
from gpucodegen.passes.contraction.cpu.dot_sides import Sides, dot_sides, extent_of
from gpucodegen.passes.contraction.cpu.packed_dots.contraction import in_words
from gpucodegen.passes.contraction.cpu.packing.packing import direct_lanes, row_stride
from gpucodegen.passes.contraction.cpu.packing.pixels import flattened
from gpucodegen.passes.contraction.cpu.register_tiles import tasks as cpu
from gpucodegen.passes.contraction.cpu.sharing import different_share
from gpucodegen.passes.contraction.cpu.transposed_result import can_flip
from gpucodegen.passes.contraction.recognition.collapse import collapsed
from gpucodegen.passes.contraction.recognition.image import Image
from gpucodegen.passes.contraction.recognition.recognize import Contraction, recognize
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.tiling.machine.products.dot_plan import (
    Products,
    choose_dot_tile,
    dots_pay,
)
from gpucodegen.tiling.machine.products.flip_plan import flipping_pays
from gpucodegen.tiling.machine.products.plan import plan_contraction
from gpucodegen.tiling.machine.products.problem import (
    CpuModel,
    CpuPlan,
    Pixels,
    Problem,
    shared_work,
)
from gpucodegen.tiling.machine.products.split_k_plan import reduction_parts


def paying_contraction(op: Operation, relaxed: bool = False) -> Contraction | None:
    """A contraction that one of the kernels pays for.

    ``relaxed``: its sums may be reordered whatever its operations say.
    """
    found = recognize(op, lanes=False, scaled=True)
    if found is None:
        return None
    found = replace(found, reassociable=found.reassociable or relaxed)
    if found.scale is not None:
        found = _scaled(found, found.scale)
    return found if _runs(found) else None


def holds_product(op: Operation, analysis: Analysis) -> bool:
    """Whether a nest, or one that its distribution gives, is such a contraction."""
    return any(paying_contraction(part) for part in distribute(op, analysis))


def _scaled(found: Contraction, scale: Value) -> Contraction:
    """``s (a b)``; ``(s a) b`` where products may be associated in another way."""
    if not found.reassociable:
        return found
    multiply = "arith.mulf" if isinstance(found.element, FloatType) else "arith.muli"
    return replace(found, left=found.left.multiplied(scale, multiply), scale=None)


MIN_COLUMNS = 4
"""Shorter rows of C do not fill a vector."""
SHORT_SUM = 256
"""Bits of the factors of a sum that is faster side by side with others."""


def _runs(found: Contraction) -> bool:
    """Whether one of the kernels can run it."""
    return _is_product(found) or _window(found) is not None


def _is_product(found: Contraction) -> bool:
    """Whether register tiles or inner products can."""
    if _fills_registers(found) or _flips(found):
        return True
    return _is_long(found) and _inner_products(found) is not None


def _is_long(found: Contraction) -> bool:
    """Whether the terms of a sum fill the lanes of a register."""
    steps = prod(axis.extent for axis in found.reduction)
    return steps * element_bits(found.element) > SHORT_SUM


def _inner_products(found: Contraction) -> Sides | None:
    """The factors, if lanes can walk along the sums of both."""
    is_other = found.image or found.scale is not None or found.words
    return None if is_other else dot_sides(found)


def _window(found: Contraction) -> Sliding | None:
    """The contraction as a window of one channel, if its taps may be unrolled."""
    window = None if found.rows or found.scale is not None else sliding(found)
    return window if window is not None and depthwise.pays(window) else None


def _fills_registers(found: Contraction) -> bool:
    """Whether the lanes of registers can walk the columns."""
    if found.vector is None:
        return False
    column, is_line = column_axis(found), row_axis(found) is None
    packs = not is_line or direct_lanes(found.right, column)
    in_turns = found.reassociable and _is_long(found)
    return column.extent >= (2 if in_turns else MIN_COLUMNS) and packs


def _flips(found: Contraction) -> bool:
    """Whether they can walk the rows, for a transposed result."""
    row = row_axis(found)
    return row is not None and row.extent >= MIN_COLUMNS and can_flip(found)


Planner = Callable[[Problem, CpuModel], CpuPlan]
"""Chooses all sizes of a contraction with lanes along its columns."""


def lower_contraction(
    found: Contraction, model: CpuModel, planner: Planner = plan_contraction
) -> list[Operation] | None:
    """Operations that replace the nest; None where what is fused does not fit them."""
    window = _window(found)
    if window is not None:
        return depthwise.lower(window, model)
    views = Builder(found.location)
    packed = in_words(views, found, model)
    merged = collapsed(views, found if packed is None else packed.contraction)
    if merged is None:
        return None
    if not _is_product(merged):
        return _lowered(found, model, planner)
    if _fills_registers(merged):
        merged = flattened(views, merged)
    if merged is None:
        return None
    views.operations += _lowered(merged, model, planner)
    for buffer in () if packed is None else packed.buffers:
        views.add("memref.dealloc", (buffer,))
    return views.operations


def _lowered(
    contraction: Contraction, model: CpuModel, planner: Planner
) -> list[Operation]:
    sides = _inner_products(contraction)
    fills = _fills_registers(contraction)
    problem = _problem(contraction) if fills else None
    flips = _flips(contraction)
    if sides is not None and (sides.upright or not flips):
        products = _products(sides)
        if problem is None or dots_pay(products, problem, model):
            tile = choose_dot_tile(products, model.unit)
            lanes = model.unit.lanes(products.element_bits)
            return dots.lower(sides, tile, lanes, model.threads_for(_work(sides)))
    if flips and (problem is None or flipping_pays(problem, model)):
        lanes = model.unit.lanes(element_bits(contraction.element))
        return flipping.lower(contraction, lanes, lambda c: _lowered(c, model, planner))
    assert problem is not None
    if contraction.scale is not None:
        model = replace(model, unit=model.unit.shared)
    splits = contraction.reassociable and contraction.words is None
    parts = reduction_parts(problem, model) if splits else 1
    if parts == 1:
        return cpu.lower(contraction, planner(problem, model))

    def each(part: Contraction) -> list[Operation]:
        return cpu.lower(part, planner(_problem(part), model))

    lanes = model.unit.lanes(problem.element_bits)
    return splitting.lower(contraction, parts, lanes, each)


def _problem(contraction: Contraction) -> Problem:
    row, column = row_axis(contraction), column_axis(contraction)
    outer = outer_axes(contraction)
    left, slower = contraction.left, contraction.reduction[:-1]
    together = [axis for axis in contraction.axes if axis not in slower]
    return Problem(
        1 if row is None else row.extent,
        column.extent,
        tuple(axis.extent for axis in contraction.reduction),
        prod(axis.extent for axis in outer),
        element_bits(contraction.element),
        direct_lanes(contraction.right, column),
        any(contraction.right.mentions(axis) for axis in outer),
        row and row_stride(contraction.left, row, contraction.reduction[-1]),
        contraction.image and _pixels(contraction.image),
        row is not None and bool(contraction.left.steps),
        row is not None and direct_lanes(contraction.left, row),
        bool(contraction.guards),
        max((axis.extent for axis in outer), default=1),
        (different_share(left, together), different_share(left, contraction.axes)),
        contraction.reassociable,
    )


def _work(sides: Sides) -> int:
    steps = prod(axis.extent for axis in sides.contraction.reduction)
    extents = extent_of(sides.tall), extent_of(sides.flat), steps
    outer = prod(axis.extent for axis in sides.outer)
    return shared_work(extents, outer, element_bits(sides.contraction.element))


def _pixels(image: Image) -> Pixels:
    others = prod(axis.extent for axis in image.plain if axis is not image.steps[0])
    copies = others * image.taps * image.phases
    return Pixels(image.period, copies, image.fast.extent, image.deepest)


def _products(sides: Sides) -> Products:
    return Products(
        extent_of(sides.tall),
        extent_of(sides.flat),
        sides.steps.extent,
        element_bits(sides.contraction.element),
        sides.copied,
        sides.turned,
    )
