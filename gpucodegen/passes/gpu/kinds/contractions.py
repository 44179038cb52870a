"""Nests that are contractions, or become some when their statements are taken apart."""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.contraction.gpu import kernel
from gpucodegen.passes.contraction.gpu.axes import Groups, extent
from gpucodegen.passes.contraction.gpu.forms import paying_contraction
from gpucodegen.passes.contraction.recognition.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.tiling.machine.gpu.plan import plan_contraction


def contractions_of(nest: Nest) -> list[Operation] | None:
    """The kernels of a nest of which a part is a contraction, one for each part."""
    if nest.op.name != "affine.for" or not nest.mapper.contractions:
        return None
    parts = distribute(nest.op, nest.analysis)
    found = [
        one if one and only_accumulates(nest.of(part).analysis.dependences) else None
        for part in parts
        for one in [paying_contraction(part)]
    ]
    if not any(found):
        return None
    mapped: list[Operation] = []
    for part, one in zip(parts, found, strict=True):
        if one is None:
            mapped += nest.mapper.operations([part], nest.context)
        else:
            mapped += _launched(nest.of(part), *one)
    return mapped


def _launched(nest: Nest, contraction: Contraction, groups: Groups) -> list[Operation]:
    nest.mapper.contracted.append(nest.op)
    sizes = (
        extent(axes).constant for axes in (groups.rows, groups.columns, groups.batch)
    )
    plan = nest.mapper.plan or plan_contraction(*(size or 1 for size in sizes))
    return nest.mapper.launch(
        kernel.lower(contraction, groups, plan, nest.mapper.definitions)
    )
