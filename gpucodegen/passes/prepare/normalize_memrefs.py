"""Normalisation of memref layouts and affine DMA operations.

Memrefs with a non-strided layout map become row-major, and the map becomes part of each
access: ``memref<5xf32, (d0) -> (d0 floordiv 2, d0 mod 2)>`` becomes
``memref<3x2xf32>``, and a load of ``[%i]`` one of ``[%i floordiv 2, %i mod 2]``.
Strided layouts stay. ``affine.dma_start`` and ``affine.dma_wait`` become their memref
forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.memref import Alloc
from gpucodegen.dialects.shared.effects import undeclared
from gpucodegen.dialects.shared.memory import (
    ALLOCATIONS,
    box,
    collision,
    lowest,
    stored_by_map,
)
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const, Dim
from gpucodegen.ir.attributes import AffineMapAttr, TypeAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    rewrite_bottom_up,
    segment_counts,
)
from gpucodegen.ir.types import FunctionType, MemRefType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import on_functions
from gpucodegen.passes.framework.indexing import from_map
from gpucodegen.passes.lower_affine.expressions import results_of
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class NormalizeMemrefs(ModulePass, name="normalize-memrefs", looks_for="!layout"):
    """Memrefs with layout maps become row-major; accesses apply the map."""

    def apply(self, module: Module) -> Module:
        return on_functions(module, normalized)


def normalized(function: Operation) -> Operation:
    """The function with row-major memory."""
    stored = _Stored.of_function(function)
    if not stored.layouts:
        return function
    (rebuilt,) = rewrite_bottom_up(function, stored.rewrite)
    return _with_signature(rebuilt, stored)


def _with_signature(function: Operation, stored: _Stored) -> Operation:
    view = Function(function)
    if view.is_external:
        return function
    entry, *others = function.regions[0].blocks
    arguments = tuple(stored.memory.get(v, v) for v in entry.arguments)
    inputs = tuple(v.type for v in arguments)
    signature = FunctionType(inputs, view.result_types)
    blocks = (replace(entry, arguments=arguments), *others)
    if inputs != view.type.inputs:
        function = undeclared(function)
    return function.with_(regions=(Region(blocks),)).with_attribute(
        "function_type", TypeAttr(signature)
    )


@dataclass(slots=True)
class _Stored:
    """The memrefs of a function with a layout map, and their row-major memory."""

    layouts: dict[Value, AffineMap] = field(default_factory=dict[Value, AffineMap])
    memory: dict[Value, Value] = field(default_factory=dict[Value, Value])
    symbols: dict[Value, tuple[Value, ...]] = field(
        default_factory=dict[Value, tuple[Value, ...]]
    )

    @staticmethod
    def of_function(function: Operation) -> _Stored:
        """Arguments with static layouts, and allocations."""
        stored = _Stored()
        for argument in Function(function).arguments:
            stored._add(argument, (), function.location)
        for op in function.walk():
            if op.name in ALLOCATIONS:
                stored._add(op.result, Alloc(op).symbols, op.location)
        return stored

    def _add(
        self, value: Value, symbols: tuple[Value, ...], location: Location
    ) -> None:
        ty = value.type
        layout = stored_by_map(ty) if isinstance(ty, MemRefType) else None
        if layout is None or not isinstance(ty, MemRefType):
            return
        if len(symbols) != layout.num_syms:
            raise errors.UnsupportedType(location, type=ty, target="arguments")
        _require_one_to_one(ty, layout, location)
        extents = _extents(ty)
        shape = tuple(
            e.value if isinstance(e, Const) else None for e in box(layout, extents)
        )
        self.layouts[value] = layout
        self.symbols[value] = symbols
        self.memory[value] = value.renewed(replace(ty, shape=shape, layout=None))

    def rewrite(self, op: Operation) -> Sequence[Operation] | None:
        """The operation on row-major memory."""
        mentioned = [v for v in (*op.operands, *op.results) if v in self.layouts]
        if not mentioned:
            return None
        rewrite = _REWRITES.get(op.name)
        if rewrite is None:
            raise errors.UnsupportedOperation.at(
                op,
                target=f"buffers of type {mentioned[0].type}",
                advice="Copy the elements, or use a strided layout",
            )
        return rewrite(self, op)


def _extents(ty: MemRefType) -> list[AffineExpr]:
    """Extents; the dynamic ones are dimensions, in order."""
    unknown = iter(range(ty.rank))
    return [Dim(next(unknown)) if n is None else Const(n) for n in ty.shape]


def _require_one_to_one(ty: MemRefType, layout: AffineMap, location: Location) -> None:
    static = [n for n in ty.shape if n is not None]
    if layout.num_syms or len(static) != ty.rank:
        return
    if lowest(layout, static) < 0:
        raise errors.LayoutNotInjective(
            location, layout=layout, problem="it reaches below the start of the memory"
        )
    pair = collision(layout, static)
    if pair is not None:
        first, second = (list(point) for point in pair)
        problem = f"elements {first} and {second} lie at one place"
        raise errors.LayoutNotInjective(location, layout=layout, problem=problem)


# -- operations ------------------------------------------------------------------------


def _allocation(stored: _Stored, op: Operation) -> list[Operation]:
    value = op.result
    ty, memory = value.type, stored.memory[value]
    assert isinstance(ty, MemRefType)
    layout = stored.layouts[value]
    sizes = [s for s in box(layout, _extents(ty)) if not isinstance(s, Const)]
    b = Builder(op.location)
    dynamic, symbols = Alloc(op).dynamic_sizes, stored.symbols[value]
    map_ = AffineMap(len(dynamic), len(symbols), tuple(sizes))
    operands = tuple(results_of(b, map_, (*dynamic, *symbols)))
    attributes = {
        **op.attributes,
        "operandSegmentSizes": segment_counts(len(sizes), 0),
    }
    made = op.with_(operands=operands, results=(memory,), attributes=attributes)
    return [*b.operations, made]


def _affine_access(stored: _Stored, op: Operation) -> list[Operation]:
    at = _position(stored, op)
    value = op.operands[at]
    map_ = affine.map_of(op)
    operands = op.operands[at + 1 :]
    dims, syms = operands[: map_.num_dims], operands[map_.num_dims :]
    whole = (*op.operands[:at], stored.memory[value], *dims)
    place = stored.layouts[value].compose(map_)
    moved = op.with_(operands=(*whole, *stored.symbols[value], *syms))
    return [moved.with_attribute("map", AffineMapAttr(place))]


def _access(stored: _Stored, op: Operation) -> list[Operation]:
    at = _position(stored, op)
    value = op.operands[at]
    b = Builder(op.location)
    operands = (*op.operands[at + 1 :], *stored.symbols[value])
    place = results_of(b, stored.layouts[value], operands)
    whole = (*op.operands[:at], stored.memory[value], *place)
    return [*b.operations, op.with_(operands=whole)]


def _position(stored: _Stored, op: Operation) -> int:
    return next(i for i, value in enumerate(op.operands) if value in stored.layouts)


def _deallocation(stored: _Stored, op: Operation) -> list[Operation]:
    return [op.with_(operands=(stored.memory[op.operands[0]],))]


def _nothing(_stored: _Stored, _op: Operation) -> list[Operation]:
    return []


ATOMICS = ("memref.atomic_rmw", "memref.generic_atomic_rmw")

_REWRITES: dict[str, Callable[[_Stored, Operation], list[Operation]]] = (
    dict.fromkeys(ALLOCATIONS, _allocation)
    | dict.fromkeys(("affine.load", "affine.store"), _affine_access)
    | dict.fromkeys(("memref.load", "memref.store", *ATOMICS), _access)
    | {
        "memref.dealloc": _deallocation,
        "memref.prefetch": _nothing,
        "affine.prefetch": _nothing,
    }
)


@dataclass(frozen=True, slots=True)
class NormalizeTransfers(
    ModulePass, name="normalize-transfers", looks_for="affine.dma_start affine.dma_wait"
):
    """``affine.dma_start`` and ``affine.dma_wait`` become memref operations."""

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _normalized)
        return Module(root)


def _normalized(op: Operation) -> list[Operation] | None:
    if op.name == "affine.dma_start":
        start = affine.DmaStart(op)
        source, target, tag = start.ends
        count, *stride = start.sizes
        b = Builder(op.location)
        operands = (
            *_end(b, source), *_end(b, target), count, *_end(b, tag), *stride
        )  # fmt: skip
        return [*b.operations, _renamed(op, "memref.dma_start", operands)]
    if op.name == "affine.dma_wait":
        wait = affine.DmaWait(op)
        b = Builder(op.location)
        operands = (*_end(b, wait.tag), wait.num_elements)
        return [*b.operations, _renamed(op, "memref.dma_wait", operands)]
    return None


def _end(b: Builder, end: affine.Endpoint) -> tuple[Value, ...]:
    """The buffer and the values of its indices."""
    indices = from_map(end.map, end.map_operands)
    return (end.memref, *(b.index(index) for index in indices))


def _renamed(op: Operation, name: str, operands: tuple[Value, ...]) -> Operation:
    return op.with_(name=name, operands=operands, attributes={})
