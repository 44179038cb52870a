"""Facts about function arguments, as attributes: alignment, overwriting and aliasing.

* `AssumeAlignments` states the alignment of each argument's address in a call by a
  ``memref.assume_alignment``, which applies to the argument itself.
* `MarkOverwritten` marks arguments that are wholly overwritten before anything reads
  them as ``gcg.overwritten``; their copies to a device can be left out.
* `PropagateAliases` puts arguments that may overlap in some call into one group
  (`gpucodegen.dialects.gcg`), so the callee is mapped for that call, too.  Buffers
  overlap if they are one, views of one, or arguments of one group.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace
from itertools import combinations, count

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function, named_function
from gpucodegen.dialects.gcg import alias_groups, with_groups
from gpucodegen.dialects.shared.memory import stored_by_map
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr, IntegerAttr, StringAttr
from gpucodegen.ir.constants import DistinctAttr
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import I32, MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.lifting.aliases import Aliases, Escapes
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.liveness import is_overwritten, values


@dataclass(frozen=True, slots=True)
class AssumeAlignments(ModulePass, name="assume-alignments"):
    """State the ``alignments`` of the arguments of ``function``; 0 states nothing."""

    function: str = ""
    alignments: tuple[int, ...] = ()

    def concerns(self, module: Module, found: Collection[str]) -> bool:
        del module, found
        return any(self.alignments)

    def apply(self, module: Module) -> Module:
        return module.with_operations(
            _stated(op, self.alignments) if symbol_name(op) == self.function else op
            for op in module.operations
        )


def _stated(function: Operation, alignments: tuple[int, ...]) -> Operation:
    entry = function.regions[0].blocks[0]
    pairs = zip(Function(function).arguments, alignments, strict=False)
    stated = [
        Operation(
            "memref.assume_alignment",
            (value,),
            (value.renewed(),),
            {"alignment": IntegerAttr(bytes_, I32)},
            location=function.location,
        )
        for value, bytes_ in pairs
        if bytes_ and isinstance(value.type, MemRefType) and not _is_moved(value.type)
    ]

    def stating(block: Block) -> Block:
        if block is not entry:
            return block
        return block.with_operations([*stated, *block.operations])

    return function.with_blocks(stating)


def _is_moved(ty: MemRefType) -> bool:
    """Whether a layout map decides where elements lie, the first one included."""
    return stored_by_map(ty) is not None


OVERWRITTEN = "gcg.overwritten"


@dataclass(frozen=True, slots=True)
class MarkOverwritten(ModulePass, name="mark-overwritten"):
    """Mark the functions that overwrite arguments before they read them."""

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def marked(op: Operation) -> Operation:
            if op.name != "func.func" or not op.regions[0].blocks:
                return op
            found = tuple(_overwritten(op, surroundings))
            return op.with_attribute(
                OVERWRITTEN, DenseArrayAttr(I32, found) if found else None
            )

        return module.with_operations(map(marked, module.operations))


def _overwritten(function: Operation, surroundings: Surroundings) -> Iterator[int]:
    """Positions of the arguments; layouts may have elements outside the index space."""
    lifted = lift_function(function, surroundings)
    names = {value: name for name, value in lifted.arrays.items()}
    escaping = Escapes.of([function]).anywhere
    found = values(model(lifted.scop))
    for position, value in enumerate(Function(function).arguments):
        is_plain = isinstance(value.type, MemRefType) and value.type.layout is None
        is_known = is_plain and value in names and value not in escaping
        if is_known and is_overwritten(found, names[value]):
            yield position


@dataclass(frozen=True, slots=True)
class PropagateAliases(ModulePass, name="propagate-aliases", looks_for="func.call"):
    """Put arguments that some call lets overlap into groups."""

    def apply(self, module: Module) -> Module:
        taken = re.findall(r"distinct\[(\d+)\]", str(module))
        groups = _Groups.of(module, max(map(int, taken), default=-1) + 1)
        while sum(map(groups.learn, module.functions.values())):
            pass
        return module.with_operations(map(groups.attached, module.operations))


@dataclass(slots=True)
class _Groups:
    """The group number of each argument per function, or None."""

    numbers: dict[str, list[int | None]]
    fresh: Iterator[int]
    free: Iterator[int]
    """Numbers that no ``distinct`` attribute has."""
    names: dict[int, Attribute] = field(default_factory=dict[int, Attribute])

    @staticmethod
    def of(module: Module, free: int) -> _Groups:
        """The groups that the program declares."""
        stated = {
            name: alias_groups(op)
            for name, op in module.functions.items()
            if not Function(op).is_external
        }
        every = dict.fromkeys(g for groups in stated.values() for g in groups if g)
        number = {group: n for n, group in enumerate(every)}
        found = {
            name: [None if g is None else number[g] for g in groups]
            for name, groups in stated.items()
        }
        names = {n: group for group, n in number.items()}
        return _Groups(found, count(len(names)), count(free), names)

    def learn(self, function: Operation) -> bool:
        """Unite arguments by the calls in a function; whether any group grew."""
        view = Function(function)
        if view.is_external:
            return False
        given = zip(view.arguments, self.numbers[view.name], strict=True)
        groups = {v: StringAttr(str(n)) for v, n in given if n is not None}
        aliases = replace(Aliases.of([function], self.numbers), groups=groups)
        united = [
            self._unite(named_function(call), pair)
            for call in function.walk()
            if named_function(call) in self.numbers and call.operands
            for pair in _overlapping(call.operands, aliases)
        ]
        return any(united)

    def _unite(self, name: str, pair: tuple[int, int]) -> bool:
        numbers = self.numbers[name]
        one, other = (numbers[position] for position in pair)
        if one is not None and one == other:
            return False
        number = next(self.fresh) if one is None and other is None else one
        number = other if number is None else number
        merged = {one, other} - {None}
        for position, old in enumerate(numbers):
            if position in pair or old in merged:
                numbers[position] = number
        return True

    def attached(self, op: Operation) -> Operation:
        numbers = self.numbers.get(symbol_name(op), [])
        if op.name != "func.func" or not numbers:
            return op
        return with_groups(op, [None if n is None else self._name(n) for n in numbers])

    def _name(self, number: int) -> Attribute:
        if number not in self.names:
            attribute = DistinctAttr(next(self.free), StringAttr("overlap"))
            self.names[number] = attribute
        return self.names[number]


def _overlapping(
    operands: Sequence[Value], aliases: Aliases
) -> Iterator[tuple[int, int]]:
    """Positions of memrefs that may overlap."""
    memrefs = [(n, aliases.memory(v)) for n, v in enumerate(operands) if is_memref(v)]
    for (n, one), (m, other) in combinations(memrefs, 2):
        if not one.isdisjoint(other):
            yield n, m
