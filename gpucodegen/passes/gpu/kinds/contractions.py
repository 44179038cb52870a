"""The nests of a list as members of fusion groups, and the kernel of a contraction."""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.passes.contraction.fusion.fusion_groups import FusionMember
from gpucodegen.passes.contraction.gpu import kernel
from gpucodegen.passes.contraction.gpu.axes import extent, groups_of
from gpucodegen.passes.contraction.gpu.forms import paying_contraction
from gpucodegen.passes.contraction.recognition.collapse import collapsed
from gpucodegen.passes.contraction.recognition.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.blocks.transfer_spans import needs_block
from gpucodegen.passes.gpu.gpu_launch import KernelBody
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.vector_width import Definitions
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.tiling.machine.gpu.candidates import Candidate
from gpucodegen.tiling.machine.gpu.plan import plan_contraction
from gpucodegen.tiling.machine.gpu.steps import even_depth


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


def contraction_kernel(
    contraction: Contraction, plan: Candidate | None, definitions: Definitions
) -> KernelBody | None:
    """The kernel of a contraction; ``plan``: if the caller has chosen one.

    None where it cannot do what is fused with the contraction.
    """
    b = Builder(contraction.location)
    found = None if contraction.unpadded is not None else collapsed(b, contraction)
    groups = found and groups_of(found)
    if found is None or groups is None:
        return None
    sizes = (
        extent(axes).constant for axes in (groups.rows, groups.columns, groups.batch)
    )
    chosen = plan or plan_contraction(*(size or 1 for size in sizes))
    terms = [extent((axis,)).constant for axis in groups.reduction]
    even = replace(chosen, depth=even_depth(terms, chosen.depth))
    return kernel.lower(b, found, groups, even, definitions)
