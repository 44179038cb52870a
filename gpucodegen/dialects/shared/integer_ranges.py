"""Interval analysis of index values in a kernel.

Intervals are propagated through sums, quotients and affine expressions. The analysis
also separates *positions*, which are computed from thread identities, loop variables,
extents, parameters and constants, from *data*, which comes from memory or from another
integer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from gpucodegen.dialects import affine, arith, gpu, scf
from gpucodegen.ir.affine import AffineExpr, AffineMap, Binary, Const, Dim, Sym
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IndexType, IntegerType, MemRefType, Type
from gpucodegen.records import dataclass


class Range(NamedTuple):
    """Numbers from ``low`` to ``high``; ``exact`` if no bound was widened on the way.

    >>> Range(0, 7) + Range(1, 2), Range(0, 7).within(Range(0, 9))
    (Range(low=1, high=9, exact=True), True)
    """

    low: int
    high: int
    exact: bool = True

    def within(self, other: Range) -> bool:
        """Whether the range is a subset of another."""
        return other.low <= self.low and self.high <= other.high

    def of(self, numbers: Sequence[int], *others: Range) -> Range:
        """The hull of some numbers; the whole 64-bit range if it is exceeded."""
        exact = self.exact and all(other.exact for other in others)
        found = Range(min(numbers), max(numbers), exact)
        return found if found.within(WORD) else WORD._replace(exact=exact)

    def __add__(self, other: object) -> Range:  # type: ignore[override]
        assert isinstance(other, Range)
        return self.of([self.low + other.low, self.high + other.high], other)

    def minus(self, other: Range) -> Range:
        return self.of([self.low - other.high, self.high - other.low], other)

    def times(self, other: Range) -> Range:
        return self.of([a * b for a in self[:2] for b in other[:2]], other)

    def divided(self, other: Range, divide: Callable[[int, int], int]) -> Range:
        """Quotients by positive numbers; the whole range otherwise."""
        if other.low <= 0:
            return WORD._replace(exact=False)
        return self.of([divide(a, b) for a in self[:2] for b in other[:2]], other)

    def rest(self, other: Range) -> Range:
        if other.low <= 0:
            return WORD._replace(exact=False)
        low = 0 if self.low >= 0 else 1 - other.high
        return self.of([low, min(max(self.high, 0), other.high - 1)], other)

    def smaller(self, other: Range) -> Range:
        return self.of([min(self.low, other.low), min(self.high, other.high)], other)

    def larger(self, other: Range) -> Range:
        return self.of([max(self.low, other.low), max(self.high, other.high)], other)

    def either(self, other: Range) -> Range:
        """The hull of both ranges."""
        return self.of([*self[:2], *other[:2]], other)


WORD = Range(-(1 << 63), (1 << 63) - 1)  # a 64-bit index
HALF = Range(-(1 << 31), (1 << 31) - 1)  # a 32-bit index
EXTENT = Range(0, HALF.high, exact=False)
OPEN = WORD._replace(exact=False)


def _down(a: int, b: int) -> int:
    return a // b


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _to_zero(a: int, b: int) -> int:
    return a // b if a >= 0 else -(-a // b)


RULES: dict[str, Callable[[Range, Range], Range]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": Range.minus,
    "arith.muli": Range.times,
    "arith.divsi": lambda a, b: a.divided(b, _to_zero),
    "arith.floordivsi": lambda a, b: a.divided(b, _down),
    "arith.ceildivsi": lambda a, b: a.divided(b, _up),
    "arith.remsi": Range.rest,
    "arith.minsi": Range.smaller,
    "arith.maxsi": Range.larger,
}
UNSIGNED = {
    "arith.divui": "arith.floordivsi",
    "arith.ceildivui": "arith.ceildivsi",
    "arith.remui": "arith.remsi",
    "arith.minui": "arith.minsi",
    "arith.maxui": "arith.maxsi",
}
"""The signed counterpart, equal for natural numbers."""
_IN_EXPRESSIONS = {
    "+": "arith.addi",
    "*": "arith.muli",
    "floordiv": "arith.floordivsi",
    "ceildiv": "arith.ceildivsi",
}


def range_of(expr: AffineExpr, dims: Sequence[Range], syms: Sequence[Range]) -> Range:
    """The interval of an affine expression.

    >>> range_of(Dim(0) * 4 + 3, [Range(0, 9)], [])
    Range(low=3, high=39, exact=True)
    """
    match expr:
        case Const(value):
            return Range(value, value)
        case Dim(position):
            return dims[position]
        case Sym(position):
            return syms[position]
        case Binary("mod", lhs, rhs):
            left, right = (range_of(side, dims, syms) for side in (lhs, rhs))
            rest = left.rest(right)
            return rest if left.low >= 0 else rest._replace(low=0)
        case Binary(op, lhs, rhs):
            left, right = (range_of(side, dims, syms) for side in (lhs, rhs))
            return RULES[_IN_EXPRESSIONS[op]](left, right)
        case _:
            return OPEN


@dataclass(slots=True)
class IndexRanges:
    """Ranges of the index values of a kernel, and the set of those that are data.

    ``extent`` is the range of an extent that no type states.
    """

    kernel: Operation | None = None
    extent: Range = EXTENT
    known: dict[Value, Range] = field(default_factory=dict[Value, Range])
    data: set[Value] = field(default_factory=set[Value])

    def at(self, value: Value) -> Range:
        return self.known.get(value, OPEN)

    def visit(self, op: Operation) -> None:
        """Compute the ranges of an operation's results."""
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
        """The ranges of a map's results."""
        ranges = [self.at(value) for value in operands]
        dims, syms = ranges[: map_.num_dims], ranges[map_.num_dims :]
        return [range_of(expr, dims, syms) for expr in map_.results]


# -- where indices come from -----------------------------------------------------------

_OF_POSITIONS = frozenset({*RULES, *UNSIGNED}) | frozenset(
    "arith.andi arith.ori arith.xori arith.shli arith.shrsi arith.shrui "
    "affine.delinearize_index affine.linearize_index".split()
)
"""Operations whose results are positions if all their operands are."""


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
    """The range of a thread or block index, or of an extent of block or grid."""
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
    """The range of an index value, from the operations that compute it, such as clamps.

    ``known``: ranges of values that other operations define.

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
