"""SSA form: every use is dominated by its definition.

A value is visible after its operation in its own block, in the blocks that block
dominates, and in regions nested there; not beyond an operation isolated from above.
In a graph region everything defined in it is visible.  Unreachable blocks are not
checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpucodegen import errors
from gpucodegen.dialects.cf.order import labelled, reverse_postorder, targets
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.operands import defined_here, focus, shown
from gpucodegen.ir.operation import Block, Operation, Region, Value


def check_dominance(root: Operation) -> None:
    """Look at every use in ``root``."""
    _Walk().regions(root)


@dataclass(slots=True)
class _Walk:
    """The values visible at one place, and those hidden by isolation."""

    visible: set[Value] = field(default_factory=set[Value])
    hidden: list[tuple[Operation, set[Value]]] = field(
        default_factory=list[tuple[Operation, set[Value]]]
    )

    def operation(self, op: Operation) -> None:
        """Uses of the operation, its regions, then its results."""
        for value in _used_by(op):
            if value not in self.visible:
                raise self.misuse(op, value)
        if op.regions:
            self.regions(op)

    def misuse(self, op: Operation, value: Value) -> errors.VerifyError:
        """The error for a use of an invisible value."""
        for isolated, values in self.hidden:
            if value in values:
                return errors.CapturedValue(
                    op.location,
                    value=shown(value),
                    operation=isolated.name,
                    notes=defined_here(value),
                    focus=focus(op, value),
                )
        return errors.NotDominated(
            op.location,
            value=shown(value),
            notes=defined_here(value),
            focus=focus(op, value),
        )

    def regions(self, op: Operation) -> None:
        """The regions of an operation, with their own visible values when isolated."""
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
        """All blocks, each after those that dominate it."""
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
        """A block whose values are all visible from its start."""
        added = list(_defined_in(block))
        self.visible.update(added)
        for op in block.operations:
            self.operation(op)
        self.visible.difference_update(added)

    def block(self, block: Block) -> list[Value]:
        """One block in order; returns the values it leaves visible."""
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
