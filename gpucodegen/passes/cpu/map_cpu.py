"""CPU mapping: contractions to register tiles, parallel loops to threads.

The nests of each function are distributed where a part is a contraction that pays.
Contractions, with the nests fused into them (`contraction.fusion_groups`), are lowered
to packed register tiles.  Of other nests, the outermost parallel loops with enough
estimated work for threads become ``affine.parallel``; loops inside them run on one
thread, and contractions inside loops are lowered in place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from math import prod

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.analysis.work import (
    LOOP_OPERATION,
    Middles,
    expected_work,
    inside,
)
from gpucodegen.passes.contraction.cpu.choice import lower_contraction
from gpucodegen.passes.contraction.cpu.kernel_forms import paying_contraction
from gpucodegen.passes.contraction.fusion_groups import (
    FusionGroups,
    FusionMember,
)
from gpucodegen.passes.contraction.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.cpu.likely_sizes import likely_sizes
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, users, with_blocks
from gpucodegen.passes.framework.nests import to_parallel
from gpucodegen.passes.nests.bindings import CPU_THREAD, binding, bindings
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.passes.nests.loop_names import functions, loop_name, sites
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.plan_space import Choice
from gpucodegen.tiling.machine.processor import Machine, VectorUnit
from gpucodegen.tiling.machine.product_plan import plan_contraction
from gpucodegen.tiling.machine.product_problem import Candidate, Problem, TileSizes
from gpucodegen.tiling.tuning.knobs import NOTHING, Knob, register_knob

NEST_OPERATIONS = 8
"""Nest operations that count as one multiply-add (conservative: six take as long)."""


Lower = Callable[[Contraction, Machine], list[Operation] | None]
"""Lowers a contraction, or returns None if its fused operations do not fit."""


@dataclass(frozen=True, slots=True)
class CpuMapping:
    """The CPU, and the lowering of contractions on it.

    ``relaxed``: sums may be reordered anywhere.  ``uses``: the use count of each value
    of the function.  ``awake``: whether a later nest wakes the threads anyway.
    ``bound``: loops run on threads where a schedule says so, not by their work.
    ``threaded`` gets the loops that run on threads.  ``likely``: estimates of sizes.
    """

    machine: Machine
    lower: Lower = lower_contraction
    contractions: bool = True
    relaxed: bool = False
    surroundings: Surroundings = field(default_factory=Surroundings)
    uses: Mapping[Value, int] = field(default_factory=dict[Value, int])
    awake: bool = False
    bound: bool = False
    threaded: list[Operation] = field(default_factory=list[Operation])
    likely: Middles = field(default_factory=dict[Value, int])


def map_operations(
    operations: Sequence[Operation],
    mapping: CpuMapping,
    context: Sequence[Operation] = (),
) -> list[Operation]:
    """Map every nest of a straight list of operations, ``context`` before them."""
    pieces: list[FusionMember] = []
    before: list[Operation] = [*context]
    waking = _last_waking(operations, mapping)
    awake = replace(mapping, awake=True)
    for number, op in enumerate(operations):
        own = awake if number < waking else mapping
        pieces += _pieces(op, own, before)
        before.append(op)
    return _mapped(pieces, mapping, context)


def _last_waking(operations: Sequence[Operation], mapping: CpuMapping) -> int:
    """The index of the last nest that surely runs on threads; 0: none after another.

    The nests before it find the threads awake, or wake them in time.
    """
    amounts = [
        (expected_work(op, mapping.likely) or 0) if op.name == "affine.for" else 0
        for op in operations
    ]
    large = [
        number
        for number, amount in enumerate(amounts)
        if mapping.machine.pays_threads(amount / NEST_OPERATIONS)
    ]
    return large[-1] if large else 0


def _mapped(
    pieces: Sequence[FusionMember],
    mapping: CpuMapping,
    context: Sequence[Operation] = (),
) -> list[Operation]:
    def lower(contraction: Contraction) -> list[Operation] | None:
        return mapping.lower(contraction, mapping.machine)

    block = FusionGroups(pieces, lower, mapping.uses, context, mapping.surroundings)
    return block.all_mapped()


def _map_branches(
    op: Operation, mapping: CpuMapping, context: Sequence[Operation]
) -> Operation:
    return with_blocks(op, lambda ops: map_operations(ops, mapping, context))


def _pieces(
    op: Operation, mapping: CpuMapping, context: Sequence[Operation]
) -> list[FusionMember]:
    """An operation, or the nests that it is distributed into."""
    if op.name == "affine.if":
        return [FusionMember(op, lambda: [_map_branches(op, mapping, context)])]
    if op.name != "affine.for":
        return [FusionMember(op)]
    analysis = analyse([op], context, mapping.surroundings)
    nests = distribute(op, analysis)
    wanted = nests if mapping.contractions and not bindings([op]) else []
    contractions = [
        paying_contraction(nest, relaxed=mapping.relaxed) for nest in wanted
    ]
    if not any(contractions):
        likely = mapping.likely
        return [FusionMember(op, lambda: [_parallelise(op, analysis, mapping, likely)])]
    pieces: list[FusionMember] = []
    for nest, contraction in zip(nests, contractions, strict=True):
        own = analysis
        if nest is not op:
            own = analyse([nest], context, mapping.surroundings)
        is_one = contraction is not None and only_accumulates(own.dependences)
        pieces.append(
            FusionMember(
                nest,
                lambda n=nest, a=own: [_parallelise(n, a, mapping, mapping.likely)],
                contraction if is_one else None,
            )
        )
    return pieces


def _parallelise(
    op: Operation,
    analysis: NestAnalysis,
    mapping: CpuMapping,
    middles: Middles,
) -> Operation:
    """Run the outermost parallel loops with enough work on threads."""
    if op.name != "affine.for":
        return op
    is_chosen = (
        binding(op) == CPU_THREAD if mapping.bound else _pays(op, mapping, middles)
    )
    if mapping.machine.threads > 1 and is_chosen and analysis.is_parallel(op):
        mapping.threaded.append(op)
        alone = replace(mapping, machine=replace(mapping.machine, threads=1))
        return to_parallel(_with_inner(op, analysis, alone, middles))
    return _with_inner(op, analysis, mapping, middles)


def _with_inner(
    op: Operation, analysis: NestAnalysis, mapping: CpuMapping, middles: Middles
) -> Operation:
    """The loop with its inner contractions and loops mapped."""
    within = inside(op, middles)
    pieces: list[FusionMember] = []
    for inner in op.body.operations:
        found = None
        if mapping.contractions and not bindings([inner]):
            relaxed = mapping.relaxed
            found = paying_contraction(inner, relaxed=relaxed, inside_of=within)
        is_one = found and only_accumulates(analysis.conflicts([inner], [inner]))
        pieces.append(
            FusionMember(
                inner,
                lambda i=inner: [_parallelise(i, analysis, mapping, within)],
                found if is_one else None,
            )
        )
    return op.with_body(_mapped(pieces, mapping))


def _pays(op: Operation, mapping: CpuMapping, middles: Middles) -> bool:
    """Whether a loop has enough work for threads; unknown extents count as large."""
    work = expected_work(op, middles)
    return work is None or mapping.machine.pays_threads(
        LOOP_OPERATION * work, awake=mapping.awake
    )


PRODUCT = re.compile(r"product(\d+)\.(rows|columns|row_block|k_block)")
PRODUCT_FIELDS = tuple(
    f"product0.{name}" for name in ("rows", "columns", "row_block", "k_block")
)
"""The names of the sizes of products, with 0 for every number."""


def asked_sizes(plan: Sequence[int | str]) -> dict[int, dict[str, int]]:
    """The requested sizes of products by their numbers.

    >>> asked_sizes(("product1.rows", 6, "product1.columns", 32))
    {1: {'rows': 6, 'columns': 32}}
    """
    found: dict[int, dict[str, int]] = {}
    for name, size in zip(plan[::2], plan[1::2], strict=True):
        one = PRODUCT.fullmatch(str(name))
        if one is None or not isinstance(size, int):
            raise errors.InvalidPassOption(
                name=MapCpu.name,
                problem=f"option 'plan' cannot hold {name}={size}",
                hint="Give sizes as in plan=[product0.rows,6]",
            )
        found.setdefault(int(one[1]), {})[one[2]] = size
    return found


def _threads(module: Module, threaded: Sequence[Operation]) -> list[Choice]:
    """The loops that run on threads, if the module has all of them, by name or path.

    Loops that a distribution makes are in no module.
    """
    found: list[Choice] = []
    for function in functions(module):
        known = sites(function)
        names = Counter(loop_name(site.loop) for site in known)
        for site in known:
            if any(site.loop is op for op in threaded):
                name = loop_name(site.loop)
                path = ".".join(map(str, site.path))
                is_own = names[name] == 1 and name
                found.append(Choice(name if is_own else path, CPU_THREAD, {}))
    return found if len(found) == len(threaded) else []


@dataclass(slots=True)
class _Products:
    """Plans the products of a module, which are counted, and keeps their sizes."""

    sizes: TileSizes
    asked: Mapping[int, Mapping[str, int]]
    choices: list[Choice] = field(default_factory=list[Choice])

    def plan(self, problem: Problem, machine: Machine) -> Candidate:
        number = len(self.choices)
        sizes = replace(self.sizes, **self.asked.get(number, {}))
        made = plan_contraction(problem, machine, sizes)
        words = _stated(problem, machine, made)
        self.choices.append(Choice("", f"product{number}", words))
        return made

    def check(self, name: str) -> None:
        for number in self.asked:
            if number >= len(self.choices):
                count = len(self.choices)
                raise errors.InvalidPassOption(
                    name=name,
                    problem=f"there is no product{number}",
                    hint=f"The program has {count} products, counted from 0",
                )


def _stated(problem: Problem, machine: Machine, made: Candidate) -> dict[str, int]:
    """The sizes with which a product is planned like this: all, or the register tile.

    The K block of some kernels follows from their panels.
    """
    tiling = made.tiling
    tile = {"rows": tiling.rows, "columns": tiling.columns}
    block = tiling.k_chunk * prod(problem.reduction[tiling.k_position + 1 :])
    every = {**tile, "row_block": tiling.row_block, "k_block": block}
    for words in (every, {**tile, "k_block": block}, tile):
        if plan_contraction(problem, machine, TileSizes(**words)) == made:
            return words
    return {}


@dataclass(frozen=True, slots=True)
class MapCpu(ModulePass, name="map-cpu"):
    """Contractions to register tiles, parallel loops to ``affine.parallel``."""

    threads: int = 2
    vector_bits: int = 256
    registers: int = 16
    cache: int = 1 << 20
    rows: int = 0
    columns: int = 0
    k_block: int = 0
    row_block: int = 0
    contractions: bool = True
    relaxed: bool = False
    narrowest: int = 32
    first_cache: int = 1 << 15
    kept: int = 1 << 22
    plan: tuple[int | str, ...] = ()

    def concerns(self, module: Module, found: Collection[str]) -> bool:
        """A plan that no product can have is an error, even without products."""
        return bool(self.plan) or ModulePass.concerns(self, module, found)

    @property
    def machine(self) -> Machine:
        unit = VectorUnit(self.vector_bits, self.registers, narrowest=self.narrowest)
        caches = self.cache, self.first_cache, self.kept
        return Machine(self.threads, unit, *caches)

    def apply(self, module: Module) -> Module:
        """Map every function; ``relaxed`` permits another order of sums anywhere.

        ``narrowest``: bits of integers that are multiplied several in a word.
        ``plan``: sizes of single products, counted in the order of their nests, as
        names and numbers in turn: ``plan=[product0.rows,6]``.
        Raises InvalidPassOption for a product that is not there.
        """
        return self._planned(module)[0]

    def choices(self, module: Module) -> Sequence[Choice]:
        """The loops on threads, and the sizes of each product that state its kernel."""
        threaded: list[Operation] = []
        products = self._planned(module, threaded)[1]
        return [*_threads(module, threaded), *products.choices]

    def _planned(
        self, module: Module, threaded: list[Operation] | None = None
    ) -> tuple[Module, _Products]:
        sizes = TileSizes(self.rows, self.columns, self.row_block, self.k_block)
        products = _Products(sizes, asked_sizes(self.plan))

        def lower(found: Contraction, machine: Machine) -> list[Operation] | None:
            return lower_contraction(found, machine, products.plan)

        made = self._mapped(module, lower, threaded)
        products.check(self.name)
        return made, products

    def knobs(self, module: Module) -> Sequence[Knob]:
        """Register tiles of the mapped contractions."""
        found: list[Knob] = []

        def lower(contraction: Contraction, machine: Machine) -> list[Operation] | None:
            def plan(problem: Problem, machine: Machine) -> Candidate:
                chosen = self._plan(problem, machine)
                found.append(register_knob(problem, machine, chosen.tiling))
                return chosen

            found.append(NOTHING)
            return lower_contraction(contraction, machine, plan)

        self._mapped(module, lower)
        return found

    def _plan(self, problem: Problem, machine: Machine) -> Candidate:
        sizes = TileSizes(self.rows, self.columns, self.row_block, self.k_block)
        return plan_contraction(problem, machine, sizes)

    def _mapped(
        self, module: Module, lower: Lower, threaded: list[Operation] | None = None
    ) -> Module:
        surroundings = Surroundings.of(module)
        mapping = CpuMapping(
            *(self.machine, lower, self.contractions, self.relaxed, surroundings),
            bound=CPU_THREAD in bindings([module.operation]),
            threaded=[] if threaded is None else threaded,
        )

        def mapped(op: Operation) -> list[Operation]:
            uses = {value: len(found) for value, found in users(op).items()}
            own = replace(mapping, uses=uses, likely=likely_sizes(op))
            return [with_blocks(op, lambda ops: map_operations(ops, own))]

        return in_functions(module, mapped)
