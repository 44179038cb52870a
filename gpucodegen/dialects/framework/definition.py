"""The table entry of an operation, :class:`Op`, and the slots of its signature.

The signature ``"memref:memref indices:index* -> result"`` names the operands and
results and, behind a colon, kinds of types (`declare.KINDS`); ``?`` marks an optional
one, ``*`` a variadic one. The syntax is a format in the manner of MLIR's declarative
assembly (see ``assembly``), or a pair of functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Flag, auto

from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.syntax import ParseOp, PrintOp, State
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr, DenseElementsAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, split
from gpucodegen.ir.types import I32, Type
from gpucodegen.records import dataclass


class Trait(Flag):
    """Properties of an operation that verifier rules and passes query.

    ``BARE``: the custom form has no attribute dictionary; an operation with further
    attributes is printed in the generic form.
    """

    NONE = 0
    TERMINATOR = auto()
    ISOLATED = auto()
    SYMBOL_TABLE = auto()
    GRAPH = auto()
    NO_TERMINATOR = auto()
    AFFINE_SCOPE = auto()
    PURE = auto()
    COMMUTATIVE = auto()
    CONSTANT = auto()
    BARE = auto()


@dataclass(frozen=True, slots=True)
class Slot:
    """A named operand or result; ``arity`` is ``""``, ``"?"`` or ``"*"``."""

    name: str
    arity: str = ""
    kind: str = ""

    @property
    def is_single(self) -> bool:
        """Whether the slot holds exactly one value."""
        return not self.arity


def slots(text: str) -> tuple[Slot, ...]:
    """Slots of one side of a signature.

    >>> slots("memref indices:index*")[1]
    Slot(name='indices', arity='*', kind='index')
    """
    found = map(_SLOT.fullmatch, text.split())
    return tuple(Slot(m["name"], m["arity"], m["kind"] or "") for m in found if m)


_SLOT = re.compile(r"(?P<name>\w+)(:(?P<kind>\w+))?(?P<arity>[?*]?)")
RESULT_SEGMENTS = "resultSegmentSizes"

Types = Mapping[str, Sequence[Type]]
Infer = Callable[[Types, Mapping[str, Attribute]], "Sequence[Type] | None"]
"""Types of a slot from those of the other slots and the attributes."""

Check = Callable[[Operation], None]
"""Raises a :class:`gpucodegen.errors.VerifyError`."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation: syntax, types, traits and verifier rules."""

    name: str
    operands: tuple[Slot, ...] = ()
    results: tuple[Slot, ...] = ()
    parse: ParseOp | None = None
    print: PrintOp | None = None
    attributes: Mapping[str, AttributeKind] = field(
        default_factory=dict[str, AttributeKind]
    )
    same: tuple[frozenset[str], ...] = ()
    infer: Mapping[str, Infer] = field(default_factory=dict[str, Infer])
    types: Mapping[str, TypeConstraint] = field(
        default_factory=dict[str, TypeConstraint]
    )
    traits: Trait = Trait.NONE
    checks: tuple[Check, ...] = ()
    regions: int | None = 0
    successors: int | None = 0
    terminators: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    adapt: Callable[[State], None] | None = None
    flatten: Callable[[Operation], Operation] | None = None

    def has(self, trait: Trait) -> bool:
        return trait in self.traits

    @property
    def is_isolated(self) -> bool:
        return Trait.ISOLATED in self.traits

    @property
    def is_segmented(self) -> bool:
        """Whether ``operandSegmentSizes`` divides the operands into groups."""
        return sum(not slot.is_single for slot in self.operands) > 1

    @property
    def inherent(self) -> frozenset[str]:
        """Names of the attributes that the operation defines (MLIR's properties)."""
        own = set(self.attributes)
        return frozenset(own | {OPERAND_SEGMENTS} if self.is_segmented else own)

    def operand_groups(self, op: Operation) -> dict[str, tuple[Value, ...]]:
        sizes = op.attributes.get(OPERAND_SEGMENTS)
        return grouped(self.operands, op.operands, sizes)

    def result_groups(self, op: Operation) -> dict[str, tuple[Value, ...]]:
        return grouped(self.results, op.results, op.attributes.get(RESULT_SEGMENTS))

    def from_generic(self, state: State) -> None:
        """Normalise an operation read in generic form."""
        _modern_segments(state)
        self.drop_defaults(state)
        if self.adapt is not None:
            self.adapt(state)

    def drop_defaults(self, state: State) -> None:
        """Remove attributes whose value is the default."""
        for name, kind in self.attributes.items():
            if kind.default is not None and state.attributes.get(name) == kind.default:
                del state.attributes[name]


def grouped(
    slots_: Sequence[Slot], values: Sequence[Value], sizes: Attribute | None
) -> dict[str, tuple[Value, ...]]:
    """The values of each slot; ``sizes`` is their attribute, if there is one."""
    if isinstance(sizes, DenseArrayAttr) and len(sizes.values) == len(slots_):
        counts = [int(size) for size in sizes.values]
    else:
        rest = len(values) - sum(slot.is_single for slot in slots_)
        counts = [1 if slot.is_single else max(0, rest) for slot in slots_]
    groups = split(values, counts)
    return {slot.name: group for slot, group in zip(slots_, groups, strict=True)}


_OLD_SEGMENTS = {
    "operand_segment_sizes": OPERAND_SEGMENTS,
    "result_segment_sizes": RESULT_SEGMENTS,
    OPERAND_SEGMENTS: OPERAND_SEGMENTS,
}


def _modern_segments(state: State) -> None:
    """Convert segment sizes to today's name and ``array<i32: ..>``."""
    for old, modern in _OLD_SEGMENTS.items():
        value = state.attributes.pop(old, None)
        if isinstance(value, DenseElementsAttr):
            shape = getattr(value.type, "shape", (1,))
            values = value.values * shape[0] if value.is_splat else value.values
            value = DenseArrayAttr(I32, tuple(int(str(v)) for v in values))
        if value is not None:
            state.attributes[modern] = value
