"""Recognises attention: two products with a softmax between them.

    S[r, s] = sum_e Q[r, e] K[s, e]        X = f(S, masks, positions)
    M[r] = max_s X[r, s]                   W = exp(X - M)         L[r] = sum_s W[r, s]
    O[r, v] = sum_s (W / L)[r, s] V[s, v]

for each row ``r`` (and each batch, left out here). One pass over ``s`` computes the
same: (M, L, O L) of some keys and of others combine to those of all,

    M = max(M1, M2)   L = a1 L1 + a2 L2   O L = a1 O1 L1 + a2 O2 L2   a_k = exp(M_k - M)

because ``exp(x - M) = exp(x - M_k) exp(M_k - M)`` (M. Milakov and N. Gimelshein,
"Online normalizer calculation for softmax", 2018). The division by L leaves the sum by
the distributive law. So sums come in another order than in the text: those of products
and of softmax may. The weights are rounded to the type of V before they are divided,
where the text rounds them afterwards; the relative error is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import e, inf, log2, prod

from gpucodegen.dialects import linalg
from gpucodegen.dialects.arith import CMPF_PREDICATES, CMPI_PREDICATES
from gpucodegen.ir.affine import AffineExpr, Const, Dim, leaves, linear_form, substitute
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import BF16, F16, F32, MemRefType, Type, element_type
from gpucodegen.passes.contraction.attention.elements import (
    HARMLESS,
    Buffers,
    Element,
    Elements,
    Expression,
    Number,
    Place,
    Position,
    Reduced,
    Scalar,
    Unknown,
    is_structured,
)
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.records import dataclass

SCORE = Element(Value(F32, "score"), ())
"""Stands for an element of S in an expression."""
SUM = Element(Value(F32, "sum"), ())
"""Stands for an element of O."""
_BASES = {"math.exp": log2(e), "math.exp2": 1.0}
_EQUAL = CMPF_PREDICATES.index("oeq")
_MAXIMA = ("arith.maximumf", "arith.maxnumf")


@dataclass(frozen=True, slots=True)
class Axes:
    """Numbers of the axes of rows, keys, sums of scores, and columns of V."""

    row: int
    key: int
    depth: int
    column: int


@dataclass(frozen=True, slots=True)
class Attention:
    """Attention over axes with these ``extents``; axes but four are a batch.

    ``scores``: X as an expression of `SCORE`.  ``octaves``: log2 of the base of the
    power.  ``zeros``: whether a row whose scores are all -inf gives zeros.  ``result``:
    what is stored of `SUM`.  ``last``, ``product``: positions of the operation that the
    kernel replaces, and of the first product.  ``initial``: of a fill of O that nothing
    else reads.
    """

    query: Element
    key: Element
    value: Element
    out: Element
    scores: Expression
    result: Expression
    octaves: float
    zeros: bool
    axes: Axes
    extents: Mapping[int, int]
    last: int
    product: int
    initial: int | None

    @property
    def batch(self) -> list[int]:
        """The other axes of the result."""
        own = {self.axes.row, self.axes.column}
        named = (d for x in self.out.place for d in leaves(x) if isinstance(d, Dim))
        return [n for n in dict.fromkeys(d.position for d in named) if n not in own]

    @property
    def kind(self) -> Type:
        """The type of Q, K and V."""
        return element_type(self.query.source.type)

    @property
    def sources(self) -> set[Value]:
        """All buffers that are read."""
        found = {x.source for x in walk(self.scores) if isinstance(x, Element)}
        own = {x.source for x in (self.query, self.key, self.value)}
        return (found | own) - {SCORE.source}


def walk(x: Expression) -> Iterator[Expression]:
    yield x
    if isinstance(x, Scalar):
        for operand in x.operands:
            yield from walk(operand)


def replaced(x: Expression, old: Expression, new: Expression) -> Expression:
    if x == old:
        return new
    if isinstance(x, Scalar):
        operands = tuple(replaced(operand, old, new) for operand in x.operands)
        return Scalar(x.name, operands, x.type, x.attributes)
    return x


def attention_at(
    operations: Sequence[Operation],
    at: int,
    buffers: Buffers,
    numbers: Mapping[Value, Operation],
) -> Attention | None:
    """The attention whose second product is at a position of a block, or None."""
    if not is_structured(operations[at]):
        return None
    elements = Elements(operations, numbers, buffers, at)
    try:
        found = _Matcher(elements, at).attention()
    except Unknown:
        return None
    return (
        found if _stays_the_same(found, operations, elements.first, buffers) else None
    )


@dataclass(frozen=True, slots=True)
class _Matcher:
    elements: Elements
    at: int

    def attention(self) -> Attention:
        generic = linalg.Structured(self.elements.operations[self.at])
        if generic.iterator_types.count("reduction") != 1:
            raise Unknown
        extents = _extents(generic)
        loops = [Const(0) if extents[n] == 1 else Dim(n) for n in range(len(extents))]
        key = generic.iterator_types.index("reduction")
        depth = len(extents)
        place = tuple(substitute(r, loops) for r in generic.indexing_maps[-1].results)
        total = Reduced(self.at, generic.outputs[0], place)
        weight, value, kind = self._factors(total, Dim(key))
        _require(kind in (F16, BF16))
        x, octaves, zeros = self._softmax(weight, Dim(key))
        product = self._scores_of(x, key)
        query, keys = self._product(product, Dim(depth), key)
        _require(element_type(query.source.type) == kind)
        _require(element_type(keys.source.type) == kind)
        extents = {**extents, depth: _extent(query, depth)}
        axes = self._axes(query, keys, value, key, depth, extents)
        self._check_places(query, keys, value, axes)
        last, out, result = self._result(total)
        scores = replaced(x, product, SCORE)
        for other in {y for y in walk(scores) if isinstance(y, Reduced)}:
            scores = replaced(scores, other, Element(other.source, other.place))
        writers = self.elements.buffers.writers.get(total.source, [])
        before = max((n for n in writers if n < self.at), default=self.at)
        readers = self.elements.buffers.readers.get(total.source, [])
        is_own = before < self.at and not any(before < n < self.at for n in readers)
        for y in walk(scores):
            _require(not isinstance(y, Position) or _fits(y.expr, extents))
        return Attention(
            *(query, keys, value, out, scores, result, octaves, zeros, axes, extents),
            *(last, product.position, before if is_own else None),
        )

    def _factors(
        self, total: Reduced, along: AffineExpr
    ) -> tuple[Expression, Element, Type]:
        """The weight and V of the second product, and the type of both."""
        followed = self.elements.reduction(total, along)
        plain = self.elements.reduction(total, along, opaque=True)
        _require(followed.combiner == "arith.addf" and _is(followed.initial, 0))
        pairs = zip(_terms(followed.term), _terms(plain.term), strict=True)
        (first, left), (second, right) = pairs
        for weight, value in ((first, right), (second, left)):
            match weight, value:
                case (
                    Scalar("arith.extf", (Scalar("arith.truncf", (w,)) as narrow,)),
                    Scalar("arith.extf", (Element() as v,)),
                ) if narrow.type == element_type(v.source.type):
                    return w, v, narrow.type
                case _:
                    continue
        raise Unknown

    def _softmax(
        self, weight: Expression, along: AffineExpr
    ) -> tuple[Expression, float, bool]:
        """X, log2 of the base, and whether empty rows give zeros."""
        guard: Expression | None = None
        match weight:
            case Scalar("arith.select", (Scalar() as test, Number(zero), inner)) if (
                zero == 0
            ):
                guard, weight = self._without_score(test), inner
            case _:
                pass
        match weight:
            case Scalar("arith.divf", (Scalar() as power, Reduced() as total)):
                pass
            case _:
                raise Unknown
        match power:
            case Scalar(name, (Scalar("arith.subf", (x, Reduced() as most)),)) if (
                name in _BASES
            ):
                pass
            case _:
                raise Unknown
        largest = self.elements.reduction(most, along)
        _require(largest.combiner in _MAXIMA and _is(largest.initial, -inf))
        _require(largest.term == x and (guard is None or guard == x))
        summed = self.elements.reduction(total, along)
        _require(summed.combiner == "arith.addf" and _is(summed.initial, 0))
        _require(summed.term == power)
        return x, _BASES[name], guard is not None

    def _without_score(self, test: Scalar) -> Expression:
        """The score whose absence (-inf) a test finds."""
        _require(test.name == "arith.cmpf" and test.predicate == _EQUAL)
        _require(_is(test.operands[1], -inf))
        return test.operands[0]

    def _scores_of(self, x: Expression, key: int) -> Reduced:
        """The leaf of X that the first product made."""
        found = {
            y for y in walk(x) if isinstance(y, Reduced) and Dim(key) in _dims(y.place)
        }
        _require(len(found) == 1)
        return found.pop()

    def _product(
        self, scores: Reduced, along: AffineExpr, key: int
    ) -> tuple[Element, Element]:
        """The elements of Q and K whose products are added up."""
        made = self.elements.reduction(scores, along, opaque=True)
        _require(made.combiner == "arith.addf" and _is(made.initial, 0))
        factors = [
            x.operands[0]
            for x in _terms(made.term)
            if isinstance(x, Scalar) and x.name == "arith.extf"
        ]
        pair = [x for x in factors if isinstance(x, Element)]
        _require(len(pair) == 2)
        with_key = [x for x in pair if Dim(key) in _dims(x.place)]
        without = [x for x in pair if Dim(key) not in _dims(x.place)]
        _require(len(with_key) == len(without) == 1)
        return without[0], with_key[0]

    def _axes(
        self,
        query: Element,
        keys: Element,
        value: Element,
        key: int,
        depth: int,
        extents: Mapping[int, int],
    ) -> Axes:
        rows = _dims(query.place) - _dims(keys.place) - {Dim(depth)}
        columns = _dims(value.place) - _dims(query.place) - {Dim(key)}
        _require(bool(rows) and len(columns) == 1)
        row = max(rows, key=lambda d: (extents[d.position], d.position))
        _require(row not in _dims(value.place))
        return Axes(row.position, key, depth, columns.pop().position)

    def _check_places(
        self, query: Element, keys: Element, value: Element, axes: Axes
    ) -> None:
        """Each index of an operand is an axis of its own, the last one contiguous."""
        ends = axes.depth, axes.depth, axes.column
        for x, end in zip((query, keys, value), ends, strict=True):
            named = [y for y in x.place if not isinstance(y, Const)]
            _require(len(_dims(x.place)) == len(named))
            _require(all(isinstance(y, Dim) for y in named))
            _require(x.place[-1] == Dim(end))
            ty = x.source.type
            _require(isinstance(ty, MemRefType) and ty.layout is None)
            _require(None not in ty.shape if isinstance(ty, MemRefType) else False)

    def _result(self, total: Reduced) -> tuple[int, Element, Expression]:
        """The position that writes the result, its place, and the expression."""
        operations, buffers = self.elements.operations, self.elements.buffers
        stored = self.at, Element(total.source, total.place), SUM
        readers = [n for n in buffers.readers.get(total.source, []) if n > self.at]
        own = {op.result for op in operations if op.name == "memref.alloc"}
        if total.source not in own or len(readers) != 1:
            return stored
        if not is_structured(operations[readers[0]]):
            return stored
        generic = linalg.Structured(operations[readers[0]])
        if set(generic.iterator_types) != {"parallel"}:
            return stored
        axes = [Dim(n) for n in range(len(generic.iterator_types))]
        out = generic.outputs[0]
        where = tuple(substitute(r, axes) for r in generic.indexing_maps[-1].results)
        after = Elements(operations, self.elements.numbers, buffers, readers[0])
        made = after.element(out, readers[0] + 1, where)
        found = {y for y in walk(made) if isinstance(y, Element | Reduced)}
        if len(found) != 1:
            return stored
        (leaf,) = found
        if not isinstance(leaf, Reduced) or leaf.position != self.at:
            return stored
        loops = dict(zip(leaf.place, total.place, strict=True))
        sizes = _extents(generic)
        is_whole = all(
            isinstance(x, Dim) or (isinstance(x, Const) and isinstance(y, Const))
            for x, y in loops.items()
        ) and all(d in loops or sizes[d.position] == 1 for d in axes)
        is_whole &= len(_dims(leaf.place)) == sum(
            isinstance(x, Dim) for x in leaf.place
        )
        if not is_whole or any(isinstance(y, Position) for y in walk(made)):
            return stored
        known = [loops.get(d, Const(0)) for d in axes]
        place = tuple(substitute(x, known) for x in where)
        return readers[0], Element(out, place), replaced(made, leaf, SUM)


def _fits(expr: AffineExpr, extents: Mapping[int, int]) -> bool:
    """Whether every value of a sum of positions has 31 bits and a sign."""
    terms, constant = linear_form(expr)
    bounds = [
        abs(factor) * extents[term.position] if isinstance(term, Dim) else inf
        for term, factor in terms.items()
    ]
    return sum(bounds) + abs(constant) < 1 << 31


def _terms(x: Expression) -> tuple[Expression, Expression]:
    match x:
        case Scalar("arith.mulf", (left, right)):
            return left, right
        case _:
            raise Unknown


def _require(condition: bool) -> None:
    if not condition:
        raise Unknown


def _is(x: Expression, value: float) -> bool:
    return isinstance(x, Number) and x.value == value


def _dims(place: Place) -> set[Dim]:
    return {d for x in place for d in leaves(x) if isinstance(d, Dim)}


def _extents(generic: linalg.Structured) -> dict[int, int]:
    """The number of iterations of each loop."""
    found: dict[int, int] = {}
    sources = (*generic.inputs, *generic.outputs)
    for source, map_ in zip(sources, generic.indexing_maps, strict=True):
        ty = source.type
        if not isinstance(ty, MemRefType):
            continue
        for result, extent in zip(map_.results, ty.shape, strict=True):
            if isinstance(result, Dim) and extent is not None:
                found[result.position] = extent
    _require(len(found) == len(generic.iterator_types))
    return found


def _extent(x: Element, axis: int) -> int:
    ty = x.source.type
    _require(isinstance(ty, MemRefType) and Dim(axis) in x.place)
    extent = ty.shape[x.place.index(Dim(axis))] if isinstance(ty, MemRefType) else None
    if extent is None:
        raise Unknown
    return extent


def _stays_the_same(
    found: Attention, operations: Sequence[Operation], first: int, buffers: Buffers
) -> bool:
    """Whether what is read does not change between the first operation and the last.

    The kernel reads at the last one. Operations between write other buffers only.
    """
    sources = {buffers.root(source) for source in found.sources}
    written = buffers.root(found.out.source)
    if written in sources or not {written, *sources} <= {*buffers.owned}:
        return False
    for op in operations[first : found.last + 1]:
        if op.name == "memref.dealloc":
            if buffers.root(op.operands[0]) in sources:
                return False
        elif is_structured(op):
            (out,) = linalg.Structured(op).outputs
            is_last = op is operations[found.last]
            if buffers.root(out) in sources or not (is_last or out in buffers.writers):
                return False
        elif not (
            has_no_effect(op) or op.name in HARMLESS or op.name == "memref.alloc"
        ):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Scores:
    """X as a kernel computes it: ``scale`` times the expressions.

    ``inner`` holds where ``limit``, an index expression, is >= 0 and ``outer``
    elsewhere; without a limit, both are the same.
    """

    scale: float
    inner: Expression
    outer: Expression
    limit: AffineExpr | None


def scores_of(found: Attention) -> Scores:
    """X split by a causal mask, and with a positive factor taken out.

    The mask ``select(row - key + c >= 0, y, -inf)`` with ``c >= 0`` leaves every row a
    key, so that keys beyond the limit have no weight. Where V is infinite or NaN there,
    the text adds 0 times that, which is NaN; the kernel does not.
    """
    x, limit = found.scores, None
    match x:
        case Scalar("arith.select", (Scalar() as test, inner, Number(value))) if (
            value == -inf
        ):
            limit = _limit(test, found.axes)
            if limit is not None:
                x = inner
        case _:
            pass
    scale = 1.0
    match x:
        case Scalar("arith.mulf", (inner, Number(value))) if 0 < value < inf:
            x, scale = inner, value
        case _:
            pass
    outer = x
    if limit is not None:
        test = found.scores.operands[0] if isinstance(found.scores, Scalar) else x
        operands = test, x, Number(-inf, F32)
        outer = Scalar("arith.select", operands, F32)
    return Scores(scale, x, outer, limit)


def _limit(test: Scalar, axes: Axes) -> AffineExpr | None:
    """``row - key + c`` of a comparison that is true where this is >= 0."""
    match test:
        case Scalar("arith.cmpi", (Position(left), Position(right))):
            pass
        case _:
            return None
    limits = {
        "sge": left - right,
        "sgt": left - right - 1,
        "sle": right - left,
        "slt": right - left - 1,
    }
    found = limits.get(CMPI_PREDICATES[test.predicate])
    if found is None:
        return None
    terms, constant = linear_form(found)
    is_causal = terms == {Dim(axes.row): 1, Dim(axes.key): -1} and constant >= 0
    return found if is_causal else None


def batches(found: Attention) -> int:
    """The number of independent problems."""
    return prod(found.extents[axis] for axis in found.batch)
