"""CPU mapping: contractions to register tiles, parallel loops to threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32, I64, VectorType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.analysis.work import Middles, expected_work, inside
from gpucodegen.passes.contraction.cpu.choice import lower_contraction
from gpucodegen.passes.contraction.cpu.forms import paying_contraction
from gpucodegen.passes.contraction.fusion.fusion_groups import (
    FusionGroups,
    FusionMember,
)
from gpucodegen.passes.contraction.recognition.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.framework.functions import with_blocks
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.tiling.machine.processor import Machine

LOOP_OPERATION = 16
"""Multiply-adds of 32 bits that take as long as an operation of any other loop."""
NEST_OPERATIONS = 8
"""Operations of a nest of any kind for a multiply-add that it surely makes: six do."""


Lower = Callable[[Contraction, Machine], list[Operation] | None]
"""Operations for a contraction, if what is fused with it can be carried along."""


@dataclass(frozen=True, slots=True)
class CpuMapping:
    """How nests are mapped: the host, and ``lower`` for contractions on it.

    ``relaxed``: sums may be reordered anywhere.  ``uses``: how often each value of the
    function is used.  ``awake``: whether a later nest wakes the threads anyway.
    """

    machine: Machine
    lower: Lower = lower_contraction
    contractions: bool = True
    relaxed: bool = False
    surroundings: Surroundings = field(default_factory=Surroundings)
    uses: Mapping[Value, int] = field(default_factory=dict[Value, int])
    awake: bool = False


def map_operations(
    operations: Sequence[Operation],
    mapping: CpuMapping,
    context: Sequence[Operation] = (),
) -> list[Operation]:
    """Map every nest of a straight list of operations, ``context`` before them."""
    pieces: list[FusionMember] = []
    before: list[Operation] = [*context]
    waking = _last_waking(operations, mapping.machine)
    awake = replace(mapping, awake=True)
    for number, op in enumerate(operations):
        own = awake if number < waking else mapping
        pieces += _pieces(op, own, before)
        before.append(op)
    return _mapped(pieces, mapping, context)


def _last_waking(operations: Sequence[Operation], machine: Machine) -> int:
    """The number of the last nest that surely runs on threads; 0: none after another.

    The nests before it find them awake, or wake them in time.
    """
    amounts = [
        (expected_work(op, {}) or 0) if op.name == "affine.for" else 0
        for op in operations
    ]
    large = [
        number
        for number, amount in enumerate(amounts)
        if machine.pays_threads(amount / NEST_OPERATIONS)
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
    wanted = nests if mapping.contractions else []
    contractions = [
        paying_contraction(nest, relaxed=mapping.relaxed) for nest in wanted
    ]
    if not any(contractions):
        return [FusionMember(op, lambda: [_parallelise(op, analysis, mapping)])]
    pieces: list[FusionMember] = []
    for nest, contraction in zip(nests, contractions, strict=True):
        own = analysis
        if nest is not op:
            own = analyse([nest], context, mapping.surroundings)
        is_one = contraction is not None and only_accumulates(own.dependences)
        pieces.append(
            FusionMember(
                nest,
                lambda n=nest, a=own: [_parallelise(n, a, mapping)],
                contraction if is_one else None,
            )
        )
    return pieces


def _parallelise(
    op: Operation,
    analysis: NestAnalysis,
    mapping: CpuMapping,
    middles: Middles = MappingProxyType({}),
) -> Operation:
    """Run the outermost parallel loops with enough work on threads."""
    if op.name != "affine.for":
        return op
    runs_parallel = analysis.is_parallel(op) and _pays(op, mapping, middles)
    if mapping.machine.threads > 1 and runs_parallel:
        alone = replace(mapping, machine=replace(mapping.machine, threads=1))
        return to_parallel(_with_inner(op, analysis, alone, middles))
    return _with_inner(op, analysis, mapping, middles)


def _with_inner(
    op: Operation, analysis: NestAnalysis, mapping: CpuMapping, middles: Middles
) -> Operation:
    """The loop with what its body holds mapped: contractions, and other loops."""
    within = inside(op, middles)
    pieces: list[FusionMember] = []
    for inner in op.body.operations:
        found = None
        if mapping.contractions:
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


def to_parallel(op: Operation) -> Operation:
    """``affine.parallel`` over the range of one ``affine.for``."""
    loop = affine.For(op)
    low, high = loop.lower_map, loop.upper_map
    attributes = {
        "lowerBoundsMap": AffineMapAttr(low),
        "lowerBoundsGroups": _group(low),
        "upperBoundsMap": AffineMapAttr(high),
        "upperBoundsGroups": _group(high),
        "steps": ArrayAttr((IntegerAttr(loop.step, I64),)),
        "reductions": ArrayAttr(()),
    }
    return op.with_(
        name="affine.parallel",
        operands=(*loop.lower_operands, *loop.upper_operands),
        attributes=attributes,
    )


def _group(map_: AffineMap) -> DenseElementsAttr:
    return DenseElementsAttr((len(map_.results),), VectorType((1,), I32), I32)
