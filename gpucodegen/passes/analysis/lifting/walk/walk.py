"""One walk over a region of MLIR: what it knows, and what its nodes are made with.

`structure`, `grid` and `calls` make nodes out of a walk; `walker` says which of them
an operation is for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.passes.analysis.lifting.buffers.escapes import Escapes
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.passes.analysis.lifting.surroundings import Surroundings
from gpucodegen.passes.analysis.lifting.walk.registers import Registers
from gpucodegen.tiling.model.scop import Access, Node, Reduction, Statement

Nodes = list[Node]


@dataclass(slots=True)
class Walk(ABC):
    """One walk over a region."""

    env: Environment = field(default_factory=Environment)
    one_access_per_statement: bool = False
    trust_parallel: bool = True
    counted: bool = False
    """Whether ``scf.for`` counts like an affine loop where its bounds are known."""
    listed: frozenset[str] = frozenset()
    """Operations that take a row of ``gpucodegen deps``."""
    surroundings: Surroundings = field(default_factory=Surroundings)
    active: tuple[str, ...] = ()
    """Called functions that are looked at now, outermost first."""
    escapes: Escapes | None = None
    """Known where all uses of the buffers allocated here are walked."""
    definitions: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    uses: Counter[Value] = field(default_factory=Counter[Value])
    operations: dict[str, tuple[Operation, ...]] = field(
        default_factory=dict[str, tuple[Operation, ...]]
    )
    agreed: frozenset[Operation] = frozenset()
    """Branches before everything else that end the program unless extents agree."""
    registers: Registers = field(init=False)

    def __post_init__(self) -> None:
        """Registers see the same uses; a proof trusts indices, not loops."""
        self.registers = Registers(self.definitions, self.uses)
        self.env.trusts_indices = not self.trust_parallel
        self.env.definitions = self.definitions

    @abstractmethod
    def body(self, operations: Sequence[Operation]) -> tuple[Node, ...]:
        """Nodes of a straight list of operations."""

    @abstractmethod
    def function_body(self, op: Operation, blocks: Sequence[Block]) -> tuple[Node, ...]:
        """Nodes of a function; several blocks are an opaque loop around each."""

    @abstractmethod
    def inside(self, name: str) -> Walk:
        """A walk for the body of a called function; its statements are its own."""

    @abstractmethod
    def lifted(self, function: Operation) -> tuple[Node, ...]:
        """The nodes of a function."""

    def enter(
        self,
        name: str,
        operations: Sequence[Operation],
        extra: Callable[[], Nodes] | None = None,
    ) -> tuple[Node, ...]:
        """The body of a loop: ``operations``, then the nodes that ``extra`` makes."""
        outer = self.env.scope
        self.env.scope = (*outer, name)
        body = self.body(operations)
        if extra is not None:
            body += tuple(extra())
        self.env.scope = outer
        return body

    def statement(
        self,
        operations: Sequence[Operation],
        accesses: Sequence[Access],
        reduction: Reduction | None = None,
    ) -> Statement:
        """A statement of these accesses, each the work of one operation."""
        name = f"S{len(self.operations)}"
        self.operations[name] = tuple(operations)
        return Statement(name, tuple(accesses), reduction, loc=operations[-1].location)

    def initialise(self, loop: affine.For, nodes: Nodes) -> None:
        """Write the first values of what a loop carries."""
        for access in self.registers.enter(loop, self.env):
            nodes.append(self.statement((loop.operation,), (access,)))

    def carry(self, loop: affine.For) -> Nodes:
        """The update of each register at the end of an iteration."""
        ends = (loop.body[-1],) * 2
        return [
            self.statement(ends, accesses, reduction)
            for accesses, reduction in self.registers.updates(loop)
        ]
