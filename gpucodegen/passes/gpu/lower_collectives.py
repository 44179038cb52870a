"""Collectives lowered to shuffles: reductions, rotations and broadcasts among threads.

``gpu.all_reduce``, ``gpu.subgroup_reduce``, ``gpu.rotate`` and
``gpu.subgroup_broadcast`` in proven kernels become ``gpu.shuffle``, or
``nvvm.redux.sync`` where one instruction reduces.  A block reduces within its warps
first; then each thread combines the warps' results from shared memory.  A barrier
stands in between, and a second one where a loop reuses that memory.  A kernel that
gained memory and barriers is proven again if its block extents are known, and loses the
barriers that have become redundant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import partial, reduce
from math import prod
from typing import ClassVar

from gpucodegen.dialects import arith, gpu
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    clone,
    rewrite_bottom_up,
    single_block,
    substitute_values,
)
from gpucodegen.ir.types import I1, I32, INDEX, MemRefType, element_type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import check_kernel
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import without_dead_code
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.synchronization import BARRIER, without_redundant_barriers
from gpucodegen.passes.outlining.gpu_launch import SHARED, thread_index
from gpucodegen.passes.prepare.thread_identities import ThreadPlace
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP

Combine = Callable[[Builder, Value, Value], Value]
"""Builds one value of two."""


@dataclass(slots=True)
class Warp:
    """Builds a lane's part of collectives; ``block``: known extents of the block.

    ``again``: the code may run more than once.
    """

    b: Builder
    block: gpu.Extents
    again: bool = True
    place: ThreadPlace = field(init=False)

    def __post_init__(self) -> None:
        names = ("block_id", "thread_id", "grid_dim", "block_dim")
        found = {n: [thread_index(self.b, n, d, n) for d in "xyz"] for n in names}
        sizes = [
            size if known is None else self.b.index(known)
            for size, known in zip(found["block_dim"], self.block, strict=True)
        ]
        known = zip(sizes, self.block, strict=True)
        numbers = {size: extent for size, extent in known if extent is not None}
        positions = [*found["block_id"], *found["thread_id"]]
        extents = [*found["grid_dim"], *sizes]
        self.place = ThreadPlace(self.b, positions, extents, numbers)

    @property
    def threads(self) -> int | None:
        """The number of threads of a block, if known."""
        known = [extent for extent in self.block if extent is not None]
        return prod(known) if len(known) == len(self.block) else None

    def is_full(self, lanes: int) -> bool:
        """Whether each group of ``lanes`` consecutive threads certainly exists."""
        return self.threads is not None and self.threads % lanes == 0

    def word(self, value: Value | int) -> Value:
        """An index or number as a 32-bit integer."""
        if isinstance(value, int):
            return self.b.constant(value, I32)
        if value.type == I32:
            return value
        return self.b.add("arith.index_cast", (value,), [I32])[0]

    def integer(self, name: str, left: Value, right: Value | int) -> Value:
        """An arith operation on 32-bit integers."""
        return self.b.add(f"arith.{name}", (left, self.word(right)), [I32])[0]

    def shuffle(
        self, mode: str, value: Value, other: Value | int, width: int = WARP
    ) -> tuple[Value, ...]:
        """``gpu.shuffle``: the value of another lane, and whether there is one."""
        attributes = {"mode": OpaqueAttr(f"#gpu.shuffle_mode<{mode}>")}
        operands = (value, self.word(other), self.word(width))
        return self.b.add("gpu.shuffle", operands, [value.type, I1], attributes)

    def combined(
        self, value: Value, combine: Combine, size: int = WARP, stride: int = 1
    ) -> Value:
        """The reduction over a cluster: ``size`` lanes at distance ``stride``.

        In a full warp each lane exchanges with the lane whose number differs in one bit
        (butterfly).  Elsewhere the first lane of a cluster collects from those that
        exist.
        """
        if self.threads is not None and self.threads < WARP:
            size = min(size, 1 << (self.threads - 1).bit_length())
        steps = [stride << bit for bit in range(size.bit_length() - 1)]
        if self.is_full(size * stride):
            for step in steps:
                value = combine(self.b, value, self.shuffle("xor", value, step)[0])
            return value
        lane, number, end = map(self.word, (self.lane, self.number, self.end))
        for step in reversed(steps):
            there = self._less(self.integer("addi", number, step), end)
            source = self._chosen(there, self.integer("addi", lane, step), lane)
            other = self.shuffle("idx", value, source)[0]
            value = self._chosen(there, combine(self.b, value, other), value)
        cluster = (size - 1) * stride
        first = self.integer("andi", lane, (WARP - 1) & ~cluster)
        return self.shuffle("idx", value, first)[0]

    @property
    def lane(self) -> Value:
        return self.place.lane()

    @property
    def number(self) -> Value:
        return self.place.number()

    @property
    def end(self) -> Value:
        """The number of threads of the block."""
        known = self.threads
        return self.place.count() if known is None else self.b.index(known)

    def _less(self, left: Value, right: Value) -> Value:
        compared = arith.compare("arith.cmpi", "slt", left, right)
        self.b.operations.append(compared)
        return compared.result

    def _chosen(self, condition: Value, first: Value, second: Value) -> Value:
        operands = (condition, first, second)
        return self.b.add("arith.select", operands, [first.type])[0]


def _combine(op: Operation) -> Combine:
    """The arith operation of a reduction, or its body."""
    if any(region.blocks for region in op.regions):
        return lambda b, left, right: _body(b, op, left, right)
    ty = op.result.type
    row = of_kind(kind_word(op.attributes.get("op")), element_type(ty))
    assert row is not None
    return lambda b, left, right: b.add(row.name, (left, right), [ty])[0]


def _body(b: Builder, op: Operation, left: Value, right: Value) -> Value:
    block = clone(op).regions[0].blocks[0]
    given = dict(zip(block.arguments, (left, right), strict=True))
    *operations, end = (substitute_values(o, given) for o in block.operations)
    b.operations += operations
    return end.operands[0]


def _all_reduce(warp: Warp, op: Operation) -> tuple[Value, ...]:
    """The sum of each warp in shared memory, between two barriers."""
    value, combine = op.operands[0], _combine(op)
    value = warp.combined(value, combine)
    if warp.threads is not None and warp.threads <= WARP:
        return (value,)
    b = warp.b
    count = WARP if warp.threads is None else -(-warp.threads // WARP)
    ty = MemRefType((count,), value.type, memory_space=SHARED)
    sums = b.allocate("memref.alloca", ty, "partial")
    _store_first(warp, value, sums)
    b.operations.append(gpu.barrier(location=op.location))
    total = _over_warps(warp, sums, combine)
    if warp.again:
        b.operations.append(gpu.barrier(location=op.location))
    return (total,)


def _store_first(warp: Warp, value: Value, sums: Value) -> None:
    """Lane 0 of each warp stores."""
    b = warp.b
    if warp.threads is not None:
        number = Index.of(warp.number)
        place = [number // WARP]
        b.guard([Index.of(0) - number % WARP], lambda i: i.store(value, sums, place))
        return
    number = warp.place.warp()
    is_first = arith.compare("arith.cmpi", "eq", warp.lane, b.index(0))
    b.operations.append(is_first)

    def store(inner: Builder) -> None:
        inner.add("memref.store", (value, sums, number))
        inner.add("scf.yield")

    regions = (single_block(b.nested(store)), Region())
    b.add("scf.if", (is_first.result,), regions=regions)


def _over_warps(warp: Warp, sums: Value, combine: Combine) -> Value:
    """The reduction of the warps' results, in order."""
    b, ty = warp.b, element_type(sums.type)
    if warp.threads is not None:
        count = -(-warp.threads // WARP)
        parts = [b.load(sums, [number]) for number in range(count)]
        return reduce(partial(combine, b), parts)
    first = b.add("memref.load", (sums, b.index(0)), [ty])[0]
    bounds = (b.index(1), warp.place.warps(), b.index(1))
    iv, carried = Value(INDEX, "warp", b.location), first.renewed()

    def more(inner: Builder) -> None:
        other = inner.add("memref.load", (sums, iv), [ty])[0]
        inner.add("scf.yield", (combine(inner, carried, other),))

    region = single_block(b.nested(more), (iv, carried))
    return b.add("scf.for", (*bounds, first), [ty], regions=(region,))[0]


def _subgroup_reduce(warp: Warp, op: Operation) -> tuple[Value, ...]:
    """One instruction for 32 bits of a whole warp, or shuffles."""
    value = op.operands[0]
    kind = _REDUX.get(kind_word(op.attributes.get("op")))
    if "cluster_size" not in op.attributes and value.type == I32 and kind:
        attributes = {"kind": OpaqueAttr(f"#nvvm<redux_kind {kind}>")}
        operands = (value, warp.word(-1))
        return warp.b.add("nvvm.redux.sync", operands, [I32], attributes)
    size, stride = op.integer("cluster_size", WARP), op.integer("cluster_stride", 1)
    return (warp.combined(value, _combine(op), size, stride),)


_REDUX = {
    "add": "add",
    "and": "and",
    "maxsi": "max",
    "maxui": "umax",
    "minsi": "min",
    "minui": "umin",
    "or": "or",
    "xor": "xor",
}
"""The combinations of ``redux.sync``."""


def _rotate(warp: Warp, op: Operation) -> tuple[Value, ...]:
    """Rotation of the lanes below a width."""
    offset, width = op.integer("offset", 0), op.integer("width", WARP)
    moved = warp.integer("addi", warp.word(warp.lane), offset)
    other = warp.integer("andi", moved, width - 1)
    return warp.shuffle("idx", op.operands[0], other, width)


def _broadcast(warp: Warp, op: Operation) -> tuple[Value, ...]:
    """The value of a given lane, or of lane 0; all lanes are active."""
    value, *named = op.operands
    return warp.shuffle("idx", value, named[0] if named else 0)[:1]


LOWERED: dict[str, Callable[[Warp, Operation], tuple[Value, ...]]] = {
    "gpu.all_reduce": _all_reduce,
    "gpu.rotate": _rotate,
    "gpu.subgroup_broadcast": _broadcast,
    "gpu.subgroup_reduce": _subgroup_reduce,
}


def _names(op: Operation) -> set[str]:
    return {inner.name for inner in op.walk()}


def _has_collectives(op: Operation) -> bool:
    return op.name == "gpu.func" and not LOWERED.keys().isdisjoint(_names(op))


def _kernel(op: Operation, found: dict[str, list[bool]]) -> list[Operation] | None:
    """The kernel without collectives; ``found``: barriers of reduction trees."""
    if not _has_collectives(op):
        return None
    barriers = found.setdefault(symbol_name(op), [])
    values: dict[Value, Value] = {}
    repeated = set(_repeated(op))

    def rewrite(inner: Operation) -> list[Operation] | None:
        lower = LOWERED.get(inner.name)
        if lower is None:
            barriers.extend([False] * (inner.name == BARRIER))
            return None
        again = inner.results[0] in repeated
        warp = Warp(Builder(inner.location), gpu.known_block(op), again)
        values.update(zip(inner.results, lower(warp, inner), strict=True))
        made = warp.b.operations
        barriers.extend(True for o in made if o.name == BARRIER)
        return made

    (changed,) = rewrite_bottom_up(op, rewrite)
    return [without_dead_code(substitute_values(changed, values))]


def _repeated(op: Operation) -> Iterator[Value]:
    """The first results of operations that a thread may execute repeatedly."""
    for inner in op.walk():
        blocks = max((len(region.blocks) for region in inner.regions), default=0)
        if blocks > 1 or (blocks and inner.name not in {*_ONCE, *LOWERED}):
            yield from (o.results[0] for o in inner.walk() if o.results)


_ONCE = frozenset({"affine.if", "gpu.func", "scf.if"})
"""Operations that run a region at most once."""


@dataclass(frozen=True, slots=True)
class LowerCollectives(ModulePass):
    """Operations among threads to shuffles, shared memory and barriers.

    ``verify``: prove the kernels that have changed.
    """

    name: ClassVar[str] = "lower-collectives"
    looks_for: ClassVar[frozenset[str]] = frozenset(LOWERED)
    verify: bool = True

    def apply(self, module: Module) -> Module:
        found: dict[str, list[bool]] = {}
        (root,) = rewrite_bottom_up(module.operation, lambda op: _kernel(op, found))
        shared = {name for name, barriers in found.items() if any(barriers)}
        if not found or not (shared and self.verify):
            return Module(root) if found else module
        surroundings = Surroundings.of(Module(root))

        def proven(op: Operation) -> list[Operation] | None:
            """Without the extents of a block no warp is known."""
            is_named = op.name == "gpu.func" and symbol_name(op) in shared
            if not is_named or None in gpu.known_block(op):
                return None
            check_kernel(op, surroundings)
            return [
                without_redundant_barriers(op, found[symbol_name(op)], surroundings)
            ]

        (root,) = rewrite_bottom_up(root, proven)
        return Module(root)
