"""Verifies terminators, branches and dominance of uses.

In SSA form every use is dominated by its definition. A value is visible after its
operation in its own block, in the blocks that block dominates, and in regions nested
there; not inside an operation isolated from above. In a graph region everything defined
in it is visible. Unreachable blocks are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects.cf import labelled, reverse_postorder, targets
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.constraints import (
    defined_here,
    first_difference,
    focus,
    name_of,
)
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.printing import VERBATIM
from gpucodegen.dialects.verifier.structure import unverified
from gpucodegen.errors.base import Focus
from gpucodegen.ir.operation import Block, Label, Operation, Region, Value
from gpucodegen.records import dataclass


def check_dominance(root: Operation) -> None:
    """Check every use inside ``root``."""
    _Walk().regions(root)


@dataclass(slots=True)
class _Walk:
    """The values visible at one place, and those hidden by isolation."""

    visible: set[Value] = field(default_factory=set[Value])
    hidden: list[tuple[Operation, set[Value]]] = field(
        default_factory=list[tuple[Operation, set[Value]]]
    )

    def operation(self, op: Operation) -> None:
        for value in _used_by(op):
            if value not in self.visible:
                raise self.misuse(op, value)
        if op.regions:
            self.regions(op)

    def misuse(self, op: Operation, value: Value) -> errors.VerifyError:
        """The error for a use of a value that is not visible."""
        for isolated, values in self.hidden:
            if value in values:
                return errors.CapturedValue(
                    op.location,
                    value=name_of(value),
                    operation=isolated.name,
                    notes=defined_here(value),
                    focus=focus(op, value),
                )
        return errors.NotDominated(
            op.location,
            value=name_of(value),
            notes=defined_here(value),
            focus=focus(op, value),
        )

    def regions(self, op: Operation) -> None:
        """Check an operation's regions, with no visible values if it is isolated."""
        definition = registry.lookup(op.name)
        is_isolated = definition is not None and definition.is_isolated
        is_graph = definition is None or definition.has(Trait.GRAPH)
        outer = self.visible
        if is_isolated:
            self.hidden.append((op, outer))
            self.visible = set()
        for region in op.regions:
            self.region(region, is_graph=is_graph)
        if is_isolated:
            self.hidden.pop()
            self.visible = outer

    def region(self, region: Region, *, is_graph: bool) -> None:
        """Check all blocks, each after its dominators."""
        if not region.blocks:
            return
        if is_graph and len(region.blocks) == 1:
            self.graph(region.blocks[0])
        elif len(region.blocks) == 1:
            added = self.block(region.blocks[0])
            self.visible.difference_update(added)
        else:
            self.blocks(region)

    def graph(self, block: Block) -> None:
        """Check a block of a graph region: its values are visible from its start."""
        added = list(_defined_in(block))
        self.visible.update(added)
        for op in block.operations:
            self.operation(op)
        self.visible.difference_update(added)

    def block(self, block: Block) -> list[Value]:
        """Check one block in order; return the values that it leaves visible."""
        visible = self.visible
        added = list(block.arguments)
        visible.update(added)
        for op in block.operations:
            self.operation(op)
            if op.results:
                visible.update(op.results)
                added += op.results
        return added

    def blocks(self, region: Region) -> None:
        """Blocks in preorder of the dominator tree."""
        children = dominator_tree(region)
        entry = region.blocks[0]
        stack: list[tuple[Block | None, list[Value]]] = [(entry, [])]
        while stack:
            block, done = stack.pop()
            if block is None:
                self.visible.difference_update(done)
                continue
            added = self.block(block)
            stack.append((None, added))
            stack += [(child, []) for child in children.get(block, ())]


def _used_by(op: Operation) -> Iterator[Value]:
    yield from op.operands
    for successor in op.successors:
        yield from successor.operands


def _defined_in(block: Block) -> Iterator[Value]:
    yield from block.arguments
    for op in block.operations:
        yield from op.results


# -- dominators ------------------------------------------------------------------------


def dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """Children of each reachable block in the dominator tree.

    Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm".
    """
    order = reverse_postorder(region.blocks)
    number = {block: i for i, block in enumerate(order)}
    predecessors = _predecessors(region, number)
    dominator = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [b for b in predecessors[block] if b in dominator]
            meet = known[0]
            for other in known[1:]:
                meet = _intersect(meet, other, dominator, number)
            if dominator.get(block) is not meet:
                dominator[block] = meet
                changed = True
    children: dict[Block, list[Block]] = {}
    for block in order[1:]:
        children.setdefault(dominator[block], []).append(block)
    return children


def _intersect(
    a: Block, b: Block, dominator: Mapping[Block, Block], number: Mapping[Block, int]
) -> Block:
    while a is not b:
        while number[a] > number[b]:
            a = dominator[a]
        while number[b] > number[a]:
            b = dominator[b]
    return a


def _predecessors(
    region: Region, reachable: Mapping[Block, int]
) -> dict[Block, list[Block]]:
    labels = labelled(region.blocks)
    found: dict[Block, list[Block]] = {block: [] for block in region.blocks}
    for block in reachable:
        for target in targets(block, labels):
            found[target].append(block)
    return found


def check_control_flow(
    root: Operation, verified: AbstractSet[Operation] = frozenset()
) -> None:
    """Check blocks, terminators and branches, but for those in ``verified``."""
    for op in unverified(root, verified):
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
    """Whether a single-block region may be empty or end in any operation."""
    is_free = definition is None or definition.has(Trait.NO_TERMINATOR)
    return is_free and len(region.blocks) == 1


def _check_parent(op: Operation, nested: Operation) -> None:
    definition = registry.lookup(nested.name)
    if definition is None or not definition.parents or op.name in definition.parents:
        return
    if registry.lookup(op.name) is None:
        return
    raise errors.WrongParent.at(
        nested, expected=" or ".join(definition.parents), actual=op.name
    )


def _is_terminator(op: Operation) -> bool:
    definition = registry.lookup(op.name)
    return definition is None or definition.has(Trait.TERMINATOR)


def _check_not_terminator(op: Operation) -> None:
    branches = bool(op.successors) and VERBATIM not in op.attributes
    is_known = registry.lookup(op.name) is not None
    if branches or (is_known and _is_terminator(op)):
        raise errors.MisplacedTerminator.at(op)


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
    """Where the branch names its target, which may occur several times."""
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
