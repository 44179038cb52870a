"""The nests of a list as members of fusion groups, and the kernel of a contraction."""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.contraction.cpu.kernels import split_k
from gpucodegen.passes.contraction.fusion.fusion_groups import FusionMember
from gpucodegen.passes.contraction.gpu import kernel
from gpucodegen.passes.contraction.gpu.axes import groups_of
from gpucodegen.passes.contraction.gpu.forms import paying_contraction
from gpucodegen.passes.contraction.gpu.problem import planned
from gpucodegen.passes.contraction.gpu.views import with_few_axes
from gpucodegen.passes.contraction.recognition.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.blocks.transfer_spans import needs_block
from gpucodegen.passes.gpu.kinds.nest import Mapper, Nest
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.tiling.machine.gpu.products.candidates import Candidate


def members_of(nest: Nest) -> list[FusionMember]:
    """A nest, or the nests that it is distributed into where one is a contraction."""
    whole = [FusionMember(nest.op, lambda: nest.mapper.nest(nest))]
    is_candidate = nest.op.name == "affine.for" and nest.mapper.contractions
    if not is_candidate or needs_block(nest.op):
        return whole
    parts = [nest.of(part) for part in distribute(nest.op, nest.analysis)]
    members = [
        FusionMember(part.op, lambda p=part: p.mapper.nest(p), _contraction(part))
        for part in parts
    ]
    return members if any(member.contraction for member in members) else whole


def _contraction(nest: Nest) -> Contraction | None:
    found = paying_contraction(nest.op)
    is_one = found is not None and only_accumulates(nest.analysis.dependences)
    return found if is_one else None


def contraction_launches(
    contraction: Contraction, plan: Candidate | None, mapper: Mapper
) -> list[Operation] | None:
    """The kernels of a contraction; ``plan``: if the caller has chosen one.

    None where they cannot do what is fused with the contraction.
    """
    b = Builder(contraction.location)
    found = None if contraction.unpadded is not None else with_few_axes(b, contraction)
    groups = found and groups_of(found)
    if found is None or groups is None:
        return None
    made = {value: op for op in b.operations for value in op.results}
    definitions = {**mapper.definitions, **made}
    chosen = planned(found, groups, plan, definitions)
    if chosen.splits > 1:
        return _split(contraction, chosen, mapper)
    return mapper.launch(kernel.lower(b, found, groups, chosen, definitions))


def _split(
    contraction: Contraction, plan: Candidate, mapper: Mapper
) -> list[Operation]:
    """Blocks sum parts of the terms, and a second kernel adds these up, in order."""
    own: set[int] = set()

    def sums(part: Contraction) -> list[Operation]:
        found = contraction_launches(part, replace(plan, splits=1), mapper)
        assert found is not None
        own.update(map(id, found))
        return found

    mapped: list[Operation] = []
    for op in split_k.lower(contraction, plan.splits, 1, sums):
        is_nest = op.name == "affine.for" and id(op) not in own
        mapped += mapper.nest(Nest(op, (), mapper)) if is_nest else [op]
    return mapped
