"""Places of the largest or smallest elements as maxima of integer keys.

    for r { V[r] = v;  P[r] = p }
    for r, k { V[r], P[r] = the better of (V[r], P[r]) and (x(r, k), k) }

becomes, where V is dead behind the nests,

    for r { P[r] = place of max(key(v, p), max over k of key(x(r, k), k)) }

The key has 64 bits: the value as an integer of the same order, negated for the least,
with all NaN above the numbers and both zeros alike, and below it the inverted place, so
that the smaller of two places wins.  A maximum of integers may come in any order.

The condition: the better one is that of the greater key.  The body of the nest may only
compare the values with each other and the places with each other, so that its result
depends on six cases for floats (less, equal, greater, one NaN, the other, both) and
three for integers, all of which are evaluated.  The first place is no more than any k,
and places grow with k.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from struct import pack, unpack
from typing import ClassVar

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import FloatAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import (
    F32,
    I32,
    I64,
    FloatType,
    IntegerType,
    MemRefType,
    Type,
)
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    has_no_effect,
    in_functions,
    users,
    with_blocks,
)
from gpucodegen.passes.framework.indexing import compact, from_map
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.nests.loop_ranges import chain_of, rebuilt

FLOATS = frozenset({"f16", "bf16", "f32"})
ORDERS = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
NOT_A_NUMBER = 0x7FFFFFFF
"""The greatest of all values in keys."""
CASTS = frozenset({"arith.index_cast", "arith.trunci", "arith.extsi"})


@dataclass(frozen=True, slots=True)
class _Term:
    """The value and the place in an iteration, and those that have been kept."""

    value: Value
    place: Value
    kept_value: Value
    kept_place: Value


@dataclass(frozen=True, slots=True)
class Selection:
    """A nest that keeps the place of the best value.

    ``loops``: all loops, ``along``: the one whose place is kept.  ``store``: that of
    the place.  ``is_most``: the largest value is the best.
    """

    loops: tuple[Operation, ...]
    along: Operation
    body: tuple[Operation, ...]
    term: _Term
    store: Operation
    is_most: bool
    is_unsigned: bool

    @staticmethod
    def of(op: Operation) -> Selection | None:
        """The selection that a nest computes and nothing else; None if unproven."""
        loops = chain_of(op) if op.name == "affine.for" else []
        body = inner_operations(loops[-1]) if loops else ()
        stores = [o for o in body if o.name == "affine.store"]
        others = [o for o in body if o not in stores]
        is_plain = all(o.name == "affine.load" or has_no_effect(o) for o in others)
        if len(stores) != 2 or not is_plain or body[-2:] != tuple(stores):
            return None
        inside = {v: o for o in others for v in o.results}
        for value, place in (stores, stores[::-1]):
            term = _term(value, place, inside)
            along = term and _along(term.place, loops, inside)
            rows = [loop for loop in loops if loop is not along]
            if term is None or along is None or not _is_each(place, rows):
                continue
            ends = value.operands[0], place.operands[0]
            kinds = [n for n in (True, False) if _keeps_best(term, ends, n, inside)]
            unsigned = _is_unsigned(term, others)
            if kinds and unsigned is not None:
                found = tuple(loops), along, tuple(others), term
                return Selection(*found, place, kinds[0], unsigned)
        return None

    @property
    def memrefs(self) -> tuple[Value, Value]:
        """The buffers of the values and of the places."""
        value = next(o for o in self.body if o.result is self.term.kept_value)
        return value.operands[0], self.store.operands[1]


def _term(
    value: Operation, place: Operation, inside: Mapping[Value, Operation]
) -> _Term | None:
    """What an iteration adds, if both stores are of cells that it has loaded."""
    kept = [_loaded(store, inside) for store in (value, place)]
    if None in kept or value.operands[2:] != place.operands[2:]:
        return None
    if value.attributes["map"] != place.attributes["map"]:
        return None
    ends: list[Value] = []
    for store, old in zip((value, place), kept, strict=True):
        found = {*_ends(store.operands[0], inside)} - {old}
        if len(found) != 1:
            return None
        ends += found
    assert kept[0] is not None
    assert kept[1] is not None
    return _Term(ends[0], ends[1], kept[0], kept[1])


def _loaded(store: Operation, inside: Mapping[Value, Operation]) -> Value | None:
    """The value that the cell of a store had."""
    found = [
        value
        for value, op in inside.items()
        if op.name == "affine.load"
        and op.operands == store.operands[1:]
        and op.attributes["map"] == store.attributes["map"]
    ]
    return found[0] if len(found) == 1 else None


def _ends(value: Value, inside: Mapping[Value, Operation]) -> Iterator[Value]:
    """The values among which selects choose."""
    op = inside.get(value)
    if op is None or op.name != "arith.select":
        yield value
        return
    for chosen in op.operands[1:]:
        yield from _ends(chosen, inside)


def _along(
    place: Value, loops: Sequence[Operation], inside: Mapping[Value, Operation]
) -> Operation | None:
    """The loop whose variable the place is, in integers that hold it."""
    value = place
    while (op := inside.get(value)) and op.name in CASTS:
        if isinstance(ty := value.type, IntegerType) and ty.width < 32:
            return None
        value = op.operands[0]
    for loop in loops:
        if affine.For(loop).iv is value:
            bounds = affine.For(loop).constant_bounds
            fits = bounds is not None and bounds[0] >= 0 and bounds[1] < 1 << 31
            return loop if fits else None
    return None


def _is_each(store: Operation, loops: Sequence[Operation]) -> bool:
    """Whether the loops count the elements of the buffer, each a dimension."""
    ty = store.operands[1].type
    indices = from_map(affine.map_of(store), store.operands[2:])
    rows = [affine.For(op) for op in loops]
    if not isinstance(ty, MemRefType) or len(rows) != len(ty.shape):
        return False
    places = {
        i.values[0]: d for d, i in enumerate(map(compact, indices)) if i.expr == Dim(0)
    }
    return {row.iv for row in rows} == {*places} and all(
        row.constant_bounds == (0, ty.shape[places[row.iv]]) and row.step == 1
        for row in rows
    )


def _is_unsigned(term: _Term, body: Sequence[Operation]) -> bool | None:
    """Whether values are compared as unsigned integers; None if values do not fit."""
    ty = term.value.type
    if isinstance(ty, FloatType):
        return False if ty.name in FLOATS else None
    if not isinstance(ty, IntegerType) or ty.width > 32:
        return None
    values = {term.value, term.kept_value}
    signs = {
        arith.predicate(op)[0]
        for op in body
        if op.name == "arith.cmpi"
        and values == {*op.operands}
        and arith.predicate(op) not in ("eq", "ne")
    }
    return None if len(signs) != 1 else signs == {"u"}


# -- the proof by cases ----------------------------------------------------------------

_Known = tuple[str, float]
"""What a value is, and a number that stands for it."""


def _keeps_best(
    term: _Term,
    ends: tuple[Value, Value],
    is_most: bool,
    inside: Mapping[Value, Operation],
) -> bool:
    """Whether the nest keeps the better value, and its place, in each case."""
    cases = [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0)]
    if isinstance(term.value.type, FloatType):
        cases += [(nan, 1.0), (1.0, nan), (nan, nan)]
    for kept, new in cases:
        known: dict[Value, _Known | bool] = {
            term.kept_value: ("kept", kept),
            term.value: ("new", new),
            term.kept_place: ("kept", 0.0),
            term.place: ("new", 1.0),
        }
        better = kept >= new if is_most else kept <= new
        want = "kept" if isnan(kept) or (better and not isnan(new)) else "new"
        value, place = (_evaluated(end, known, inside) for end in ends)
        if not isinstance(value, tuple) or not isinstance(place, tuple):
            return False
        alike = kept == new or (isnan(kept) and isnan(new))
        if place[0] != want or (value[0] != want and not alike):
            return False
    return True


def _evaluated(
    value: Value, known: dict[Value, _Known | bool], inside: Mapping[Value, Operation]
) -> _Known | bool | None:
    """A value in one case; None where it depends on more than the case."""
    if value not in known:
        op = inside.get(value)
        given = [_evaluated(v, known, inside) for v in op.operands] if op else []
        found = op and _result(op, given)
        if found is None:
            return None
        known[value] = found
    return known[value]


def _result(
    op: Operation, given: Sequence[_Known | bool | None]
) -> _Known | bool | None:
    match op.name, given:
        case "arith.select", (bool(is_first), one, other):
            return one if is_first else other
        case "arith.cmpf" | "arith.cmpi", ((_, one), (_, other)):
            return _holds(arith.predicate(op), one, other)
        case "arith.andi", (bool(one), bool(other)):
            return one and other
        case "arith.ori", (bool(one), bool(other)):
            return one or other
        case _:
            return None


def _holds(predicate: str, one: float, other: float) -> bool:
    """A comparison; those of integers are of small positive ones."""
    is_unordered = isnan(one) or isnan(other)
    match predicate:
        case "ord" | "uno":
            return is_unordered == (predicate == "uno")
        case "eq" | "ne":
            return ORDERS[predicate](one, other)
        case _:
            holds = ORDERS[predicate[1:]](one, other)
            return predicate[0] == "u" if is_unordered else holds


# -- the maximum of keys ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PackSelections(ModulePass):
    """Turn searches for the place of an extreme value into maxima of integers."""

    name: ClassVar[str] = "pack-selections"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def function(op: Operation) -> list[Operation]:
            packer = _Packer(surroundings, definitions(op), users(op))
            return [with_blocks(op, packer.block)]

        return in_functions(module, function)


@dataclass(frozen=True, slots=True)
class _Packer:
    surroundings: Surroundings
    definitions: Mapping[Value, Operation]
    users: Mapping[Value, Sequence[Operation]]

    def block(self, operations: Sequence[Operation]) -> list[Operation]:
        current = list(operations)
        for op in operations:
            found = Selection.of(op)
            fills = found and self._fills(found, current[: current.index(op)])
            if not found or not fills or not self._is_apart(found, fills):
                continue
            first = _key(found, *(number for _, number in fills))
            values = found.memrefs[0]
            gone = {fill for fill, _ in fills} | {*self.users[values]}
            current[current.index(op)] = _packed(found, first)
            kept = (o for o in current if o not in gone)
            current = [o for o in kept if values not in o.results]
        return current

    def _fills(self, found: Selection, before: Sequence[Operation]) -> list[_Fill]:
        """The fills of both buffers, used by nothing in between; none if unknown."""
        fills: list[_Fill] = []
        for memref in found.memrefs:
            users = [op for op in before if self._touches(op, memref)]
            number = self._stored(users[-1], memref) if users else None
            fills += [] if number is None else [(users[-1], number)]
        return fills if len(fills) == len(found.memrefs) else []

    def _stored(self, op: Operation, memref: Value) -> float | None:
        """The number that a nest stores to each element of a buffer."""
        loops = chain_of(op) if op.name == "affine.for" else []
        *others, store = inner_operations(loops[-1]) if loops else (op,)
        is_fill = store.name == "affine.store" and store.operands[1] is memref
        if others or not is_fill or not _is_each(store, loops):
            return None
        maker = self.definitions.get(store.operands[0])
        value = maker.attributes.get("value") if maker else None
        return value.value if isinstance(value, FloatAttr | IntegerAttr) else None

    def _is_apart(self, found: Selection, fills: Sequence[_Fill]) -> bool:
        """Whether values are dead, and places neither read nor before the first one."""
        values, places = found.memrefs
        nests = *(fill for fill, _ in fills), found.loops[0]
        inside = {o for op in nests for o in op.walk()}
        maker = self.definitions.get(values)
        loads = {o.operands[0] for o in found.body if o.name == "affine.load"}
        first, _ = affine.For(found.along).constant_bounds or (0, 0)
        return (
            fills[1][1] <= first
            and maker is not None
            and maker.name in ALLOCATIONS
            and {o for o in self.users[values] if o.name != "memref.dealloc"} <= inside
            and not any(self._overlaps(v, places) for v in loads - {places})
        )

    def _touches(self, op: Operation, memref: Value) -> bool:
        """Whether an operation may use the memory of a buffer."""
        inner = [o for o in op.walk() if o.name != "affine.yield"]
        is_known = all(
            o.name in KNOWN or o.name in ALLOCATIONS or has_no_effect(o) for o in inner
        )
        used = {v for o in inner for v in o.operands if isinstance(v.type, MemRefType)}
        return not is_known or any(self._overlaps(v, memref) for v in used)

    def _overlaps(self, one: Value, other: Value) -> bool:
        return one is other or self.surroundings.aliases.may_overlap(one, other)


KNOWN = frozenset({"affine.for", "affine.yield", *affine.ACCESSES})
_Fill = tuple[Operation, float]
"""A nest that stores a number to each element of a buffer."""


def _packed(found: Selection, first: int) -> Operation:
    """The nest that keeps the greatest key of each row in a register."""
    location, loop = found.store.location, affine.For(found.along)
    rows = [op for op in found.loops if op is not found.along]
    b = Builder(location)

    def body(i: Builder, k: Value, kept: Sequence[Value]) -> Sequence[Value]:
        known = {loop.iv: k}
        wanted = {found.term.value, found.term.place}
        terms: list[Operation] = []
        for op in reversed(found.body):
            if not wanted.isdisjoint(op.results):
                wanted.update(op.operands)
                terms.insert(0, op)
        i.operations += [clone(op, known) for op in terms]
        key = _keyed(i, known[found.term.value], known[found.term.place], found)
        return i.add("arith.maxsi", (kept[0], key), [I64])

    def row(i: Builder) -> None:
        start, name = i.constant(first, I64), loop.iv.name
        bounds = loop.constant_bounds or (0, 0)
        (kept,) = i.carried_loop(*bounds, [start], body, step=loop.step, hint=name)
        (low,) = i.add("arith.trunci", (kept,), [I32])
        (place,) = i.add("arith.xori", (low, i.constant(-1, I32)), [I32])
        wide = found.store.operands[0].type
        if wide != I32:
            (place,) = i.add("arith.extui", (place,), [wide])
        operands = place, *found.store.operands[1:]
        i.operations.append(found.store.with_(operands=operands))

    if not rows:
        b.once(row)
        return b.operations[0]
    row(b)
    return rebuilt(rows, (*b.operations, affine.yield_(location=location)))


def _key(found: Selection, value: float, place: float) -> int:
    """The key of numbers, as `_keyed` computes it."""
    if isinstance(found.term.value.type, FloatType):
        (bits,) = unpack("<i", pack("<f", value + 0.0))
        bits ^= (bits >> 31) & NOT_A_NUMBER
    elif found.is_unsigned:
        bits = (int(value) & 0xFFFFFFFF) - (1 << 31)
    else:
        bits = int(value)
    bits = bits if found.is_most else ~bits
    bits = NOT_A_NUMBER if isnan(value) else bits
    return (bits << 32) | (~int(place) & 0xFFFFFFFF)


def _keyed(b: Builder, value: Value, place: Value, found: Selection) -> Value:
    """The key of a value and a place."""
    ty, top = value.type, b.constant(NOT_A_NUMBER, I32)

    def made(name: str, *operands: Value) -> Value:
        return b.add(f"arith.{name}", operands, [operands[0].type])[0]

    def cast(name: str, given: Value, wide: Type) -> Value:
        return (
            given if given.type == wide else b.add(f"arith.{name}", (given,), [wide])[0]
        )

    bits, unordered = value, None
    if isinstance(ty, FloatType):
        wide = cast("extf", value, F32)
        unordered = arith.compare("arith.cmpf", "uno", wide, wide)
        b.operations.append(unordered)
        number = made("addf", wide, b.constant(0.0, F32))
        bits = cast("bitcast", number, I32)
        sign = made("shrsi", bits, b.constant(31, I32))
        bits = made("xori", bits, made("andi", sign, top))
    elif found.is_unsigned:
        bits = made("xori", cast("extui", value, I32), b.constant(-(1 << 31), I32))
    else:
        bits = cast("extsi", value, I32)
    if not found.is_most:
        bits = made("xori", bits, b.constant(-1, I32))
    if unordered is not None:
        operands = unordered.result, top, bits
        (bits,) = b.add("arith.select", operands, [I32])
    high = made("shli", cast("extsi", bits, I64), b.constant(32, I64))
    low = cast("trunci", place, I32) if place.type == I64 else place
    inverted = made("xori", low, b.constant(-1, I32))
    return made("ori", high, cast("extui", inverted, I64))
