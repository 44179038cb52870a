"""Kernel choice for a CPU contraction: planning from its facts, then lowering.

The plan depends on extents, types and strides, and on the share of distinct elements in
each operand, since neighbouring convolution windows overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.contraction.collapse import collapsed
from gpucodegen.passes.contraction.cpu import (
    depthwise,
    dots,
    kernel_forms,
    split_k,
    tasks,
)
from gpucodegen.passes.contraction.cpu.blocking import column_axis, outer_axes, row_axis
from gpucodegen.passes.contraction.cpu.dots import (
    Sides,
    extent_of,
)
from gpucodegen.passes.contraction.cpu.factor_packing import direct_lanes, row_stride
from gpucodegen.passes.contraction.cpu.im2row import flattened
from gpucodegen.passes.contraction.cpu.kernel_forms import (
    fills_registers,
    inner_products,
    is_product,
    transposes,
    window_of,
)
from gpucodegen.passes.contraction.cpu.packed_integer_dots import in_words
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.contraction.windows import Image
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.dot_kernels import Products
from gpucodegen.tiling.machine.processor import Machine, product_work
from gpucodegen.tiling.machine.product_plan import (
    Forms,
    Planner,
    plan_contraction,
    plan_kernel,
)
from gpucodegen.tiling.machine.product_problem import (
    DotProducts,
    Pixels,
    Problem,
    SplitK,
    TransposedResult,
)


def different_share(factor: Operand, axes: Sequence[Axis]) -> float:
    """The fraction of distinct elements among those read while ``axes`` run."""
    ty = factor.memref.type
    assert isinstance(ty, MemRefType)
    form = strided_form(ty)
    if form is None or None in form.strides:
        return 1.0
    strides = [stride or 0 for stride in form.strides]
    used = [axis for axis in axes if factor.mentions(axis)]

    def step(axis: Axis) -> int:
        dimensions = enumerate(strides)
        return sum(
            abs(factor.coefficient(d, axis) * stride) for d, stride in dimensions
        )

    return share_of((step(axis), axis.extent) for axis in used)


def share_of(steps: Iterable[tuple[int, int]]) -> float:
    """The fraction of distinct sums among multiples of each step below its extent.

    Multiples of a step that is as long as all shorter ones reach are all different;
    otherwise they fill their range as densely as the shorter ones do.

    >>> share_of([(1, 384), (384, 28)])
    1.0
    >>> share_of([(128, 28), (1, 384)]) == 3840 / (28 * 384)
    True
    """
    different = reach = chosen = 1
    for step, extent in sorted(steps):
        further = reach + step * (extent - 1)
        most = different * extent
        filled = different * further // reach
        different = most if step >= reach else min(most, filled)
        reach, chosen = further, chosen * extent
    return different / chosen


def lower_contraction(
    found: Contraction, machine: Machine, planner: Planner = plan_contraction
) -> list[Operation] | None:
    """Operations that replace the nest; None where fused operations do not fit."""
    window = window_of(found)
    if window is not None:
        return depthwise.lower(window, machine)
    views = Builder(found.location)
    packed = in_words(views, found, machine)
    merged = collapsed(views, found if packed is None else packed.contraction)
    if merged is None:
        return None
    if not is_product(merged):
        return _lowered(found, machine, planner)
    if fills_registers(merged):
        merged = flattened(views, merged)
    if merged is None:
        return None
    views.operations += _lowered(merged, machine, planner)
    for buffer in () if packed is None else packed.buffers:
        views.add("memref.dealloc", (buffer,))
    return views.operations


def _lowered(
    contraction: Contraction, machine: Machine, planner: Planner
) -> list[Operation]:
    """The operations of the kernel that the planner chooses."""
    forms = _forms(contraction, machine)
    if contraction.scale is not None:
        machine = replace(machine, unit=machine.unit.halved)
    kernel = plan_kernel(forms, machine, planner)
    lanes = machine.unit.lanes(element_bits(contraction.element))
    match kernel:
        case DotProducts():
            sides = inner_products(contraction)
            assert sides is not None
            return dots.lower(sides, kernel, lanes)
        case TransposedResult():

            def transposed(part: Contraction) -> list[Operation]:
                return _lowered(part, machine, planner)

            return kernel_forms.lower(contraction, kernel.lanes, transposed)
        case SplitK():

            def each(part: Contraction, _: Sequence[Operation]) -> list[Operation]:
                return tasks.lower(part, planner(_problem(part), machine))

            return split_k.lower(contraction, kernel.parts, lanes, each)
        case _:
            assert kernel is not None
            return tasks.lower(contraction, kernel)


def _forms(contraction: Contraction, machine: Machine) -> Forms:
    """The kernel forms in which the contraction can be computed."""
    sides, can_transpose = inner_products(contraction), transposes(contraction)
    if sides is not None and not sides.upright and can_transpose:
        sides = None
    return Forms(
        _problem(contraction) if fills_registers(contraction) else None,
        sides and _products(sides),
        _work(sides) if sides else 0,
        machine.unit.lanes(element_bits(contraction.element)) if can_transpose else 0,
        splits=contraction.reassociable and contraction.words is None,
    )


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
    return product_work(extents, outer, element_bits(sides.contraction.element))


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
        sides.low_is_transposed,
    )
