"""The blocks of a region made fewer: decided branches, dead blocks, chains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gpucodegen.ir.operation import (
    Block,
    Label,
    Operation,
    Successor,
    Value,
    substitute_values,
)

Integer = Callable[[Value], "int | None"]


def simplified(blocks: Sequence[Block], integer: Integer) -> tuple[Block, ...]:
    """The same control flow in fewer blocks; ``integer`` is a constant's value.

    A branch on a constant goes one way; an unreachable block goes; a block that
    only one jump reaches stands where the jump was.
    """
    decided = [_decided(block, integer) for block in blocks]
    return _chained(_reached(decided))


def _decided(block: Block, integer: Integer) -> Block:
    *before, last = block.operations or (None,)
    if last is None or last.name != "cf.cond_br":
        return block
    condition = integer(last.operands[0])
    if condition is None:
        return block
    taken = last.successors[0 if condition else 1]
    return block.with_operations([*before, _jump(last, taken)])


def _jump(op: Operation, target: Successor) -> Operation:
    return Operation("cf.br", successors=(target,), location=op.location)


def _targets(block: Block) -> list[Label]:
    return [target.label for op in block.operations[-1:] for target in op.successors]


def _reached(blocks: Sequence[Block]) -> list[Block]:
    """The blocks that some path from the entry leads to, in their order."""
    by_label = {block.label: block for block in blocks}
    seen: set[Block] = set()
    work = list(blocks[:1])
    while work:
        block = work.pop()
        if block not in seen:
            seen.add(block)
            work += [by_label[label] for label in _targets(block) if label in by_label]
    return [block for block in blocks if block in seen]


def _chained(blocks: list[Block]) -> tuple[Block, ...]:
    """Blocks that end in the only jump to the next one, joined with it."""
    while True:
        arrivals = Counter(label for block in blocks for label in _targets(block))
        joined = next(filter(None, (_join(b, blocks, arrivals) for b in blocks)), None)
        if joined is None:
            return tuple(blocks)
        blocks = joined


def _join(
    block: Block, blocks: list[Block], arrivals: Counter[Label]
) -> list[Block] | None:
    """The blocks with ``block`` and the one it jumps to as one."""
    *before, last = block.operations or (None,)
    if last is None or last.name != "cf.br":
        return None
    target = last.successors[0]
    found = [b for b in blocks[1:] if b.label is target.label and b is not block]
    if not found or arrivals[target.label] != 1:
        return None
    (following,) = found
    whole = block.with_operations([*before, *following.operations])
    rest = [whole if b is block else b for b in blocks if b is not following]
    passed = zip(following.arguments, target.operands, strict=True)
    return _renamed(rest, dict(passed))


def _renamed(blocks: list[Block], values: dict[Value, Value]) -> list[Block]:
    if not values:
        return blocks
    return [
        block.with_operations(substitute_values(op, values) for op in block.operations)
        for block in blocks
    ]
