"""Launches of contraction kernels, with the fusion groups of a list of nests.

A nest is distributed where a part is a contraction.  A contraction runs in the kernel
of its plan: on thread tiles, warps with tensor cores, or warpgroups.  Split-K plans sum
parts of the terms in a first kernel and add the parts, in order, in a second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32, element_bytes, element_type
from gpucodegen.passes.contraction.fusion_groups import FusionMember
from gpucodegen.passes.contraction.gpu.axes import (
    Groups,
    groups_of,
    paying_contraction,
    with_few_axes,
)
from gpucodegen.passes.contraction.gpu.problem import planned, products_of
from gpucodegen.passes.contraction.gpu.tensor_boxes import along_terms
from gpucodegen.passes.contraction.gpu.tensor_cores import on_tensor_cores
from gpucodegen.passes.contraction.recognize import (
    Contraction,
    only_accumulates,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.joined_launches import Joinable, are_apart, in_one_launch
from gpucodegen.passes.gpu.nest_mapping import Mapper, Nest
from gpucodegen.passes.nests.bindings import bindings
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.passes.outlining.gpu_launch import KernelBody
from gpucodegen.passes.outlining.transfer_spans import needs_block
from gpucodegen.passes.outlining.vector_width import Definitions
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import has_warpgroups
from gpucodegen.tiling.machine.gpu.product_plan import (
    PACKED,
    copies_pay,
    device_for,
    four_bytes,
    words_pay,
)
from gpucodegen.tiling.machine.gpu.product_tiles import (
    HALF,
    Candidate,
    SharedTiles,
    WarpgroupTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.product_work import Product
from gpucodegen.tiling.machine.gpu.shared_copies import DOUBLE

NOTHING_MADE: Definitions = MappingProxyType({})


def members_of(nest: Nest) -> list[FusionMember]:
    """A nest, or its distribution where a part is a contraction."""
    whole = [FusionMember(nest.op, lambda: nest.mapper.nest(nest))]
    is_candidate = nest.op.name == "affine.for" and nest.mapper.contractions
    if not is_candidate or needs_block(nest.op) or bindings([nest.op]):
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
    """The kernels of a contraction; ``plan``: the caller's choice, if any.

    Narrow integers are packed into words first where the model estimates a gain.  None
    where fused operations do not fit the kernels.
    """
    contraction = _wanted(contraction, mapper)
    plain = _Lowering.of(contraction, plan, mapper)
    copied = plain and _over_copies(contraction, plain)
    if copied is not None:
        return copied
    if plain is None or contraction.element != I32:
        return plain and plain.launches()
    from gpucodegen.passes.contraction.cpu.packed_integer_dots import over_words

    b = Builder(contraction.location)
    words = over_words(b, contraction, four_bytes, PACKED, parallel=False)
    made = {value: op for op in b.operations for value in op.results}
    dots = words and _Lowering.of(words.contraction, plan, mapper, made)
    device = device_for(mapper.arch)
    if (
        words is None
        or dots is None
        or not words_pay(plain.products, dots.products, device)
    ):
        return plain.launches()
    return _between(b, words.buffers, dots)


def _over_copies(contraction: Contraction, plain: _Lowering) -> list[Operation] | None:
    """Copies of factors along their terms, and a kernel that reads these.

    Tensor cores read factors of 8 and 32 bits so: others are transposed one by one on
    their way to shared memory.  None where there is nothing to copy, or where the model
    estimates no gain.
    """
    mapper, plans = plain.mapper, plain.mapper.plans
    if plain.plan is not None or plans.asks_for("product"):
        return None
    b = Builder(contraction.location)
    size = element_bytes(element_type(contraction.left.memref.type))
    is_narrow = size not in {HALF, DOUBLE} and on_tensor_cores(contraction) is not None
    copied = along_terms(b, contraction) if is_narrow else None
    if copied is None:
        return None
    made = {value: op for op in b.operations for value in op.results}
    lowering = _Lowering.of(copied.contraction, None, mapper, made)
    products = lowering.products if lowering else []
    if lowering is None or products[0].fragments is None:
        return None
    is_asked = plans.asks_for("turned") or bool(plans.wanted.get("product.consumers"))
    if not is_asked and not copies_pay(
        *(plain.products, products, copied.bytes),
        device=device_for(mapper.arch),
        choose=plans.unrecorded().of("product"),
        warpgroups=has_warpgroups(mapper.arch),
    ):
        return None
    return _between(b, copied.buffers, lowering)


def _between(
    b: Builder, buffers: Sequence[Value], lowering: _Lowering
) -> list[Operation]:
    """Launches after the operations that fill buffers, which are freed after them."""
    freed = Builder(b.location)
    for buffer in buffers:
        freed.add("memref.dealloc", (buffer,))
    before = _mapped(b.operations, lowering.mapper)
    return [*before, *lowering.launches(), *freed.operations]


def joined_launch(contraction: Contraction, mapper: Mapper) -> list[Operation] | None:
    """The last launch of contractions with this one, in tiles of the same plan.

    Each contraction copies its K tiles as its terms and operands need.  None where it
    needs another plan, or was not launched last.
    """
    last, wanted = mapper.joinable, _wanted(contraction, mapper)
    if last is None or contraction.element == I32:
        return None
    lowering = _Lowering.of(wanted, last.plan, mapper)
    if lowering is None:
        return None
    plan, before = lowering.planned(), last.plan
    if not isinstance(plan, SharedTiles | WarpTiles):
        return None
    copies = {"depth": before.depth, "direct": before.direct, "stages": before.stages}
    if replace(plan, **copies) != before:
        return None
    body, targets = lowering.body(plan), contraction.targets
    whole = in_one_launch((*last.bodies, body))
    parts = Joinable((*last.bodies, body), last.plan, (*last.targets, *targets))
    is_apart = all(are_apart(*pair) for pair in product(last.targets, targets))
    return whole and mapper.relaunch(whole, parts, body if is_apart else whole)


def _wanted(contraction: Contraction, mapper: Mapper) -> Contraction:
    """The contraction with the order and the precision that the caller allows."""
    is_free = contraction.reassociable or mapper.order.relaxed
    wishes = {"precision": mapper.precision, "arch": mapper.arch}
    return replace(contraction, reassociable=is_free, **wishes)


@dataclass(frozen=True, slots=True)
class _Lowering:
    """A contraction over few axes, after the views ``b`` that it reads through."""

    whole: Contraction
    found: Contraction
    groups: Groups
    plan: Candidate | None
    mapper: Mapper
    b: Builder
    definitions: Definitions

    @staticmethod
    def of(
        contraction: Contraction,
        plan: Candidate | None,
        mapper: Mapper,
        made: Definitions = NOTHING_MADE,
    ) -> _Lowering | None:
        """The lowering; None where the kernel does not apply."""
        b = Builder(contraction.location)
        padded = contraction.unpadded is not None
        found = None if padded else with_few_axes(b, contraction)
        groups = found and groups_of(found)
        if found is None or groups is None:
            return None
        views = {value: op for op in b.operations for value in op.results}
        definitions = {**mapper.definitions, **made, **views}
        return _Lowering(contraction, found, groups, plan, mapper, b, definitions)

    @property
    def products(self) -> list[Product]:
        """The product, or the possible ones for dynamic extents."""
        return products_of(self.found, self.groups, self.definitions)

    def planned(self) -> Candidate:
        """The plan of least estimated clocks, or the caller's."""
        plans = self.mapper.plans
        return planned(
            *(self.found, self.groups, self.plan, self.definitions),
            plans.of("product"),
            arch=self.mapper.arch,
            warpgroups=bool(plans.wanted.get("product.consumers")),
            bands=bool(plans.wanted.get("product.group")),
            views=bool(plans.wanted.get("product.tensor_stores")),
        )

    def body(self, plan: SharedTiles | WarpTiles) -> KernelBody:
        """The kernel of a plan with threads or warps."""
        from gpucodegen.passes.contraction.gpu import kernel

        given = self.found, self.groups, plan, self.definitions
        return kernel.lower(self.b, *given)

    def launches(self) -> list[Operation]:
        found, groups, definitions = self.found, self.groups, self.definitions
        chosen = self.planned()
        if chosen.splits > 1:
            return _split(self.whole, chosen, self.mapper)
        if isinstance(chosen, WarpgroupTiles):
            from gpucodegen.passes.contraction.gpu import warpgroup_kernel

            host, body = warpgroup_kernel.lower(
                self.b, found, groups, chosen, definitions
            )
            return [*host, *self.mapper.launch(body)]
        body = self.body(chosen)
        made = self.mapper.launch(body)
        self.mapper.joinable = Joinable((body,), chosen, self.whole.targets)
        return made


def _mapped(operations: Sequence[Operation], mapper: Mapper) -> list[Operation]:
    """Kernels in place of the nests among some operations."""
    mapper.define(operations)
    found: list[Operation] = []
    for op in operations:
        is_nest = op.name == "affine.for"
        found += mapper.nest(Nest(op, (), mapper)) if is_nest else [op]
    return found


def _split(
    contraction: Contraction, plan: Candidate, mapper: Mapper
) -> list[Operation]:
    """Split-K: blocks sum parts of the terms, a second kernel adds them in order."""
    from gpucodegen.passes.contraction.cpu import split_k

    own: set[int] = set()

    def sums(part: Contraction, before: Sequence[Operation]) -> list[Operation]:
        mapper.define(before)
        found = contraction_launches(part, replace(plan, splits=1), mapper)
        assert found is not None
        own.update(map(id, found))
        return found

    mapped: list[Operation] = []
    for op in split_k.lower(contraction, plan.splits, 1, sums):
        is_nest = op.name == "affine.for" and id(op) not in own
        mapped += mapper.nest(Nest(op, (), mapper)) if is_nest else [op]
    return mapped
