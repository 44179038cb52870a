"""How large indices may be, and which of those of a kernel are data.

A *position* is made of identities of threads, loop variables, extents, parameters and
constants; anything that comes from memory or from another integer is *data*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine, arith, gpu, scf
from gpucodegen.dialects.ranges.arithmetic import (
    EXTENT,
    OPEN,
    RULES,
    UNSIGNED,
    WORD,
    Range,
    range_of,
)
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IndexType, IntegerType, MemRefType, Type


@dataclass(slots=True)
class IndexRanges:
    """Ranges of the index values of a kernel, and those that are data.

    ``extent``: what is known of an extent that no type states.
    """

    kernel: Operation | None = None
    extent: Range = EXTENT
    known: dict[Value, Range] = field(default_factory=dict[Value, Range])
    data: set[Value] = field(default_factory=set[Value])

    def at(self, value: Value) -> Range:
        """The range of a value."""
        return self.known.get(value, OPEN)

    def visit(self, op: Operation) -> None:
        """Find the ranges of what an operation defines."""
        rule = _SOURCES.get(op.name)
        if rule is not None:
            rule(self, op)
            return
        results = [value for value in op.results if _is_index(value.type)]
        if op.regions or not results:
            return
        if op.dialect == "gpu" and not op.operands:
            self.known.update(dict.fromkeys(results, EXTENT))
            return
        operands = [value for value in op.operands if _is_index(value.type)]
        known = RULES.get(op.name) or self._unsigned(op)
        if known is not None:
            first, second = (self.at(value) for value in op.operands)
            self.known[op.result] = known(first, second)
        if op.name not in _OF_POSITIONS or self.data.intersection(operands):
            self.data.update(results)

    def _unsigned(self, op: Operation) -> Callable[[Range, Range], Range] | None:
        natural = all(self.at(value).low >= 0 for value in op.operands)
        return RULES[UNSIGNED[op.name]] if op.name in UNSIGNED and natural else None

    def of_map(self, map_: AffineMap, operands: Sequence[Value]) -> list[Range]:
        """The values of the results of a map."""
        ranges = [self.at(value) for value in operands]
        dims, syms = ranges[: map_.num_dims], ranges[map_.num_dims :]
        return [range_of(expr, dims, syms) for expr in map_.results]


# -- where indices come from -----------------------------------------------------------

_OF_POSITIONS = frozenset({*RULES, *UNSIGNED}) | frozenset(
    "arith.andi arith.ori arith.xori arith.shli arith.shrsi arith.shrui "
    "affine.delinearize_index affine.linearize_index".split()
)
"""Operations whose results are positions if their operands are."""


def _constant(r: IndexRanges, op: Operation) -> None:
    value = arith.constant_value(op)
    if isinstance(value, int):
        r.known[op.result] = Range(value, value)


def _cast(r: IndexRanges, op: Operation) -> None:
    (operand,) = op.operands
    if not _is_index(op.result.type):
        return
    r.data.add(op.result)
    if isinstance(operand.type, IntegerType):
        bits = operand.type.width
        half = 1 << (bits - 1)
        signed = op.name == "arith.index_cast"
        r.known[op.result] = (
            Range(-half, half - 1) if signed else Range(0, 2 * half - 1)
        )


def _select(r: IndexRanges, op: Operation) -> None:
    _, first, second = op.operands
    if _is_index(op.result.type):
        r.known[op.result] = r.at(first).either(r.at(second))
        if r.data.intersection((first, second)):
            r.data.add(op.result)


def _identity(r: IndexRanges, op: Operation) -> None:
    """A number below the size of a block or grid, or that size."""
    of_block = op.name in {"gpu.thread_id", "gpu.block_dim"}
    find = gpu.known_block if of_block else gpu.known_grid
    at = "xyz".index(gpu.dimension_of(op))
    assert r.kernel is not None
    size, block = find(r.kernel)[at], gpu.known_block(r.kernel)[at]
    top = size or (1024 if of_block else (1 << 31) // (block or 1024))
    is_size = op.name in {"gpu.block_dim", "gpu.grid_dim"}
    r.known[op.result] = Range(0, top if is_size else top - 1, exact=size is not None)


def _extent(r: IndexRanges, op: Operation) -> None:
    ty = op.operands[0].type
    at = r.at(op.operands[1])
    r.known[op.result] = r.extent
    if (
        isinstance(ty, MemRefType)
        and at.low == at.high
        and at.low in range(len(ty.shape))
    ):
        size = ty.shape[at.low]
        r.known[op.result] = r.extent if size is None else Range(size, size)


def _affine(r: IndexRanges, op: Operation) -> None:
    found = r.of_map(affine.map_of(op), op.operands)
    joined = found[0]
    for other in found[1:]:
        least = op.name == "affine.min"
        joined = joined.smaller(other) if least else joined.larger(other)
    r.known[op.result] = joined
    if r.data.intersection(op.operands):
        r.data.add(op.result)


def _between(lowers: Sequence[Range], uppers: Sequence[Range]) -> Range:
    low, high = max(r.low for r in lowers), min(r.high for r in uppers) - 1
    exact = all(r.exact for r in (*lowers, *uppers))
    return Range(low, max(low, high), exact)


def _affine_for(r: IndexRanges, op: Operation) -> None:
    loop = affine.For(op)
    lowers = r.of_map(loop.lower_map, loop.lower_operands)
    uppers = r.of_map(loop.upper_map, loop.upper_operands)
    r.known[loop.iv] = _between(lowers, uppers)
    if r.data.intersection((*loop.lower_operands, *loop.upper_operands)):
        r.data.add(loop.iv)


def _affine_parallel(r: IndexRanges, op: Operation) -> None:
    loop = affine.Parallel(op)
    for iv, low, high in zip(loop.ivs, loop.lower_maps, loop.upper_maps, strict=True):
        lowers = r.of_map(low, loop.lower_operands)
        r.known[iv] = _between(lowers, r.of_map(high, loop.upper_operands))


def _scf_for(r: IndexRanges, op: Operation) -> None:
    loop = scf.For(op)
    if "unsignedCmp" in op.attributes:
        return
    r.known[loop.iv] = _between([r.at(loop.lower)], [r.at(loop.upper)])
    if r.data.intersection((loop.lower, loop.upper)):
        r.data.add(loop.iv)


_SOURCES: Mapping[str, Callable[[IndexRanges, Operation], None]] = {
    "arith.constant": _constant,
    "arith.index_cast": _cast,
    "arith.index_castui": _cast,
    "arith.select": _select,
    "memref.dim": _extent,
    "affine.for": _affine_for,
    "affine.parallel": _affine_parallel,
    "scf.for": _scf_for,
    **dict.fromkeys(("affine.apply", "affine.min", "affine.max"), _affine),
    **dict.fromkeys(
        ("gpu.thread_id", "gpu.block_dim", "gpu.block_id", "gpu.grid_dim"), _identity
    ),
}


def _is_index(ty: Type) -> bool:
    return isinstance(ty, IndexType)


# -- outside of kernels ----------------------------------------------------------------

_FOLLOWED = frozenset({"arith", "affine", "memref"})


def range_of_value(
    value: Value,
    definitions: Mapping[Value, Operation],
    known: Mapping[Value, Range] | None = None,
) -> Range:
    """The range of an index, by the operations that compute it: clamps, say.

    ``known``: ranges of values that other operations make.

    >>> from gpucodegen.ir.attributes import IntegerAttr
    >>> from gpucodegen.ir.types import INDEX
    >>> any_, five, least = (Value(INDEX, name) for name in "xyz")
    >>> one = Operation(
    ...     "arith.constant", (), (five,), {"value": IntegerAttr(5, INDEX)}
    ... )
    >>> two = Operation("arith.minsi", (any_, five), (least,))
    >>> range_of_value(least, {five: one, least: two}).high
    5
    """
    found = IndexRanges(extent=WORD._replace(low=0, exact=False))
    found.known.update(known or {})
    seen: set[Operation] = set()

    def follow(value: Value) -> None:
        op = definitions.get(value)
        if op is None or op in seen or op.regions or op.dialect not in _FOLLOWED:
            return
        seen.add(op)
        for operand in op.operands:
            follow(operand)
        found.visit(op)

    follow(value)
    return found.at(value)
