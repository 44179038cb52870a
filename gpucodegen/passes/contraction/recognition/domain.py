"""Where a perfect nest iterates: a box, and what cuts corners off it.

Comes in: a nest of ``affine.for`` whose bounds may depend on the loops around.  Goes
out: normalised axes of the smallest box around it, and guards, affine expressions of
their positions that are >= 0 exactly at the iterations:

    { x in box : guard(x) >= 0 for all guards }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap, linear_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.contraction.recognition.operands import coefficients, is_linear
from gpucodegen.passes.framework.indexing import Index, from_map, replace_values
from gpucodegen.passes.framework.nests import Axis, inner_operations


@dataclass(frozen=True, slots=True)
class Domain:
    """The box and the guards of a nest, outermost axis first, and its body."""

    axes: tuple[Axis, ...]
    guards: tuple[Index, ...]
    body: tuple[Operation, ...]


def interval(index: Index, axes: Sequence[Axis]) -> tuple[int, int] | None:
    """Least and largest value over the box; None if it depends on anything else.

    >>> from gpucodegen.ir.types import INDEX
    >>> from gpucodegen.ir.operation import Operation
    >>> i = Axis(Value(INDEX, "i"), 8, 0, 1, Operation("affine.for"))
    >>> interval(Index.of(i.iv) * -2 + 1, [i])
    (-13, 1)
    """
    last = {axis.iv: axis.extent - 1 for axis in axes if axis.count is None}
    if not is_linear(index) or not last.keys() >= set(index.values):
        return None
    _, constant = linear_form(index.expr)
    ends = [factor * last[value] for value, factor in coefficients(index).items()]
    low, high = (sum(choose(0, end) for end in ends) for choose in (min, max))
    return constant + low, constant + high


def domain_of(op: Operation, *, parametric: bool = False) -> Domain | None:
    """The domain of the perfect nest rooted at a loop, if its bounds are affine.

    ``parametric``: extents may be what only a call tells.
    """
    axes: list[Axis] = []
    guards: list[Index] = []
    while True:
        found = bounded(op, axes) or (_counted(op, axes) if parametric else None)
        if found is None:
            return None
        axis, cuts = found
        axes.append(axis)
        guards += cuts
        inner = inner_operations(op)
        if len(inner) == 1 and inner[0].name == "affine.for":
            op = inner[0]
            continue
        is_straight = not any(o.regions for o in inner)
        return Domain(tuple(axes), tuple(guards), inner) if is_straight else None


def bounded(op: Operation, outer: Sequence[Axis]) -> tuple[Axis, list[Index]] | None:
    """The axis of a loop, and its guards where bounds depend on ``outer``.

    None for a loop that never runs: nothing of it is worth a kernel.
    """
    if op.name != "affine.for" or op.results:
        return None
    loop = affine.For(op)
    lowers = _over(loop.lower_map, loop.lower_operands, outer)
    uppers = _over(loop.upper_map, loop.upper_operands, outer)
    low = [interval(bound, outer) for bound in lowers]
    high = [interval(bound, outer) for bound in uppers]
    if None in low or None in high:
        return None
    first = max(b[0] for b in low if b)
    end = min(b[1] for b in high if b)
    moving = [bound for bound in (*lowers, *uppers) if bound.constant is None]
    if moving and loop.step != 1:
        return None
    if end <= first:
        return None
    axis = Axis(loop.iv, -(-(end - first) // loop.step), first, loop.step, op)
    here = axis.at(axis.iv)
    cuts = [here - bound for bound in lowers if bound.constant is None]
    cuts += [bound - here - 1 for bound in uppers if bound.constant is None]
    return axis, cuts


def _counted(op: Operation, outer: Sequence[Axis]) -> tuple[Axis, list[Index]] | None:
    """The axis of a loop from a constant to one end that no loop around moves."""
    if op.name != "affine.for" or op.results:
        return None
    loop = affine.For(op)
    lowers = _over(loop.lower_map, loop.lower_operands, outer)
    uppers = _over(loop.upper_map, loop.upper_operands, outer)
    first = lowers[0].constant
    if len(lowers) > 1 or len(uppers) > 1 or first is None:
        return None
    (end,) = uppers
    if end.constant is not None or any(axis.iv in end.values for axis in outer):
        return None
    count = (end - first).ceildiv(loop.step) if loop.step > 1 else end - first
    return Axis(loop.iv, 0, first, loop.step, op, count), []


def _over(
    map_: AffineMap, operands: Sequence[Value], outer: Sequence[Axis]
) -> list[Index]:
    """The bounds over the normalised positions of the loops around."""
    positions = {axis.iv: axis.at(axis.iv) for axis in outer}
    return [replace_values(bound, positions) for bound in from_map(map_, operands)]
