"""Blocks in the order in which control reaches them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpucodegen.ir.operation import Block, Label


def labelled(blocks: Sequence[Block]) -> dict[Label, Block]:
    """The blocks that branches may name."""
    return {b.label: b for b in blocks if b.label is not None}


def targets(block: Block, labels: Mapping[Label, Block]) -> Iterable[Block]:
    """Where the branch at the end of a block goes to."""
    for op in block.operations[-1:]:
        for successor in op.successors:
            target = labels.get(successor.label)
            if target is not None:
                yield target


def reverse_postorder(blocks: Sequence[Block]) -> list[Block]:
    """The blocks that the first one leads to, each behind all that dominate it.

    >>> from gpucodegen.ir.operation import Operation, Successor
    >>> last, middle = Label("last"), Label("middle")
    >>> def jump(to: Label) -> tuple[Operation, ...]:
    ...     return (Operation("cf.br", successors=(Successor(to),)),)
    >>> blocks = [Block((), jump(middle)), Block((), (), last)]
    >>> blocks.append(Block((), jump(last), middle))
    >>> [blocks.index(block) for block in reverse_postorder(blocks)]
    [0, 2, 1]
    """
    labels = labelled(blocks)
    seen: set[Block] = {blocks[0]}
    postorder: list[Block] = []
    stack = [(blocks[0], iter(targets(blocks[0], labels)))]
    while stack:
        block, following = stack[-1]
        target = next((t for t in following if t not in seen), None)
        if target is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(targets(target, labels))))
    return postorder[::-1]
