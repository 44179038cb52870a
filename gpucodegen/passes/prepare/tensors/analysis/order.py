"""What may run after an operation: loops, branches and the order of the text.

A value is made anew whenever its operation runs.  So a use counts as later if it may
run, for the same value, after the operation that is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpucodegen.ir.operation import Block, Operation, Region, Value

BRANCHES = frozenset(
    {"scf.if", "affine.if", "scf.index_switch", "scf.execute_region", "func.func"}
)
"""Operations whose regions run at most once each; regions of others may repeat."""


@dataclass(frozen=True, slots=True)
class Use:
    """The operand of an operation at a position; -1 is a branch's operand."""

    op: Operation
    position: int


@dataclass(slots=True)
class Order:
    """Positions in a function, and where each value is made and used."""

    begin: dict[Operation, int] = field(default_factory=dict[Operation, int])
    end: dict[Operation, int] = field(default_factory=dict[Operation, int])
    around: dict[Operation, tuple[Operation, ...]] = field(
        default_factory=dict[Operation, tuple[Operation, ...]]
    )
    """Operations around one, the function first."""
    region: dict[Operation, Region] = field(default_factory=dict[Operation, Region])
    block: dict[Operation, Block] = field(default_factory=dict[Operation, Block])
    scope: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    home: dict[Value, Block] = field(default_factory=dict[Value, Block])
    """The block in which a value is made."""
    made: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    uses: dict[Value, list[Use]] = field(default_factory=dict[Value, list[Use]])

    @staticmethod
    def of(function: Operation) -> Order:
        """The order of one function."""
        order = Order()
        order.around[function] = ()
        order._visit(function)
        return order

    def _visit(self, op: Operation) -> None:
        self.begin[op] = len(self.begin)
        for position, value in enumerate(op.operands):
            self.uses.setdefault(value, []).append(Use(op, position))
        for target in op.successors:
            for value in target.operands:
                self.uses.setdefault(value, []).append(Use(op, -1))
        inside = (*self.around[op], op)
        for region in op.regions:
            for block in region.blocks:
                self._define(block.arguments, op, block)
                for inner in block.operations:
                    self.around[inner], self.region[inner] = inside, region
                    self.block[inner] = block
                    self._define(inner.results, op, block)
                    self.made.update((v, inner) for v in inner.results)
                    self._visit(inner)
        self.end[op] = len(self.begin)

    def _define(self, values: tuple[Value, ...], op: Operation, block: Block) -> None:
        self.scope.update((v, op) for v in values)
        self.home.update((v, block) for v in values)

    def is_inside(self, op: Operation, outer: Operation) -> bool:
        """Whether an operation is nested in another one."""
        return self.begin[outer] < self.begin[op] < self.end[outer]

    def precedes(self, value: Value, op: Operation) -> bool:
        """Whether a value is made in front of an operation, in a block around it."""
        made = self.made.get(value)
        is_around = self.scope[value] in self.around[op]
        return is_around and (made is None or self.begin[made] < self.begin[op])

    def repeats(self, value: Value, op: Operation) -> Operation | None:
        """The outermost loop that runs ``op`` again for one and the same value."""
        outer = self.around[op]
        start = outer.index(self.scope[value]) + 1
        return next((o for o in outer[start:] if o.name not in BRANCHES), None)

    def may_follow(self, value: Value, use: Operation, op: Operation) -> bool:
        """Whether ``use`` may see the value after ``op`` ran."""
        if self.scope[value] not in self.around[op]:
            return False
        loop = self.repeats(value, op)
        if loop is not None and (use is loop or self.is_inside(use, loop)):
            return use is not loop
        if self._jumps(value, use, op):
            return True
        if use is op or self.is_inside(use, op) or self.is_inside(op, use):
            return False
        return self.begin[use] > self.begin[op] and not self._excluded(use, op)

    def _jumps(self, value: Value, use: Operation, op: Operation) -> bool:
        """Whether blocks between them may run in any order."""
        for outer in (*self.around[op], op)[1:]:
            region = self.region[outer]
            if len(region.blocks) < 2:
                continue
            home, scope = self.block[outer], self.scope[value]
            is_nested = scope is outer or outer in self.around[scope]
            if is_nested:
                continue
            if self.home[value] is not home:
                return True
            path = (*self.around[use], use)[1:]
            if any(
                self.region[o] is region and self.block[o] is not home for o in path
            ):
                return True
        return False

    def _excluded(self, use: Operation, op: Operation) -> bool:
        """Whether they are in regions of which one runs."""
        first, second = (*self.around[use], use), (*self.around[op], op)
        for one, other in zip(first[1:], second[1:], strict=False):
            if one is not other:
                outer = self.around[one][-1]
                is_choice = outer.name in BRANCHES
                return is_choice and self.region[one] is not self.region[other]
        return False
