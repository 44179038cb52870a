"""Tiles of a contraction whose epilogue selects another value than the sums.

An epilogue that ends in ``select(c, x, y)``, where only y depends on the sums, stores x
at an element if c holds there.  Let c be d >= 0 for an affine form d of the
element's position.  A block with tile T needs no sums if

    min { d(p) : p in T } >= 0,

since ``select`` ignores the operand that it does not choose, even a NaN.  Its kernel
then runs the epilogue on the initial sums.  The form of an integer is affine in the
positions as long as no operation before c overflows, for which the extents are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from gpucodegen.dialects.arith import constant_value, predicate
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IntegerType
from gpucodegen.passes.contraction.gpu.axes import Groups, Place
from gpucodegen.passes.contraction.operands import (
    Operand,
    Positions,
    coefficients,
    interval,
)
from gpucodegen.passes.contraction.recognize import Contraction, is_position
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.outlining.vector_width import Definitions
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.product_tiles import Candidate


def masked(
    contraction: Contraction,
    groups: Groups,
    where: Place,
    plan: Candidate,
    definitions: Definitions,
) -> list[Index] | None:
    """What is >= 0 in a block only if its stores do not depend on the sums."""
    epilogue = contraction.epilogue
    if epilogue is None or epilogue.sums is None or len(epilogue.stored) != 1:
        return None
    found = _Values(contraction.axes, definitions, {epilogue.sums: None})
    for op, place in epilogue.steps:
        found.add(op, place)
    value = found.places.get(epilogue.stored[0])
    form = None if value is None else found.ignored(value)
    return None if form is None else _least(form, groups, where, plan)


def _least(
    form: Index, groups: Groups, where: Place, plan: Candidate
) -> list[Index] | None:
    """The least value of a form in a tile, which may reach beyond the result."""
    sides = (
        (groups.rows, where.row, plan.tile_rows),
        (groups.columns, where.column, plan.tile_columns),
    )
    at: Positions = dict(where.batch)
    factors = coefficients(form)
    for axes, first, size in sides:
        if len(axes) == 1:
            (axis,) = axes
            at[axis.iv] = first + (size - 1 if factors.get(axis.iv, 0) < 0 else 0)
    if not factors or not at.keys() >= factors.keys():
        return None
    return [replace_values(form, at)]


@dataclass(slots=True)
class _Values:
    """The values of an epilogue: which depend on the sums, and which are affine.

    ``places``: the value that each place holds, None for the sums.
    """

    axes: Sequence[Axis]
    definitions: Definitions
    places: dict[Operand, Value | None]
    made: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    loaded: dict[Value, Value | None] = field(default_factory=dict[Value, Value | None])
    forms: dict[Value, Index] = field(default_factory=dict[Value, Index])
    dependent: set[Value | None] = field(
        default_factory=lambda: set[Value | None]({None})
    )

    def add(self, op: Operation, place: Operand | None) -> None:
        if place is not None and not op.results:
            self.places[place] = op.operands[0]
        elif place is not None:
            held = self.places.get(place, op.result)
            self.loaded[op.result] = held
            self.dependent |= {op.result} if held in self.dependent else set()
        else:
            self.made[op.result] = op
            if not self.dependent.isdisjoint(op.operands):
                self.dependent.add(op.result)
            elif (form := self._form(op)) is not None:
                self.forms[op.result] = form

    def ignored(self, value: Value) -> Index | None:
        """A form that is >= 0 only where a value does not depend on the sums."""
        while value in self.loaded and value in self.dependent:
            held = self.loaded[value]
            if held is None:
                return None
            value = held
        op = self.made.get(value)
        if op is None or value not in self.dependent:
            return None
        if op.name == "arith.select" and op.operands[0] not in self.dependent:
            condition, chosen, other = op.operands
            if chosen not in self.dependent:
                return self._holds(condition)
            if other not in self.dependent:
                form = self._holds(condition)
                return None if form is None else form * -1 - 1
        used = [operand for operand in op.operands if operand in self.dependent]
        return self.ignored(used[0]) if len(set(used)) == 1 else None

    def _holds(self, condition: Value) -> Index | None:
        """The form that is >= 0 where a comparison of affine forms holds."""
        op = self.made.get(condition)
        if op is None or op.name != "arith.cmpi":
            return None
        left, right = map(self._known, op.operands)
        if left is None or right is None:
            return None
        forms: Mapping[str, Index] = {
            "sge": left - right,
            "sgt": left - right - 1,
            "sle": right - left,
            "slt": right - left - 1,
        }
        return forms.get(predicate(op))

    def _known(self, value: Value) -> Index | None:
        if value in self.forms:
            return self.forms[value]
        op = self.definitions.get(value)
        number = None if op is None else constant_value(op)
        is_integer = isinstance(number, int) and isinstance(value.type, IntegerType)
        return Index.of(number) if is_integer and isinstance(number, int) else None

    def _form(self, op: Operation) -> Index | None:
        """The affine form of an integer; None if it is not one, or may overflow."""
        ty = op.result.type
        if not isinstance(ty, IntegerType) or ty.width < 2:
            return None
        form = self._computed(op)
        bounds = None if form is None else interval(form, self.axes)
        half = 1 << (ty.width - 1)
        fits = bounds is not None and -half <= bounds[0] and bounds[1] < half
        return form if fits else None

    def _computed(self, op: Operation) -> Index | None:
        if is_position(op):
            return Index.of(op.operands[0])
        if op.name == "arith.constant":
            number = constant_value(op)
            return Index.of(number) if isinstance(number, int) else None
        known = [form for form in map(self._known, op.operands) if form is not None]
        if not known or len(known) != len(op.operands):
            return None
        match op.name:
            case "arith.trunci" | "arith.extsi":
                return known[0]
            case "arith.addi":
                return known[0] + known[1]
            case "arith.subi":
                return known[0] - known[1]
            case _:
                return None
