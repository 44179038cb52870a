"""Lowering of linalg on buffers to affine nests, one loop per iterator, in order.

Named operations are generalised to ``linalg.generic`` first.  Where an extent is no
affine symbol, the loops are ``scf.for``.  The combining operation of a floating-point
reduction is marked ``fastmath<reassoc,contract>``, since linalg permits any order.  The
loops of an operation whose ``gpucodegen.name`` is mm are named ``mm_d0``, ``mm_d1``, ..
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import linalg
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.gcg import NAME
from gpucodegen.dialects.linalg.named_definitions import generalized, is_structured
from gpucodegen.dialects.verifier.affine_values import AffineValues
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import OpaqueAttr, StringAttr
from gpucodegen.ir.operation import Operation, Value, clone, rewrite_bottom_up
from gpucodegen.ir.types import FloatType, MemRefType
from gpucodegen.passes.analysis.lifting.reductions import OPERATORS
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.prepare import linalg_nests
from gpucodegen.passes.prepare.linalg_nests import PlainBuilder
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Generalize(ModulePass, name="generalize", looks_for="linalg"):
    """Every named structured operation becomes a ``linalg.generic``."""

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _generic)
        return Module(root)


def _generic(op: Operation) -> list[Operation] | None:
    is_named = op.name != "linalg.generic" and is_structured(op)
    return [generalized(op)] if is_named else None


REASSOCIABLE = OpaqueAttr("#arith.fastmath<reassoc,contract>")

_RELAYOUTS = {"linalg.pack": linalg_nests.pack, "linalg.unpack": linalg_nests.unpack}


@dataclass(frozen=True, slots=True)
class LinalgToAffine(ModulePass, name="linalg-to-affine"):
    """``linalg.generic``, ``pack`` and ``unpack`` on memrefs become affine nests."""

    looks_for: ClassVar[frozenset[str]] = frozenset({"linalg.generic", *_RELAYOUTS})

    def apply(self, module: Module) -> Module:
        values = AffineValues(module.operation)
        (root,) = rewrite_bottom_up(module.operation, lambda op: _lowered(op, values))
        return Module(root)


def _lowered(op: Operation, values: AffineValues) -> list[Operation] | None:
    if op.name in _RELAYOUTS and not op.results:
        return _RELAYOUTS[op.name](op)
    if op.name != "linalg.generic" or op.results:
        return None
    generic = linalg.Structured(op)
    operands = (*generic.inputs, *generic.outputs)
    b = Builder(op.location) if _is_affine(op, values) else PlainBuilder(op.location)
    if not all(isinstance(v.type, MemRefType) for v in generic.outputs):
        return None
    extents = _extents(op, operands, b)
    _nest(b, op, operands, extents, [])
    return b.operations


def _is_affine(op: Operation, values: AffineValues) -> bool:
    """Whether all extents may bound affine loops."""
    return all(
        values.is_extent(op, value, d)
        for value in op.operands
        if isinstance(value.type, MemRefType)
        for d, known in enumerate(value.type.shape)
        if known is None
    )


def _extents(op: Operation, operands: Sequence[Value], b: Builder) -> list[Index]:
    """Extent of each iterator, from an operand that has it as a plain dimension."""
    generic = linalg.Structured(op)
    found: dict[int, Index] = {}
    for value, map_ in zip(operands, generic.indexing_maps, strict=True):
        shape = value.type.shape if isinstance(value.type, MemRefType) else ()
        for dimension, (result, extent) in enumerate(
            zip(map_.results, shape, strict=False)
        ):
            if isinstance(result, Dim):
                known = found.get(result.position)
                _agree(op, known, extent)
                if known is None or (known.constant is None and extent is not None):
                    found[result.position] = linalg_nests.extent(b, value, dimension)
    count = len(generic.iterator_types)
    missing = [d for d in range(count) if d not in found]
    if missing:
        claim = f"iterator {missing[0]} has an extent"
        raise errors.Unproven(
            op.location, claim=claim, reason="no operand is indexed by it alone"
        )
    return [found[d] for d in range(count)]


def _agree(op: Operation, known: Index | None, extent: int | None) -> None:
    expected = None if known is None else known.constant
    if expected is not None and extent is not None and expected != extent:
        raise errors.WrongStructure.at(
            op,
            problem=f"one iterator has extents {expected} and {extent}",
            hint="Make the shapes of the operands agree",
        )


def _nest(
    b: Builder,
    op: Operation,
    operands: Sequence[Value],
    extents: Sequence[Index],
    ivs: list[Value],
) -> None:
    if len(ivs) < len(extents):
        b.loop(
            0,
            extents[len(ivs)],
            lambda i, iv: _nest(i, op, operands, extents, [*ivs, iv]),
            hint=f"d{len(ivs)}",
        )
        if name := op.string(NAME):
            called = StringAttr(f"{name}_d{len(ivs)}")
            b.operations[-1] = b.operations[-1].with_attribute(NAME, called)
        return
    _body(b, op, operands, ivs)


def _body(
    b: Builder, op: Operation, operands: Sequence[Value], ivs: list[Value]
) -> None:
    """Loads, the scalar operations, stores."""
    generic = linalg.Structured(op)
    block = op.regions[0].blocks[0]
    used = {v for inner in block.operations for o in inner.walk() for v in o.operands}
    mapping: dict[Value, Value] = {}
    places: list[list[Index]] = []
    for value, map_, argument in zip(
        operands, generic.indexing_maps, block.arguments, strict=True
    ):
        place = from_map(map_, ivs)
        places.append(place)
        if argument in used:
            is_buffer = isinstance(value.type, MemRefType)
            mapping[argument] = b.load(value, place) if is_buffer else value
    outputs = len(generic.outputs)
    has_reduction = any(t != "parallel" for t in generic.iterator_types)
    accumulators = set(block.arguments[len(block.arguments) - outputs :])
    for inner in block.operations[:-1]:
        if inner.name == "linalg.index":
            mapping[inner.result] = ivs[_index_dimension(inner)]
            continue
        copied = clone(inner, mapping)
        if has_reduction and accumulators & set(inner.operands):
            copied = reassociable(copied)
        b.operations.append(copied)
    yielded = block.operations[-1].operands
    for value, target, place in zip(
        yielded, generic.outputs, places[len(places) - outputs :], strict=True
    ):
        b.store(mapping.get(value, value), target, place)


def _index_dimension(op: Operation) -> int:
    return op.integer("dim")


def reassociable(op: Operation) -> Operation:
    """The operation with permission to reorder it, if it combines floats."""
    is_float = op.results and isinstance(op.results[0].type, FloatType)
    if op.name not in OPERATORS or not is_float:
        return op
    return op.with_attribute("fastmath", REASSOCIABLE)
