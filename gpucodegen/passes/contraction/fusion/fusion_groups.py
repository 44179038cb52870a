"""Fusion groups of a block: each contraction with the nests fused into it.

What a nest before a contraction stores to its result, the first block of the reduction
makes in registers. What the nests after it do to the result, its epilogue, the last
block does. Buffers that nothing reads any more are not stored; their allocations go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.contraction.cpu.packing.padding import unpadded
from gpucodegen.passes.contraction.fusion.epilogue_fusion import EpilogueGroup
from gpucodegen.passes.contraction.fusion.start import Alone, Mapped
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.prepare.affine.dead_code import all_used


@dataclass(frozen=True, slots=True)
class FusionMember:
    """A nest, which ``alone`` maps as it is, or another operation.

    ``contraction``: what the nest computes, if a kernel of contractions runs it.
    ``others``: operations behind it that are mapped with it, and fused with nothing.
    """

    op: Operation
    alone: Alone | None = None
    contraction: Contraction | None = None
    others: tuple[Operation, ...] = ()


@dataclass(slots=True)
class FusionGroups:
    """The nests and other operations of a block, in order.

    ``uses`` counts those of each value in the function.
    ``lower``: operations for a contraction, if what is fused with it can be carried
    along.  ``context``: operations before the block.
    """

    members: Sequence[FusionMember]
    lower: Callable[[Contraction], list[Operation] | None]
    uses: Mapping[Value, int]
    context: Sequence[Operation] = ()
    surroundings: Surroundings = field(default_factory=Surroundings)
    mapped: Mapped = field(default_factory=Mapped)
    dead: set[Value] = field(default_factory=set[Value])

    def all_mapped(self) -> list[Operation]:
        """The operations that replace the members."""
        at = 0
        while at < len(self.members):
            at = self._contracted(at) or self._alone(at)
        self.mapped.close()
        return self._without_unused()

    def _alone(self, at: int) -> int:
        member = self.members[at]
        if member.op.name == "affine.for" and member.alone is not None:
            self.mapped.add_nest(member.op, member.alone)
        else:
            self.mapped.add([member.op] if member.alone is None else member.alone())
        return at + 1

    def _contracted(self, at: int) -> int:
        """Where the members after a contraction and its epilogue begin; 0: it is none.

        What does not fit the contraction's kernel stays a nest.
        """
        member = self.members[at]
        if member.contraction is None:
            return 0
        operations = [p.op for p in self.members]
        group = EpilogueGroup.of(
            member.op, member.contraction, self._before(at), self.surroundings
        )
        if self.mapped.nest is not None:
            group = group.led_by(self.mapped.nest)
        if group.before is None:
            self.mapped.close()
        behind = takewhile(lambda m: not m.others, self.members[at + 1 :])
        group = group.followed_by([m.op for m in behind])
        alone = replace(group, after=())
        for found in (group, alone, replace(alone, before=None)):
            nests = [member.nest for member in found.members]
            end = operations.index(nests[-1]) + 1
            dead = self._dead_after(end)
            fused = found.fused(dead)
            made = self._lowered(fused, at, end, dead)
            if made is not None:
                self.mapped.add([o for o in operations[at + 1 : end] if o not in nests])
                if found.before is not None:
                    self.mapped.drop_nest()
                if fused.right.memref in dead and not _uses(made)[fused.right.memref]:
                    self.mapped.drop_writers(fused.right.memref)
                self.mapped.add(made)
                self.dead |= dead
                return end
        raise AssertionError("a contraction alone has a kernel")

    def _lowered(
        self, contraction: Contraction, at: int, end: int, dead: Collection[Value]
    ) -> list[Operation] | None:
        """Operations for a contraction, without a padded copy of its right factor.

        Where it is needed, the copy is that of the nests in front.
        """
        before, running = self._before(at), [m.op for m in self.members[at:end]]
        source = None
        if contraction.right.memref in dead:
            source = unpadded(contraction, before, running, self.surroundings)
        made = source and self.lower(source)
        return all_used(made) if made else self.lower(contraction)

    def _before(self, at: int) -> list[Operation]:
        """The operations in front of a member."""
        members = self.members[:at]
        return [*self.context, *(op for m in members for op in (m.op, *m.others))]

    def _dead_after(self, end: int) -> set[Value]:
        """Buffers of this block that only nests before ``end`` use."""
        operations = [member.op for member in self.members]
        nests = (op for op in operations[:end] if op.name == "affine.for")
        used = _uses(nests) + _uses(op for op in operations if op.name == DEALLOC)
        made = {op.result for op in operations if op.name in ALLOCATIONS}
        return {value for value in made if used[value] == self.uses.get(value)}

    def _without_unused(self) -> list[Operation]:
        """The mapped operations without dead buffers that nothing uses any more."""
        used = _uses(op for op in self.mapped.operations if op.name != DEALLOC)
        gone = {value for value in self.dead if not used[value]}
        return [op for op in self.mapped.operations if not _is_of(op, gone)]


DEALLOC = "memref.dealloc"


def _uses(operations: Iterable[Operation]) -> Counter[Value]:
    return Counter(v for op in operations for inner in op.walk() for v in inner.used)


def _is_of(op: Operation, buffers: Collection[Value]) -> bool:
    """Whether an operation allocates or frees one of the buffers."""
    if op.name == DEALLOC:
        return op.operands[0] in buffers
    return op.name in ALLOCATIONS and op.result in buffers
