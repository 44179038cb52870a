"""Blocks end in terminators, branches fit targets, operations sit where they may."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.operands import first_difference, focus
from gpucodegen.dialects.framework.printing import VERBATIM
from gpucodegen.errors.focus import Focus
from gpucodegen.ir.operation import Block, Label, Operation, Region


def check_control_flow(root: Operation) -> None:
    """Look at every region of every operation."""
    for op in root.walk():
        definition = registry.lookup(op.name)
        for region in op.regions:
            _check_region(op, definition, region)


def _check_region(op: Operation, definition: Op | None, region: Region) -> None:
    labels = {b.label: b for b in region.blocks if b.label is not None}
    for block in region.blocks:
        for nested in block.operations:
            _check_parent(op, nested)
            if nested is not block.operations[-1]:
                _check_not_terminator(nested)
        if not _may_lack_terminator(definition, region):
            _check_terminator(op, definition, region, block)
        for nested in block.operations[-1:]:
            if VERBATIM not in nested.attributes:
                _check_successors(nested, region, labels)


def _may_lack_terminator(definition: Op | None, region: Region) -> bool:
    """Whether the only block of a region may end in any operation, or be empty."""
    is_free = definition is None or definition.has(Trait.NO_TERMINATOR)
    return is_free and len(region.blocks) == 1


def _check_parent(op: Operation, nested: Operation) -> None:
    definition = registry.lookup(nested.name)
    if definition is None or not definition.parents or op.name in definition.parents:
        return
    if registry.lookup(op.name) is None:
        return
    raise errors.WrongParent(
        nested.location,
        operation=nested.name,
        expected=" or ".join(definition.parents),
        actual=op.name,
    )


def _is_terminator(op: Operation) -> bool:
    definition = registry.lookup(op.name)
    return definition is None or definition.has(Trait.TERMINATOR)


def _check_not_terminator(op: Operation) -> None:
    branches = bool(op.successors) and VERBATIM not in op.attributes
    is_known = registry.lookup(op.name) is not None
    if branches or (is_known and _is_terminator(op)):
        raise errors.MisplacedTerminator(op.location, operation=op.name)


def _check_terminator(
    op: Operation, definition: Op | None, region: Region, block: Block
) -> None:
    last = block.operations[-1] if block.operations else None
    own = () if definition is None else definition.terminators
    fits = last is not None and _is_terminator(last)
    if fits and own and len(region.blocks) == 1 and last is not None:
        known = registry.lookup(last.name) is not None
        fits = not known or last.name in own
    if not fits:
        expected = " or ".join(own) or "a return or a branch"
        raise errors.MissingTerminator(
            last.location if last is not None else op.location,
            operation=op.name,
            expected=expected,
        )


def _check_successors(
    op: Operation, region: Region, labels: dict[Label, Block]
) -> None:
    for i, successor in enumerate(op.successors):
        target = labels.get(successor.label)
        if target is None:
            raise errors.NotDominated(
                op.location,
                value=f"'^{successor.label.name}'",
                advice="Branch to a block of the same region",
                focus=_named(op, i),
            )
        if target is region.blocks[0]:
            raise errors.EntryIsSuccessor(op.location, focus=_named(op, i))
        _check_passed(op, i, target)


def _named(op: Operation, position: int) -> Focus:
    """Where the branch names its target; it may name one several times."""
    label = op.successors[position].label
    skip = sum(s.label is label for s in op.successors[:position])
    return Focus(f"^{label.name}", skip)


def _check_passed(op: Operation, position: int, target: Block) -> None:
    successor = op.successors[position]
    if not successor.operands and registry.lookup(op.name) is None:
        return  # how an unknown operation passes values is its own affair
    actual = [v.type for v in successor.operands]
    expected = [v.type for v in target.arguments]
    if actual == expected:
        return
    wrong = first_difference(successor.operands, expected)
    raise errors.BranchMismatch(
        op.location,
        name=successor.label.name,
        actual=", ".join(map(str, actual)),
        expected=", ".join(map(str, expected)),
        focus=_named(op, position) if wrong is None else focus(op, wrong),
    )
