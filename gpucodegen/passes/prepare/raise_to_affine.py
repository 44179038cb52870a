"""Raising of loads, stores, loops and conditions to the affine dialect.

An index is affine when it is built by addition, subtraction, multiplication by a
constant, ``affine.apply`` and ``index_cast`` from loop variables of affine loops and
values defined at the top of the function.  Arithmetic on narrower integers is affine
where the ranges of loop variables and of casts show that it does not wrap, as for
``i + 1`` in ``for (int i = 0; i < n; i++)``.  A condition is affine when it compares
such indices; it becomes a conjunction of ``index >= 0``, or true or false where their
distance is constant.  Maps of affine operations take the affine forms of operands.  All
other code stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import ClassVar

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import Mixed, Slice
from gpucodegen.dialects.shared.integer_ranges import HALF, OPEN, Range, range_of
from gpucodegen.ir.affine import AffineExpr, AffineMap, Binary, Const, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    IntegerAttr,
    IntegerSetAttr,
    index_attr,
)
from gpucodegen.ir.operation import Block, Operation, Value, segment_counts
from gpucodegen.ir.types import I1, INDEX, IntegerType, MemRefType, Type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import on_functions
from gpucodegen.passes.framework.indexing import (
    Index,
    as_map,
    as_set,
    bounds_of,
    from_map,
    rewrite_maps,
    substituted,
)
from gpucodegen.passes.prepare.tensors.placement import kept_dimensions
from gpucodegen.records import dataclass


@dataclass(slots=True)
class Conditions:
    """Known comparisons; ``natural`` values are never negative."""

    known: dict[Value, tuple[Index, ...]] = field(
        default_factory=dict[Value, "tuple[Index, ...]"]
    )
    natural: set[Value] = field(default_factory=set[Value])

    def learn(self, op: Operation, indices: Mapping[Value, Index]) -> None:
        """Record an operation whose operands have these affine forms."""
        if op.name == "memref.dim":
            self.natural.add(op.result)
        elif op.name == "arith.cmpi" and op.operands[0].type == INDEX:
            left, right = (indices.get(v) for v in op.operands)
            if left is not None and right is not None:
                found = self._compared(arith.predicate(op), left, right)
                if found is not None:
                    self.known[op.result] = found
        elif op.name == "arith.andi":
            parts = [self.known[v] for v in op.operands if v in self.known]
            if len(parts) == len(op.operands):
                self.known[op.result] = tuple(c for part in parts for c in part)

    def _compared(
        self, predicate: str, left: Index, right: Index
    ) -> tuple[Index, ...] | None:
        """The conjunction of conditions of a comparison, or None.

        Unsigned, a < b is 0 <= a < b where b is not negative as a signed number.
        """
        if predicate in _MIRRORED:
            return self._compared(_MIRRORED[predicate], right, left)
        match predicate:
            case "eq":
                return left - right, right - left
            case "slt":
                return (right - left - 1,)
            case "sle":
                return (right - left,)
            case "ult" | "ule" if self.is_natural(right):
                return left, right - left - int(predicate == "ult")
            case _:
                return None

    def is_natural(self, index: Index) -> bool:
        """Whether an index is certainly not negative."""
        natural = [value in self.natural for value in index.values]
        return _is_natural(index.expr, natural)


def _is_natural(expr: AffineExpr, natural: list[bool]) -> bool:
    match expr:
        case Const(value):
            return value >= 0
        case Dim(position):
            return natural[position]
        case Binary("+" | "*" | "mod" | "floordiv", lhs, rhs):
            return _is_natural(lhs, natural) and _is_natural(rhs, natural)
        case _:
            return False


_MIRRORED = {"sgt": "slt", "sge": "sle", "ugt": "ult", "uge": "ule"}


@dataclass(slots=True)
class _Raiser:
    """One walk; ``indices`` holds the affine form of index and integer values.

    ``ranges`` are of the values in affine forms.
    """

    indices: dict[Value, Index] = field(default_factory=dict[Value, Index])
    ranges: dict[Value, Range] = field(default_factory=dict[Value, Range])
    extremes: dict[Value, tuple[str, list[Index]]] = field(
        default_factory=dict[Value, tuple[str, list[Index]]]
    )
    """Minima and maxima of affine forms, for bounds of loops."""
    parts: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    conditions: Conditions = field(default_factory=Conditions)
    depth: int = 0
    is_straight: bool = True
    """Whether each operation stands behind all earlier ones outside of regions."""

    def function(self, op: Operation) -> Operation:
        for block in op.blocks:
            self._admit(block.arguments)
        regions = (region for inner in op.walk() for region in inner.regions)
        self.is_straight = all(len(region.blocks) < 2 for region in regions)
        return op.with_blocks(self._block)

    def _admit(self, values: Sequence[Value]) -> None:
        """Record values that are valid affine operands."""
        self.indices.update((v, Index.of(v)) for v in values if v.type == INDEX)

    def _block(self, block: Block) -> Block:
        return block.with_operations(map(self._one, block.operations))

    def _one(self, op: Operation) -> Operation:
        self._learn(op)
        raised = _RAISE.get(op.name, _composed)(self, op)
        if not raised.regions:
            return raised
        if raised.name == "gpu.launch":
            return self._launch(raised)
        if raised.name == "affine.for":
            self._admit(raised.body.arguments[:1])
            self._learn_variable(affine.For(raised))
        if raised.name == "affine.parallel":
            self._admit(raised.body.arguments)
        self.depth += 1
        rebuilt = raised.with_blocks(self._block)
        self.depth -= 1
        return rebuilt

    def _launch(self, op: Operation) -> Operation:
        """A launch: its body is a separate scope, in which positions are known."""
        around, self.depth = self.depth, 0
        positions = op.regions[0].blocks[0].arguments
        self._admit(positions)
        self.conditions.natural.update(positions)
        rebuilt = op.with_blocks(self._block)
        self.depth = around
        return rebuilt

    def _learn(self, op: Operation) -> None:
        self.conditions.learn(op, self.indices)
        several = _SEVERAL.get(op.name)
        found = several(self, op) if several else None
        if found is not None:
            self.extremes[op.results[0]] = found
        if op.name in _SIZED:
            self.parts[op.result] = op
        evaluate = _INDICES.get(op.name)
        index = evaluate(self, op) if evaluate else None
        if index is not None:
            self.indices[op.results[0]] = index
        elif self.depth == 0:
            self._admit(op.results)
            if op.name == "arith.index_cast" and op.result.type == INDEX:
                self._learn_cast(op)

    def _learn_cast(self, op: Operation) -> None:
        """Record that an integer is equal to its cast."""
        (operand,), result = op.operands, op.result
        if isinstance(operand.type, IntegerType):
            self.ranges[result] = signed_range(operand.type)
            if self.is_straight:
                self.indices[operand] = Index.of(result)

    def _learn_variable(self, loop: affine.For) -> None:
        """Record the range of a loop variable."""
        lowers, uppers = bounds_of(loop)
        first = max(self.range(index).low for index in lowers)
        last = min(self.range(index).high for index in uppers) - 1
        self.ranges[loop.iv] = Range(first, max(first, last))
        if first >= 0:
            self.conditions.natural.add(loop.iv)

    def range(self, index: Index) -> Range:
        """The range of an affine form."""
        leaves = [self.ranges.get(value, OPEN) for value in index.values]
        return range_of(index.expr, leaves, [])

    def fitting(self, index: Index, ty: Type) -> Index | None:
        """An affine form if a type holds all its values; ``index`` is assumed to.

        Ranges end at 64 bits, so they do not tell whether wider sums wrap.
        """
        if isinstance(ty, IntegerType):
            is_narrow = 1 < ty.width < WORD_BITS
            fits = is_narrow and self.range(index).within(signed_range(ty))
            return index if fits else None
        return index if ty == INDEX else None

    def known(self, values: Sequence[Value]) -> list[Index] | None:
        """Affine forms of all values, or None if one has none."""
        found = [self.indices[v] for v in values if v in self.indices]
        return found if len(found) == len(values) else None

    def bound(self, value: Value, extreme: str) -> list[Index] | None:
        """Affine forms whose extreme is the bound of a loop."""
        if value in self.indices:
            return [self.indices[value]]
        kind, found = self.extremes.get(value, ("", []))
        return found if kind == extreme else None


WORD_BITS = 64


def signed_range(ty: IntegerType) -> Range:
    """The numbers that a signed integer type holds."""
    half = 1 << (ty.width - 1)
    return Range(-half, half - 1)


def _composed(raiser: _Raiser, op: Operation) -> Operation:
    """An affine operation with the affine forms of its operands in its maps."""
    forms = ((v, raiser.indices.get(v)) for v in op.operands)
    known = {v: form for v, form in forms if form and form.values != (v,)}
    return rewrite_maps(op, known)


def _access(name: str, first: int) -> Callable[[_Raiser, Operation], Operation]:
    def raised(raiser: _Raiser, op: Operation) -> Operation:
        indices = raiser.known(op.operands[first:])
        if indices is None:
            return op
        map_, operands = as_map(indices)
        return op.with_(
            name=name,
            operands=(*op.operands[:first], *operands),
            attributes={"map": AffineMapAttr(map_)},
        )

    return raised


def _loop(raiser: _Raiser, op: Operation) -> Operation:
    """A signed ``scf.for`` with affine bounds and a positive constant step."""
    first, last, by = op.operands[:3]
    above, below = raiser.bound(first, "max"), raiser.bound(last, "min")
    found = raiser.known([by])
    step = found[0].constant if found else None
    if "unsignedCmp" in op.attributes or step is None or not 0 < step <= HALF.high:
        return op
    if above is None or below is None:
        return op
    lower_map, lower = as_map(above)
    upper_map, upper = as_map(below)
    inits = op.operands[3:]
    terminator = op.body.operations[-1].with_(name=affine.TERMINATOR)
    return op.with_(
        name="affine.for",
        operands=(*lower, *upper, *inits),
        attributes={
            "lowerBoundMap": AffineMapAttr(lower_map),
            "upperBoundMap": AffineMapAttr(upper_map),
            "step": index_attr(step),
            "operandSegmentSizes": segment_counts(len(lower), len(upper), len(inits)),
        },
    ).with_body((*op.body.operations[:-1], terminator))


def _decided(raiser: _Raiser, op: Operation) -> Operation:
    """A comparison of indices at a constant distance, as its result."""
    found = raiser.known(op.operands) if op.operands[0].type == INDEX else None
    distance = (found[0] - found[1]).constant if found else None
    holds = arith.COMPARED.get(arith.predicate(op))
    if distance is None or holds is None:
        return op
    return arith.constant_for(op, IntegerAttr(int(holds(distance, 0)), I1))


def _branches(raiser: _Raiser, op: Operation) -> Operation:
    """``scf.if`` of comparisons of affine indices."""
    found = raiser.conditions.known.get(op.operands[0])
    if found is None:
        return op
    where, operands = as_set(found)
    return op.with_(
        name="affine.if",
        operands=operands,
        attributes={"condition": IntegerSetAttr(where)},
    ).with_blocks(_with_affine_end)


def _with_affine_end(block: Block) -> Block:
    *before, end = block.operations
    return block.with_operations([*before, end.with_(name=affine.TERMINATOR)])


_RAISE: dict[str, Callable[[_Raiser, Operation], Operation]] = {
    "memref.load": _access("affine.load", 1),
    "memref.store": _access("affine.store", 2),
    "scf.for": _loop,
    "scf.if": _branches,
    "arith.cmpi": _decided,
}


def _constant(raiser: _Raiser, op: Operation) -> Index | None:
    value = op.attributes.get("value")
    if not isinstance(value, IntegerAttr):
        return None
    return raiser.fitting(Index(Const(value.value)), op.result.type)


def _apply(raiser: _Raiser, op: Operation) -> Index | None:
    operands = raiser.known(op.operands)
    if operands is None:
        return None
    map_: AffineMap = affine.map_of(op)
    (index,) = from_map(map_, op.operands)

    return substituted(index, dict(zip(op.operands, operands, strict=True)))


def _sum(sign: int) -> Callable[[_Raiser, Operation], Index | None]:
    def evaluate(raiser: _Raiser, op: Operation) -> Index | None:
        found = raiser.known(op.operands)
        if found is None:
            return None
        return raiser.fitting(found[0] + found[1] * sign, op.result.type)

    return evaluate


def _product(raiser: _Raiser, op: Operation) -> Index | None:
    found = raiser.known(op.operands)
    if found is None:
        return None
    for factor, other in (found, reversed(found)):
        if factor.constant is not None:
            return raiser.fitting(other * factor.constant, op.result.type)
    return None


def _cast(raiser: _Raiser, op: Operation) -> Index | None:
    found = raiser.known(op.operands)
    return raiser.fitting(found[0], op.result.type) if found else None


def _digit(sign: str) -> Callable[[_Raiser, Operation], Index | None]:
    """Quotient or remainder of an index and a positive constant.

    The index must be non-negative where the operation does not round down.
    """

    def evaluate(raiser: _Raiser, op: Operation) -> Index | None:
        found = raiser.known(op.operands)
        constant = found[1].constant if found else None
        if not found or constant is None or op.result.type != INDEX:
            return None
        divisor = _DIVISORS.get(op.name, int)(constant)
        is_exact = op.name in _FLOORED or raiser.conditions.is_natural(found[0])
        if divisor <= 0 or not is_exact:
            return None
        return found[0] // divisor if sign == "//" else found[0] % divisor

    return evaluate


_DIVISORS: dict[str, Callable[[int], int]] = {
    "arith.andi": lambda mask: 0 if mask & (mask + 1) else mask + 1,
    "arith.shrui": lambda bits: 1 << bits if 0 <= bits < 31 else 0,
}
"""Other divisions: masks of low bits, and shifts."""


_FLOORED = frozenset({"arith.floordivsi"})
"""Divisions that round down, as affine ones do."""


Several = tuple[str, list[Index]]


def _results(raiser: _Raiser, op: Operation) -> Several | None:
    """``affine.min`` and ``affine.max``."""
    operands = raiser.known(op.operands)
    if operands is None:
        return None
    known = dict(zip(op.operands, operands, strict=True))
    results = from_map(affine.map_of(op), op.operands)
    return op.name[-3:], [substituted(index, known) for index in results]


def _pair(raiser: _Raiser, op: Operation) -> Several | None:
    found = raiser.known(op.operands) if op.result.type == INDEX else None
    return None if found is None else (op.name.removeprefix("arith.")[:3], found)


_SIZED = frozenset({"memref.subview", "memref.alloc", "memref.alloca"})


def _size(raiser: _Raiser, op: Operation) -> Mixed | None:
    """The size of a subview or an allocation that a ``memref.dim`` queries."""
    part, number = raiser.parts.get(op.operands[0]), raiser.indices.get(op.operands[1])
    if part is None or number is None or number.constant is None:
        return None
    ty = part.result.type
    shape = ty.shape if isinstance(ty, MemRefType) else ()
    if not 0 <= number.constant < len(shape):
        return None
    if part.name != "memref.subview":
        given = iter(part.operands)
        return [next(given) if n is None else n for n in shape][number.constant]
    sizes = Slice(part).sizes
    return sizes[kept_dimensions(sizes, shape)[number.constant]]


def _extent(raiser: _Raiser, op: Operation) -> Index | None:
    size = _size(raiser, op)
    if isinstance(size, int):
        return Index(Const(size))
    return None if size is None else raiser.indices.get(size)


def _extents(raiser: _Raiser, op: Operation) -> Several | None:
    size = _size(raiser, op)
    return raiser.extremes.get(size) if isinstance(size, Value) else None


_SEVERAL: dict[str, Callable[[_Raiser, Operation], Several | None]] = {
    "memref.dim": _extents,
    "affine.min": _results,
    "affine.max": _results,
    "arith.minsi": _pair,
    "arith.maxsi": _pair,
}
_INDICES: dict[str, Callable[[_Raiser, Operation], Index | None]] = {
    "arith.constant": _constant,
    "memref.dim": _extent,
    "affine.apply": _apply,
    "arith.addi": _sum(1),
    "arith.subi": _sum(-1),
    "arith.muli": _product,
    "arith.index_cast": _cast,
    "arith.extsi": _cast,
    "arith.trunci": _cast,
    **dict.fromkeys(
        ("arith.divui", "arith.divsi", "arith.floordivsi", "arith.shrui"),
        _digit("//"),
    ),
    **dict.fromkeys(("arith.remui", "arith.remsi", "arith.andi"), _digit("%")),
}


@dataclass(frozen=True, slots=True)
class RaiseToAffine(ModulePass, name="raise-to-affine"):
    """memref.load/store and scf.for to their affine forms where exact."""

    looks_for: ClassVar[frozenset[str]] = frozenset(_RAISE)

    def apply(self, module: Module) -> Module:
        return on_functions(module, lambda op: _Raiser().function(op))
