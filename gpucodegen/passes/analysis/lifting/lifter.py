"""Lift a region of MLIR to a `Scop`: the tree of loops, conditions and statements.

`Lifter` walks a function or kernel with any body and appends a node per loop, condition
and statement; `structure` makes the nodes of loops and conditions.  The result,
`Lifted`, holds the scop and the tables from its parts back to operations and values.
Arrays that may overlap are one array of the scop.  Code without an affine form is
over-approximated as `gpucodegen.tiling.model.scop` describes, never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from gpucodegen.dialects import affine
from gpucodegen.dialects.gpu.collectives import COLLECTIVES, collective_of
from gpucodegen.dialects.nvgpu.copies import COMMIT, COPY, WAIT, pending_groups
from gpucodegen.dialects.shared.dma import STARTS, WAITS, is_joined, left_open
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.passes.analysis.lifting import (
    asynchronous_copies,
    index_values,
    structure,
)
from gpucodegen.passes.analysis.lifting.accesses import (
    accesses_of,
    shape_read,
)
from gpucodegen.passes.analysis.lifting.aliases import choices
from gpucodegen.passes.analysis.lifting.calls import accesses_of_call
from gpucodegen.passes.analysis.lifting.environment import Environment, map_texts
from gpucodegen.passes.analysis.lifting.index_values import index_text
from gpucodegen.passes.analysis.lifting.module_context import LiftingWalk, Nodes
from gpucodegen.passes.analysis.lifting.reductions import (
    Combinations,
    memory_reduction,
)
from gpucodegen.passes.analysis.lifting.structure import gpu_launch, within_grid
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import (
    Access,
    Barrier,
    Commit,
    GroupWait,
    Node,
    ProxyFence,
    Scop,
    Tag,
    Wait,
)
from gpucodegen.tiling.model.summaries import merged, storages
from gpucodegen.tiling.proof.kernel_order import ALL_LANES


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
    """Per parameter that stands for extents, the first such buffer, its dimension."""
    storages: dict[str, str]
    """Per array that may overlap others, their common array in the scop."""

    def names_of(self, buffer: Value) -> set[str]:
        """The arrays of the scop that cells of a buffer may be in."""
        own = {name for name, value in self.arrays.items() if value is buffer}
        return own | {self.storages[name] for name in own if name in self.storages}


def lifted_scop(
    body: tuple[Node, ...],
    env: Environment,
    operations: dict[str, tuple[Operation, ...]],
    groups: Mapping[str, object],
    loc: object,
) -> Lifted:
    """The scop of all nodes; ``groups`` of arrays that may overlap."""
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
        words=tuple((name, said) for name, said in env.said() if name in names),
    )
    shared = storages(scop, groups)
    return Lifted(
        merged(scop, groups),
        operations,
        env.buffers(shared),
        {name: value for value, name in env.parameters.items()},
        _first_places(env),
        shared,
    )


def _first_places(env: Environment) -> dict[str, tuple[Value, int]]:
    """For buffers with a common extent, the first one, which is always defined."""
    found: dict[str, tuple[Value, int]] = {}
    for place, name in env.extents.items():
        if name.isidentifier():
            found.setdefault(name, place)
    return found


@dataclass(slots=True)
class Lifter(LiftingWalk):
    """The walk over a region, with the rule for each operation."""

    _pending: list[tuple[Operation, Access]] = field(
        default_factory=list[tuple[Operation, Access]]
    )
    _waited: list[tuple[Tag, Location]] = field(
        default_factory=list[tuple[Tag, Location]]
    )

    def index(self, operations: Sequence[Operation]) -> None:
        """Record definitions, use counts and choices among memrefs."""
        self.env.joined += choices(operations)
        for root in operations:
            for op in root.walk():
                self.definitions.update(dict.fromkeys(op.results, op))
                self.uses.update(op.used)
                self._name_extent(op)

    def _name_extent(self, op: Operation) -> None:
        """Name an extent after the program's first ``memref.dim`` of it."""
        if op.name != "memref.dim" or not op.result.name.isidentifier():
            return
        dimension = self._number(op.operands[1])
        if dimension is not None:
            self.env.sizes.setdefault((op.operands[0], dimension), op.result.name)

    def body(self, operations: Sequence[Operation]) -> tuple[Node, ...]:
        """Nodes of a straight list of operations."""
        nodes: Nodes = []
        for op in operations:
            self._pending += [(op, access) for access in self.registers.reads(op)]
            handler = _HANDLERS.get(op.name)
            if self.counted and structure.counts(op, self.env, self.definitions):
                handler = structure.scf_for
            if handler is not None:
                self._flush(nodes)
                handler(self, op, nodes)
            elif op.regions and op.name not in _CLOSED:
                self._flush(nodes)
                nodes.append(structure.opaque(self, op))
            else:
                self._plain(op, nodes)
        self._flush(nodes)
        self._waited.clear()
        return tuple(nodes)

    def _plain(self, op: Operation, nodes: Nodes) -> None:
        if index_values.define(op, self.env, self.definitions):
            self._pending += [(op, access) for access in shape_read(op, self.env)]
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
        if not self._pending:
            return
        operations, accesses = zip(*self._pending, strict=True)
        self._pending.clear()
        reduction = memory_reduction(
            operations, accesses, Combinations(self.definitions, self.uses)
        )
        nodes.append(self.statement(operations, accesses, reduction))

    # -- structure -------------------------------------------------------------------

    def allocate(self, op: Operation, nodes: Nodes) -> None:
        """A buffer, fresh in each iteration of the loops around it.

        An extent that loops decide is a parameter, any number, and a text over them.
        """
        del nodes
        dynamic = iter(op.operands)
        memref = op.results[0]
        scoped: list[tuple[int, str]] = []
        for dimension, extent in enumerate(getattr(memref.type, "shape", ())):
            if extent is None:
                size = self.env.text(next(dynamic))
                if size is not None and not self.env.varies(size):
                    self.env.extents[memref, dimension] = size
                elif size is not None:
                    scoped.append((dimension, size))
        seen = self.escapes
        self.env.declare(
            self.env.root(memref),
            local=True,
            fresh=seen is not None and seen.is_fresh(memref) and not self.env.threads,
            forgotten=seen is not None and seen.is_forgotten(memref),
            scoped_extents=scoped,
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
        name = f"S{len(self.operations)}"
        statement = asynchronous_copies.start_statement(op, self.env, name)
        self.operations[name] = (op,) * len(statement.accesses)
        nodes.append(statement)

    def dma_wait(self, op: Operation, nodes: Nodes) -> None:
        """The completion of copies, including those that earlier waits left to it."""
        self._waited.append((asynchronous_copies.wait_tag(op, self.env), op.location))
        if not is_joined(op):
            pending = left_open(op)
            nodes += [Wait(*each, pending, payload=op) for each in self._waited]
            self._waited.clear()

    def async_copy(self, op: Operation, nodes: Nodes) -> None:
        name = f"S{len(self.operations)}"
        statement = asynchronous_copies.copy_statement(op, self.env, name)
        self.operations[name] = (op,) * len(statement.accesses)
        nodes.append(statement)

    def commit(self, op: Operation, nodes: Nodes) -> None:
        """The end of a group of copies."""
        nodes.append(Commit(op.location))

    def group_wait(self, op: Operation, nodes: Nodes) -> None:
        nodes.append(GroupWait(pending_groups(op), op.location))

    def bulk_store(self, op: Operation, nodes: Nodes) -> None:
        """The start of a TMA store from shared memory."""
        name = f"S{len(self.operations)}"
        statement = asynchronous_copies.store(
            op, self.env, self.surroundings.maps, name
        )
        self.operations[name] = (op,) * len(statement.accesses)
        nodes.append(statement)

    def bulk_commit(self, op: Operation, nodes: Nodes) -> None:
        """The end of a group of TMA stores."""
        nodes.append(Commit(op.location, bulk=True))

    def bulk_wait(self, op: Operation, nodes: Nodes) -> None:
        nodes.append(asynchronous_copies.wait(op))

    def proxy_fence(self, op: Operation, nodes: Nodes) -> None:
        """A proxy fence: orders a thread's writes before copies by the async proxy."""
        nodes.append(ProxyFence(op.location))

    def meet(self, op: Operation, nodes: Nodes) -> None:
        """A barrier of the block or a warp."""
        found = collective_of(op, self._number)
        assert found is not None
        is_plain = found.lanes is None and found.orders and not found.of_grid
        what = "barrier" if is_plain else op.name
        who = found.of_grid, found.alone
        nodes.append(Barrier(op.location, found.lanes, found.orders, what, *who))
        self.env.forget(op)

    def barriers(self, op: Operation, nodes: Nodes) -> None:
        del nodes
        asynchronous_copies.declare(op, self.env)

    def turn(self, op: Operation, nodes: Nodes) -> None:
        """An mbarrier operation, or a copy that arrives at an mbarrier."""
        name = f"S{len(self.operations)}"
        made = asynchronous_copies.part(
            op, self.env, self.definitions, self._number, name
        )
        if made is None:
            nodes.append(structure.opaque(self, op))
            return
        self.operations[name] = (op,) * len(made.accesses)
        nodes.append(made)
        self.env.forget(op)

    def multiply(self, op: Operation, nodes: Nodes) -> None:
        """Warpgroup products read both operands until the warp's next wait for them.

        That wait orders no other accesses.
        """
        read = asynchronous_copies.factors(op, self.env, self.definitions)
        if read is None:
            nodes.append(structure.opaque(self, op))
            return
        nodes.append(self.statement((op,) * len(read), read))
        nodes.append(Barrier(op.location, ALL_LANES, frozenset(), op.name))
        self.env.forget(op)

    def _number(self, value: Value) -> int | None:
        made = self.definitions.get(value)
        constant = None if made is None else made.attributes.get("value")
        return constant.value if isinstance(constant, IntegerAttr) else None

    # -- calls -----------------------------------------------------------------------

    def call(self, op: Operation, nodes: Nodes) -> None:
        """``func.call``: one statement with all that the callee touches."""
        accesses = accesses_of_call(op, self)
        self.env.forget(op)
        if accesses:
            nodes.append(self.statement((op,) * len(accesses), accesses))

    def inside(self, name: str) -> Lifter:
        """A lifter for the body of a called function; its statements are its own."""
        return replace(
            self,
            active=(*self.active, name),
            operations={},
            _pending=[],
            _waited=[],
            listed=_NONE,
        )

    def lifted(self, function: Operation) -> tuple[Node, ...]:
        self.index([function])
        index_values.foresee(function, self.env, self.definitions)
        return self.function_body(function, function.blocks)

    # -- whole functions -------------------------------------------------------------

    def declare_context(self, operations: Sequence[Operation]) -> None:
        """Take constants, extents and views from operations outside."""
        self.env.joined += choices(operations)
        for op in operations:
            self.definitions.update(dict.fromkeys(op.results, op))
            self._name_extent(op)
        for op in operations:
            if op.name in ALLOCATIONS:
                self.allocate(op, [])
            elif op.name == "func.call":
                self.call(op, [])
            elif not op.regions and not index_values.define(
                op, self.env, self.definitions
            ):
                self._scalar(op)

    def finish(self, body: tuple[Node, ...], loc: object) -> Lifted:
        aliases = self.surroundings.aliases
        self.env.joined += aliases.joined(self.env.arrays)
        groups = self.env.groups(aliases.groups)
        return lifted_scop(body, self.env, self.operations, groups, loc)

    def function_body(self, op: Operation, blocks: Sequence[Block]) -> tuple[Node, ...]:
        """Nodes of a function; several blocks are an opaque loop around each."""
        if len(blocks) == 1:
            inner = blocks[0].operations
            self.agreed = frozenset(structure.agreements(inner))
            if op.name == "gpu.func":
                return within_grid(op, self.env, lambda: self.body(inner))
            return self.body(inner)
        return (structure.opaque(self, op),) if blocks else ()


_NONE: frozenset[str] = frozenset()

_CLOSED = frozenset({"linalg.generic", "memref.generic_atomic_rmw"})
"""Operations with regions whose effects are in the access table."""


_HANDLERS: dict[str, Callable[[Lifter, Operation, Nodes], None]] = {
    "affine.for": structure.affine_for,
    "affine.parallel": structure.affine_parallel,
    "affine.if": structure.affine_if,
    "scf.if": structure.scf_if,
    **dict.fromkeys(ALLOCATIONS, Lifter.allocate),
    **dict.fromkeys(STARTS, Lifter.dma_start),
    **dict.fromkeys(WAITS, Lifter.dma_wait),
    **dict.fromkeys(COLLECTIVES, Lifter.meet),
    COPY: Lifter.async_copy,
    COMMIT: Lifter.commit,
    WAIT: Lifter.group_wait,
    **dict.fromkeys(
        (*asynchronous_copies.PARTS, asynchronous_copies.LOAD), Lifter.turn
    ),
    asynchronous_copies.CREATE: Lifter.barriers,
    asynchronous_copies.MULTIPLY: Lifter.multiply,
    asynchronous_copies.STORE: Lifter.bulk_store,
    asynchronous_copies.COMMIT: Lifter.bulk_commit,
    asynchronous_copies.BULK_STORE_WAIT: Lifter.bulk_wait,
    asynchronous_copies.FENCE: Lifter.proxy_fence,
    "gpu.launch": gpu_launch,
    "vector.create_mask": Lifter.mask,
    "func.call": Lifter.call,
}
