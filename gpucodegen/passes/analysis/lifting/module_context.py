"""State of the lifter's walk: callees, aliases, loop-carried values and nodes.

`Surroundings` holds the module's functions and alias groups; `LiftingWalk` holds the
state from which the modules `structure` and `calls` append nodes.

`Registers` models each loop-carried value as one memory cell that the iterations share.
An ``iter_args`` of an ``affine.for`` is written before the loop and at the end of each
iteration, and every use of it is a read, with two exceptions:

* the use that continues an accumulation (``next = sum + x``) is no read of its own: it
  belongs to the accumulation at the end of the iteration;
* a value that passes through an inner loop, as its initial value and as its result, is
  one cell in both loops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.lifting.aliases import (
    Aliases,
    Described,
    Escapes,
    defined_functions,
    described,
)
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.passes.analysis.lifting.reductions import Combination, Combinations
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    Node,
    Reduction,
    Statement,
)

FUNCTIONS = frozenset({"func.func", "gpu.func"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The module as seen from one of its functions.

    ``functions`` by name: a call of any other may touch all its operands.  ``aliases``:
    which memrefs of all functions may overlap.  ``maps``: the buffers that the tensor
    maps of kernels describe, if known.  ``collapses``: a buffer that is collapsed
    somewhere is modelled by its collapsed view, which has more affine indices.
    """

    functions: Mapping[str, Operation] = field(default_factory=dict[str, Operation])
    aliases: Aliases = field(default_factory=Aliases)
    maps: Described = field(default_factory=Described)
    collapses: bool = True

    @staticmethod
    def of(module: Module) -> Surroundings:
        """All functions with unique names, those of nested modules included."""
        functions = [op for op in module.walk() if op.name in FUNCTIONS]
        count = Counter(map(symbol_name, functions))
        return Surroundings(
            {
                symbol_name(op): op
                for op in functions
                if op.name == "func.func" and count[symbol_name(op)] == 1
            },
            Aliases.of(functions, defined_functions(functions)),
            described(module.walk()),
        )

    def for_bounds(self, *, collapses: bool = False) -> Surroundings:
        """The module with disjoint buffers, each with the dimensions of its type.

        ``collapses``: indices are affine only where their own dimensions are proven.
        """
        return Surroundings(self.functions, collapses=collapses)


@dataclass(slots=True)
class Registers:
    """The cells of carried values, declared as loops are entered."""

    definitions: Mapping[Value, Operation]
    uses: Mapping[Value, int]
    arrays: dict[Value, Array] = field(default_factory=dict[Value, Array])
    _combinations: dict[Value, Combination] = field(
        default_factory=dict[Value, Combination]
    )
    _passed: set[Value] = field(default_factory=set[Value])
    _silent: set[tuple[int, Value]] = field(default_factory=set[tuple[int, Value]])

    def enter(self, loop: affine.For, env: Environment) -> Iterator[Access]:
        """Declare the values that a loop carries; yields their initial writes."""
        for number, argument in enumerate(loop.iter_args):
            if is_memref(argument):
                continue  # one of `choices`
            init, result = loop.inits[number], loop.operation.results[number]
            is_shared = init in self._passed
            register = self.arrays[init] if is_shared else env.register(argument)
            self.arrays[argument] = self.arrays[result] = register
            if not is_shared:
                yield self._access(loop.operation, argument, AccessKind.WRITE)
            self._foresee(loop, number)

    def _foresee(self, loop: affine.For, number: int) -> None:
        """Whether an argument is accumulated, or passed through a loop inside."""
        argument = loop.iter_args[number]
        yielded = loop.body[-1].operands[number]
        combiner = Combinations(self.definitions, self.uses)
        found = combiner.combination(yielded, (argument,))
        inner = self.definitions.get(yielded)
        if found is not None:
            self._combinations[argument] = found
            self._silent.update((id(op), argument) for op in found.readers)
        elif inner is not None and self._passes(inner, argument, yielded):
            self._passed.add(argument)
            self._silent.add((id(inner), argument))

    def _passes(self, inner: Operation, argument: Value, yielded: Value) -> bool:
        """Whether an inner loop returns ``yielded`` for ``argument`` only."""
        if inner.name != "affine.for":
            return False
        entered = dict(zip(inner.results, affine.For(inner).inits, strict=True))
        is_only_use = self.uses.get(argument) == self.uses.get(yielded) == 1
        return entered[yielded] is argument and is_only_use

    def reads(self, op: Operation) -> list[Access]:
        """The reads of the cells among the operands of ``op``."""
        if op.name == "affine.yield":
            return []
        return [
            self._access(op, value, AccessKind.READ)
            for value in op.operands
            if value in self.arrays and (id(op), value) not in self._silent
        ]

    def updates(
        self, loop: affine.For
    ) -> Iterator[tuple[tuple[Access, ...], Reduction | None]]:
        """The accesses at the end of an iteration to the cells of a loop."""
        for argument in loop.iter_args:
            if argument in self._passed or is_memref(argument):
                continue
            kinds = (AccessKind.READ, AccessKind.WRITE)
            accesses = (self._access(loop.body[-1], argument, k) for k in kinds)
            found = self._combinations.get(argument)
            reduction = (
                Reduction(found.operator, 0, 1, reassociable=found.reassociable)
                if found
                else None
            )
            yield tuple(accesses), reduction

    def _access(self, op: Operation, value: Value, kind: AccessKind) -> Access:
        name = self.arrays[value].name
        return Access(name, kind, (), listed=False, loc=op.location)


Nodes = list[Node]


@dataclass(slots=True)
class LiftingWalk(ABC):
    """One walk over a region."""

    env: Environment = field(default_factory=Environment)
    one_access_per_statement: bool = False
    trust_parallel: bool = True
    counted: bool = False
    """Whether ``scf.for`` is lifted as a counted loop where its bounds are known."""
    listed: frozenset[str] = frozenset()
    """Operations that take a row of ``gpucodegen deps``."""
    surroundings: Surroundings = field(default_factory=Surroundings)
    active: tuple[str, ...] = ()
    """Called functions that are being lifted, outermost first."""
    escapes: Escapes | None = None
    """Known where all uses of the buffers allocated here are walked."""
    definitions: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    uses: Counter[Value] = field(default_factory=Counter[Value])
    operations: dict[str, tuple[Operation, ...]] = field(
        default_factory=dict[str, tuple[Operation, ...]]
    )
    agreed: frozenset[Operation] = frozenset()
    """Leading branches that end the program unless extents agree."""
    registers: Registers = field(init=False)

    def __post_init__(self) -> None:
        """Share use counts with the registers; a proof trusts indices, not loops."""
        self.registers = Registers(self.definitions, self.uses)
        self.env.trusts_indices = not self.trust_parallel
        self.env.collapses = self.surroundings.collapses
        self.env.definitions = self.definitions

    @abstractmethod
    def body(self, operations: Sequence[Operation]) -> tuple[Node, ...]:
        """Nodes of a straight list of operations."""

    @abstractmethod
    def function_body(self, op: Operation, blocks: Sequence[Block]) -> tuple[Node, ...]:
        """Nodes of a function; several blocks are an opaque loop around each."""

    @abstractmethod
    def inside(self, name: str) -> LiftingWalk:
        """A walk for the body of a called function; its statements are its own."""

    @abstractmethod
    def lifted(self, function: Operation) -> tuple[Node, ...]:
        pass

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
        """Write the initial values of a loop's carried values."""
        for access in self.registers.enter(loop, self.env):
            nodes.append(self.statement((loop.operation,), (access,)))

    def carry(self, loop: affine.For) -> Nodes:
        """The update of each register at the end of an iteration."""
        ends = (loop.body[-1],) * 2
        return [
            self.statement(ends, accesses, reduction)
            for accesses, reduction in self.registers.updates(loop)
        ]
