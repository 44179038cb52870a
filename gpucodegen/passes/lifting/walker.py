"""Lift a region of MLIR to a `Scop`: the tree of loops, conditions and statements.

Comes in: a function or kernel whose body may hold anything.  Goes out: `Lifted`, the
scop with the tables that lead back to operations and values.  What has no affine
form is over-approximated as `gpucodegen.tiling.scop` describes, never left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gpucodegen.dialects import affine
from gpucodegen.dialects.transfers import STARTS, WAITS
from gpucodegen.ir.affine_maps import AffineMap
from gpucodegen.ir.attributes import IntegerSetAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.passes.lifting import transfers, views
from gpucodegen.passes.lifting.accesses import accesses_of
from gpucodegen.passes.lifting.calls import accesses_of_call
from gpucodegen.passes.lifting.environment import Environment
from gpucodegen.passes.lifting.escapes import Escapes
from gpucodegen.passes.lifting.expressions import constraint_texts, map_texts
from gpucodegen.passes.lifting.grid import within_grid
from gpucodegen.passes.lifting.index_values import index_text
from gpucodegen.passes.lifting.reductions import Combiner, memory_reduction
from gpucodegen.passes.lifting.registers import Registers
from gpucodegen.passes.lifting.surroundings import Surroundings
from gpucodegen.tiling.aliases import merged, storages
from gpucodegen.tiling.scop import (
    Access,
    Barrier,
    If,
    Loop,
    Node,
    Reduction,
    Scop,
    Statement,
    Wait,
)

Nodes = list[Node]


@dataclass(frozen=True, slots=True)
class Lifted:
    """A scop and where its parts come from."""

    scop: Scop
    operations: dict[str, tuple[Operation, ...]]
    """Per statement name, its memory operations in the order of its accesses."""
    arrays: dict[str, Value]
    """Per array name, the buffer or loop-carried value."""
    parameters: dict[str, Value]
    """Per parameter name, the value; extents of arguments are not in here."""
    extents: dict[str, tuple[Value, int]]
    """Per parameter that stands for an extent, the buffer and its dimension."""


@dataclass(slots=True)
class Lifter:
    """One walk over a region."""

    env: Environment = field(default_factory=Environment)
    one_access_per_statement: bool = False
    trust_parallel: bool = True
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
    registers: Registers = field(init=False)
    _pending: list[tuple[Operation, Access]] = field(
        default_factory=list[tuple[Operation, Access]]
    )

    def __post_init__(self) -> None:
        """Registers see the same uses."""
        self.registers = Registers(self.definitions, self.uses)

    def index(self, operations: Iterable[Operation]) -> None:
        """Note who defines and how often operations use each value."""
        for root in operations:
            for op in root.walk():
                self.definitions.update(dict.fromkeys(op.results, op))
                self.uses.update(op.used)

    def body(self, operations: Sequence[Operation]) -> tuple[Node, ...]:
        """Nodes of a straight list of operations."""
        nodes: Nodes = []
        for op in operations:
            self._pending += [(op, access) for access in self.registers.reads(op)]
            handler = _HANDLERS.get(op.name)
            if handler is not None:
                self._flush(nodes)
                handler(self, op, nodes)
            elif op.regions and op.name not in _CLOSED:
                self._flush(nodes)
                nodes.append(self._opaque(op))
            else:
                self._plain(op, nodes)
        self._flush(nodes)
        return tuple(nodes)

    def _plain(self, op: Operation, nodes: Nodes) -> None:
        if views.define(op, self.env, self.definitions):
            return
        accesses = accesses_of(op, self.env)
        if accesses is None:
            self._scalar(op)
            return
        listed = op.name in self.listed
        self._pending += [(op, replace(access, listed=listed)) for access in accesses]
        self.env.forget(op)
        if self.one_access_per_statement or any(a.writes for a in accesses):
            self._flush(nodes)

    def _scalar(self, op: Operation) -> None:
        text = index_text(op, self.env, self.definitions)
        if text is None:
            self.env.forget(op)
        else:
            self.env.texts[op.results[0]] = text

    def _flush(self, nodes: Nodes) -> None:
        """End the current statement."""
        if not self._pending:
            return
        operations, accesses = zip(*self._pending, strict=True)
        self._pending.clear()
        reduction = memory_reduction(
            operations, accesses, Combiner(self.definitions, self.uses)
        )
        nodes.append(self._statement(operations, accesses, reduction))

    def _statement(
        self,
        operations: Sequence[Operation],
        accesses: Sequence[Access],
        reduction: Reduction | None = None,
    ) -> Statement:
        name = f"S{len(self.operations)}"
        self.operations[name] = tuple(operations)
        return Statement(name, tuple(accesses), reduction, loc=operations[-1].location)

    # -- loop-carried values ---------------------------------------------------------

    def _initialise(self, loop: affine.For, nodes: Nodes) -> None:
        """Write the first values of what a loop carries."""
        for access in self.registers.enter(loop, self.env):
            nodes.append(self._statement((loop.operation,), (access,)))

    def _carry(self, loop: affine.For) -> Nodes:
        """The update of each register at the end of an iteration."""
        ends = (loop.body[-1],) * 2
        return [
            self._statement(ends, accesses, reduction)
            for accesses, reduction in self.registers.updates(loop)
        ]

    # -- structure -------------------------------------------------------------------

    def _enter(
        self,
        name: str,
        operations: Sequence[Operation],
        extra: Callable[[], Nodes] | None = None,
    ) -> tuple[Node, ...]:
        outer = self.env.scope
        self.env.scope = (*outer, name)
        body = self.body(operations)
        if extra is not None:
            body += tuple(extra())
        self.env.scope = outer
        return body

    def _opaque(self, op: Operation) -> Loop:
        """A loop or region operation without affine form."""
        name = self.env.names.fresh("opaque")
        for region in op.regions:
            for block in _repeated(op, region):
                self.env.texts.update(dict.fromkeys(block.arguments))
        blocks = [block for region in op.regions for block in region.blocks]
        if len(blocks) > 1:
            self.env.rounds.add(name)
        body = self._enter(name, (), lambda: self._one_round(blocks))
        self.env.forget(op)
        return Loop(name, body=body, opaque=True, payload=op, loc=op.location)

    def _one_round(self, blocks: Sequence[Block]) -> Nodes:
        """What may run in one iteration: the only block, or any of several."""
        bodies = [self.body(block.operations) for block in blocks]
        if len(bodies) == 1:
            return list(bodies[0])
        return [If(None, body) for body in bodies]

    def _bound(self, map_: AffineMap, operands: Sequence[Value]) -> tuple[str, ...]:
        """Bound texts; a result without affine form leaves that side open."""
        texts = map_texts(map_, self.env.all_texts(operands))
        return tuple(text for text in texts if text is not None)

    def affine_for(self, op: Operation, nodes: Nodes) -> None:
        """``affine.for``: one loop, registers for its iteration arguments."""
        loop = affine.For(op)
        lower = self._bound(loop.lower_map, loop.lower_operands)
        upper = self._bound(loop.upper_map, loop.upper_operands)
        self._initialise(loop, nodes)
        name = self.env.names.fresh(loop.iv.name, "i")
        self.env.texts[loop.iv] = name
        self.env.bounded(name, lower, upper, loop.step)
        body = self._enter(name, op.body.operations, lambda: self._carry(loop))
        nodes.append(
            Loop(name, lower, upper, loop.step, body, payload=op, loc=op.location)
        )

    def affine_parallel(self, op: Operation, nodes: Nodes) -> None:
        """``affine.parallel``: one loop per variable."""
        loop = affine.Parallel(op)
        outer = self.env.scope
        names = [self.env.names.fresh(iv.name, "i") for iv in loop.ivs]
        bounds = [
            (
                self._bound(low, loop.lower_operands),
                self._bound(up, loop.upper_operands),
            )
            for low, up in zip(loop.lower_maps, loop.upper_maps, strict=True)
        ]
        self.env.texts.update(zip(loop.ivs, names, strict=True))
        self.env.scope = (*outer, *names)
        body = self.body(op.body.operations)
        self.env.scope = outer
        self.env.forget(op)
        for name, (low, up), step in reversed(
            list(zip(names, bounds, loop.steps, strict=True))
        ):
            body = (
                Loop(
                    name,
                    low,
                    up,
                    step,
                    body,
                    parallel=self.trust_parallel,
                    payload=op,
                    loc=op.location,
                ),
            )
        nodes.extend(body)

    def affine_if(self, op: Operation, nodes: Nodes) -> None:
        """``affine.if`` with its integer set."""
        condition = op.attributes["condition"]
        assert isinstance(condition, IntegerSetAttr)
        texts = self.env.all_texts(op.operands)
        split = condition.set.num_dims
        constraints = constraint_texts(
            condition.set.constraints, texts[:split], texts[split:]
        )
        nodes.append(self._branches(op, constraints))

    def scf_if(self, op: Operation, nodes: Nodes) -> None:
        """``scf.if``: either branch may run."""
        nodes.append(self._branches(op, None))

    def _branches(self, op: Operation, constraints: tuple[str, ...] | None) -> If:
        branches = [
            self.body([o for b in region.blocks for o in b.operations])
            for region in op.regions
        ]
        self.env.forget(op)
        then, orelse = (*branches, (), ())[:2]
        return If(constraints, then, orelse, loc=op.location)

    def allocate(self, op: Operation, nodes: Nodes) -> None:
        """A buffer, fresh in each iteration of the loops around it."""
        del nodes
        dynamic = iter(op.operands)
        memref = op.results[0]
        for dimension, extent in enumerate(getattr(memref.type, "shape", ())):
            if extent is None:
                size = self.env.text(next(dynamic))
                if size is not None:
                    self.env.extents[memref, dimension] = size
        seen = self.escapes
        self.env.declare(
            memref,
            local=True,
            fresh=seen is not None and seen.is_fresh(memref),
            forgotten=seen is not None and seen.is_forgotten(memref),
        )

    def mask(self, op: Operation, nodes: Nodes) -> None:
        """``vector.create_mask``: lanes before an index, or the smallest of some."""
        del nodes
        if len(op.operands) != 1:
            return
        made = self.definitions.get(op.operands[0])
        if made is not None and made.name == "affine.min":
            operands = self.env.all_texts(made.operands)
            texts = map_texts(affine.map_of(made), operands)
        else:
            texts = (self.env.text(op.operands[0]),)
        self.env.masks[op.result] = tuple(t for t in texts if t is not None)

    def dma_start(self, op: Operation, nodes: Nodes) -> None:
        """The start of an asynchronous copy."""
        name = f"S{len(self.operations)}"
        statement = transfers.start_statement(op, self.env, name)
        self.operations[name] = (op,) * len(statement.accesses)
        nodes.append(statement)

    def dma_wait(self, op: Operation, nodes: Nodes) -> None:
        """The completion of an asynchronous copy."""
        nodes.append(Wait(transfers.wait_tag(op, self.env), loc=op.location))

    def barrier(self, op: Operation, nodes: Nodes) -> None:
        """``gpu.barrier``."""
        nodes.append(Barrier(loc=op.location))

    # -- calls -----------------------------------------------------------------------

    def call(self, op: Operation, nodes: Nodes) -> None:
        """``func.call``: one statement with all that the callee touches."""
        accesses = accesses_of_call(op, self)
        self.env.forget(op)
        if accesses:
            nodes.append(self._statement((op,) * len(accesses), accesses))

    def inside(self, name: str) -> Lifter:
        """A lifter for the body of a called function; its statements are its own."""
        return replace(
            self, active=(*self.active, name), operations={}, _pending=[], listed=_NONE
        )

    def lifted(self, function: Operation) -> tuple[Node, ...]:
        """The nodes of a function."""
        self.index([function])
        views.foresee(function, self.env, self.definitions)
        blocks = [block for region in function.regions for block in region.blocks]
        return self.function_body(function, blocks)

    # -- whole functions -------------------------------------------------------------

    def declare_context(self, operations: Sequence[Operation]) -> None:
        """Take constants, extents and views from operations outside."""
        for op in operations:
            self.definitions.update(dict.fromkeys(op.results, op))
        for op in operations:
            if op.name in ALLOCATIONS:
                self.allocate(op, [])
            elif op.name == "func.call":
                self.call(op, [])
            elif not op.regions and not views.define(op, self.env, self.definitions):
                self._scalar(op)

    def function_body(self, op: Operation, blocks: Sequence[Block]) -> tuple[Node, ...]:
        """Nodes of a function; several blocks are an opaque loop around each."""
        if len(blocks) == 1:
            inner = blocks[0].operations
            if op.name == "gpu.func":
                return within_grid(op, self.env, lambda: self.body(inner))
            return self.body(inner)
        return (self._opaque(op),) if blocks else ()

    def finish(self, body: tuple[Node, ...], loc: object) -> Lifted:
        """The scop of everything walked."""
        env = self.env
        extents = set(env.extents.values())
        names = dict.fromkeys(env.parameters.values())
        names.update(dict.fromkeys(e for e in env.extents.values() if e.isidentifier()))
        local = set(env.texts.values()) - extents - set(env.parameters.values())
        scop = Scop(
            tuple(n for n in names if n not in local),
            tuple(dict.fromkeys(env.context)),
            tuple(env.arrays.values()),
            body,
            loc=loc,
        )
        groups = env.groups(self.surroundings.groups)
        return Lifted(
            merged(scop, groups),
            self.operations,
            env.buffers(storages(scop, groups)),
            {name: value for value, name in env.parameters.items()},
            {name: place for place, name in env.extents.items() if name.isidentifier()},
        )


def _repeated(op: Operation, region: Region) -> tuple[Block, ...]:
    """The blocks whose arguments change; those of a function's entry do not."""
    return region.blocks[1:] if op.name == "func.func" else region.blocks


_NONE: frozenset[str] = frozenset()

_CLOSED = frozenset({"linalg.generic"})
"""Operations with regions whose effects stand in the access table."""

ALLOCATIONS = ("memref.alloc", "memref.alloca")

_HANDLERS: dict[str, Callable[[Lifter, Operation, Nodes], None]] = {
    "affine.for": Lifter.affine_for,
    "affine.parallel": Lifter.affine_parallel,
    "affine.if": Lifter.affine_if,
    "scf.if": Lifter.scf_if,
    **dict.fromkeys(ALLOCATIONS, Lifter.allocate),
    **dict.fromkeys(STARTS, Lifter.dma_start),
    **dict.fromkeys(WAITS, Lifter.dma_wait),
    "gpu.barrier": Lifter.barrier,
    "vector.create_mask": Lifter.mask,
    "func.call": Lifter.call,
}
