"""Decides whether a kernel's indices need 64 bits or 32 give the same results.

Sums, differences and products are the same modulo 2^32. An operation is *sensitive* if
it needs more than the lower half of a number: divisions, comparisons, right shifts,
loop bounds. Its operands must be proven to fit 32 bits. A position that is not proven
to fit, because sizes are dynamic, is accepted as part of an address: for a buffer with
more elements, the launch takes the same kernel with 64-bit indices.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import field
from math import prod
from typing import NamedTuple

from gpucodegen.dialects import affine, scf
from gpucodegen.dialects.shared.integer_ranges import HALF, IndexRanges, range_of
from gpucodegen.emit.spelling import is_index
from gpucodegen.ir.affine import AffineExpr, AffineMap, Binary, Const
from gpucodegen.ir.attributes import AffineMapAttr, IntegerSetAttr, StridedLayoutAttr
from gpucodegen.ir.number_formats import MOST_THREADS
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import INDEX, IntegerType, MemRefType, element_type
from gpucodegen.records import dataclass

CASTS = frozenset({"arith.index_cast", "arith.index_castui"})
SENSITIVE = frozenset(
    f"arith.{name}"
    for name in (
        "divsi divui remsi remui floordivsi ceildivsi ceildivui shrsi shrui "
        "minsi maxsi minui maxui cmpi addui_extended subui_extended "
        "mulsi_extended mului_extended index_castui"
    ).split()
) | frozenset(
    "scf.for scf.index_switch affine.delinearize_index math.absi "
    "math.ctlz math.cttz math.ctpop math.ipowi".split()
)
MODULAR = frozenset(
    "arith.addi arith.subi arith.muli arith.select affine.apply affine.min affine.max "
    "affine.delinearize_index affine.linearize_index".split()
)
"""Operations that are exact modulo 2^32: parts of an address include their operands."""
LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for"})
BOUNDS = LOOPS | {"affine.if", "affine.min", "affine.max"}
LONG_STEP = 1 << 42
"""Largest step, above any grid, that is added to bounds without overflow."""
LARGEST_TILE = 1 << 16
"""Largest tile factor in addresses."""


def needs_words(kernel: Operation, blocks: Sequence[Block]) -> bool:
    """Whether some result differs with 32-bit indices."""
    roots = [op for block in blocks for op in block.operations]
    operations = [op for root in roots for op in root.walk()]
    values = [*blocks[0].arguments, *(v for op in operations for v in op.results)]
    buffers = [value.type for value in values if isinstance(value.type, MemRefType)]
    if any(least_extent(ty) > MOST_THREADS for ty in buffers):
        return True
    if any(map(_holds_words, operations)):
        return True
    return _Widths(kernel, blocks, operations).are_too_small()


def has_open_extents(blocks: Sequence[Block]) -> bool:
    """Whether 32 bits suffice only under a condition that launches check."""
    types = [value.type for value in blocks[0].arguments]
    return any(
        is_index(ty) or (isinstance(ty, MemRefType) and not _is_static(ty))
        for ty in types
    )


def least_extent(ty: MemRefType) -> int:
    """Lower bound of the elements that a buffer spans; stride 0 may repeat elements.

    A dynamic extent or stride counts as 1.
    """
    shape = [1 if extent is None else extent for extent in ty.shape]
    strides = ty.layout.strides if isinstance(ty.layout, StridedLayoutAttr) else ()
    steps = (abs(stride or 1) for stride in strides)
    span = 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=False))
    return 0 if 0 in shape else max(span, prod(shape))


def _is_static(ty: MemRefType) -> bool:
    strides = ty.layout.strides if isinstance(ty.layout, StridedLayoutAttr) else ()
    return None not in (*ty.shape, *strides)


def wrapping_loops(kernel: Operation, blocks: Sequence[Block]) -> frozenset[Operation]:
    """``scf`` loops whose variable may exceed 64 bits after the last iteration."""
    operations = [o for block in blocks for op in block.operations for o in op.walk()]
    loops = {op: steps for op in operations if (steps := _steps(op))}
    if not loops:
        return frozenset()
    ranges = _Widths(kernel, blocks, operations).ranges
    return frozenset(
        op
        for op, steps in loops.items()
        if any(ranges.at(step).high > LONG_STEP for _, step in steps)
    )


def _steps(op: Operation) -> list[tuple[Value, Value]]:
    """Upper bound and step of each variable of an ``scf`` loop."""
    return [(op.operands[1], op.operands[2])] if op.name == "scf.for" else []


def _holds_words(op: Operation) -> bool:
    """Whether indices are stored as elements, or cast from or to wide integers."""
    types = [value.type for value in (*op.operands, *op.results)]
    if op.name in CASTS:
        return any(isinstance(t, IntegerType) and t.width > 32 for t in types)
    return any(element_type(element_type(t)) == INDEX != t for t in types)


@dataclass(slots=True)
class _Widths:
    kernel: Operation
    blocks: Sequence[Block]
    operations: Sequence[Operation]
    ranges: IndexRanges = field(init=False)
    addresses: set[Value] = field(default_factory=set[Value])
    flows: list[tuple[tuple[Value, ...], tuple[Value, ...]]] = field(init=False)

    def __post_init__(self) -> None:
        """Compute ranges, data values and address parts."""
        self.ranges = IndexRanges(self.kernel)
        self.flows = [flow for op in self.operations for flow in _carried(op)]
        by_label = {block.label: block for block in self._all_blocks()}
        for op in self.operations:
            for target in op.successors:
                block = by_label[target.label]
                self.flows.append((target.operands, tuple(block.arguments)))
        self._find_data()
        self._find_addresses()

    def _all_blocks(self) -> Iterator[Block]:
        yield from self.blocks
        for op in self.operations:
            yield from op.blocks

    def _find_data(self) -> None:
        """Propagate data through loop-carried values and arguments to a fixed point."""
        while True:
            for op in self.operations:
                self.ranges.visit(op)
            data = self.ranges.data
            found = {
                value
                for sources, targets in self.flows
                if data.intersection(sources)
                for value in _indices(targets)
            }
            if found <= data:
                return
            data |= found

    def _find_addresses(self) -> None:
        parameters = set(self.blocks[0].arguments)
        work = [v for op in self.operations for v in _seeds(op, parameters)]
        sources: dict[Value, list[Value]] = {}
        for op in self.operations:
            if op.name in MODULAR:
                for value in op.results:
                    sources.setdefault(value, []).extend(_indices(op.operands))
        for given, taken in self.flows:
            for value in taken:
                sources.setdefault(value, []).extend(_indices(given))
        while work:
            value = work.pop()
            if value not in self.addresses:
                self.addresses.add(value)
                work += sources.get(value, [])

    def are_too_small(self) -> bool:
        """Whether 32 bits are insufficient."""
        return any(map(self._loses, self.operations))

    def _loses(self, op: Operation) -> bool:
        if op.name == "arith.constant":
            return is_index(op.result.type) and not self._fits(op.result)
        if any(self._is_passed(*pair) for pair in _steps(op)):
            return True
        if op.name == "affine.for" and affine.For(op).step > HALF.high:
            return True
        if op.name in SENSITIVE and not all(map(self._fits, _indices(op.operands))):
            return True
        return any(self._map_loses(op, applied) for applied in _applied(op))

    def _is_passed(self, upper: Value, step: Value) -> bool:
        """Whether the variable's value after the last iteration may leave 32 bits.

        A step over the grid is at most the grid's number of threads.
        """
        end, most = self.ranges.at(upper), self.ranges.at(step).high
        is_known = end.exact or upper in self.ranges.data
        return most > HALF.high + 1 or (is_known and end.high - 1 + most > HALF.high)

    def _fits(self, value: Value) -> bool:
        found = self.ranges.at(value)
        if found.within(HALF):
            return True
        is_open = not found.exact and value not in self.ranges.data
        return is_open and value in self.addresses

    def _map_loses(self, op: Operation, applied: Applied) -> bool:
        """Whether a divided expression or a bound may leave 32 bits."""
        is_bound = op.name in BOUNDS
        is_position = self.ranges.data.isdisjoint(applied.operands)
        leads = not op.results or not self.addresses.isdisjoint(op.results)
        may_be_open = is_position and (leads or is_bound)
        ranges = [self.ranges.at(value) for value in applied.operands]
        dims, syms = ranges[: applied.dims], ranges[applied.dims :]
        for expr in applied.results:
            for part in (*_divided(expr), *([expr] if is_bound else [])):
                found = range_of(part, dims, syms)
                is_open = not found.exact and _has_small_factors(part)
                if not (found.within(HALF) or (may_be_open and is_open)):
                    return True
        numbers = (n for expr in applied.results for n in _numbers(expr))
        return not all(HALF.low <= n <= HALF.high for n in numbers)


class Applied(NamedTuple):
    """Affine expressions, their operands, and how many of these are dimensions."""

    results: Sequence[AffineExpr]
    operands: Sequence[Value]
    dims: int


def _applied(op: Operation) -> Iterator[Applied]:
    if op.name == "affine.for":
        loop = affine.For(op)
        yield _of(loop.lower_map, loop.lower_operands)
        yield _of(loop.upper_map, loop.upper_operands)
    elif op.name == "affine.parallel":
        sides = affine.Parallel(op)
        for map_ in sides.lower_maps:
            yield _of(map_, sides.lower_operands)
        for map_ in sides.upper_maps:
            yield _of(map_, sides.upper_operands)
    elif op.name == "affine.if":
        condition = op.attributes["condition"]
        assert isinstance(condition, IntegerSetAttr)
        results = [c.expr for c in condition.set.constraints]
        yield Applied(results, op.operands, condition.set.num_dims)
    else:
        map_ = op.attributes.get("map")
        if isinstance(map_, AffineMapAttr):
            count = map_.map.num_inputs
            yield _of(map_.map, op.operands[len(op.operands) - count :])


def _of(map_: AffineMap, operands: Sequence[Value]) -> Applied:
    return Applied(map_.results, operands, map_.num_dims)


def _divided(expr: AffineExpr) -> Iterator[AffineExpr]:
    """The dividends in an expression."""
    if isinstance(expr, Binary):
        if expr.op not in {"+", "*"}:
            yield expr.lhs
        yield from _divided(expr.lhs)
        yield from _divided(expr.rhs)


def _numbers(expr: AffineExpr) -> Iterator[int]:
    if isinstance(expr, Const):
        yield expr.value
    elif isinstance(expr, Binary):
        yield from _numbers(expr.lhs)
        yield from _numbers(expr.rhs)


def _has_small_factors(expr: AffineExpr) -> bool:
    return all(abs(number) <= LARGEST_TILE for number in _numbers(expr))


def _indices(values: Iterable[Value]) -> list[Value]:
    return [value for value in values if is_index(value.type)]


def _seeds(op: Operation, parameters: Container[Value]) -> list[Value]:
    """Indices of accesses and loop bounds, and parameters in comparisons."""
    if op.name == "arith.cmpi":
        return [value for value in _indices(op.operands) if value in parameters]
    is_access = any(isinstance(value.type, MemRefType) for value in op.operands)
    return _indices(op.operands) if is_access or op.name in BOUNDS else []


def _carried(op: Operation) -> Iterator[tuple[tuple[Value, ...], tuple[Value, ...]]]:
    """Pairs of values: sources and targets of loop-carried and block arguments."""
    if not op.regions:
        return
    blocks = op.blocks
    given = op.operands if op.name == "scf.while" else ()
    ivs: Sequence[Value] = ()
    if op.name in {"affine.for", "scf.for"}:
        loop = affine.For(op) if op.name == "affine.for" else scf.For(op)
        given, ivs = loop.inits, (loop.iv,)
    elif op.name in LOOPS:
        ivs = blocks[0].arguments
    ends = (v for block in blocks for v in block.operations[-1].operands)
    inner = (v for block in blocks for v in block.arguments if v not in ivs)
    yield (*_indices((*given, *ends)),), (*_indices((*op.results, *inner)),)
