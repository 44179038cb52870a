"""Factorizations and triangular solves of small matrices, as loops.

A call of LAPACK costs more than the factorization of a small matrix, and ends a kernel.
Loops over the elements become part of the loop around them, and the matrices of a batch
are independent.  Formulas: Golub and Van Loan, Matrix Computations, 3.1, 3.4 and 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, FloatType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.stablehlo.expressions import (
    Expression,
    clamped,
    compared,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    empty,
    extract,
    nest,
    scalar,
    shape,
    with_elements,
)

TINY = 8
"""Up to this size, one thread of a GPU takes less time than a copy to the host."""
SMALL = 32
"""Up to this size, a CPU takes less time than a call of LAPACK."""
MANY = 64
"""Batches of so many small matrices run in parallel."""

Options = Mapping[str, str]
"""The options of a routine by name, as LAPACK's letters."""


def as_loops(
    b: Builder, op: Operation, routine: str, options: Options, *, on_cpu: bool
) -> Sequence[Value] | None:
    """The results of a routine; None if the call is better, or no loop is known."""
    if routine not in _LOOPS:
        return None
    *batch, rows, columns = shape(op.operands[0])
    limit = SMALL if on_cpu or prod(batch) >= MANY else TINY
    is_real = isinstance(element_type(op.operands[0].type), FloatType)
    if not is_real or max(rows, columns) > limit:
        return None
    return _LOOPS[routine](b, op, options)


def _solve(b: Builder, op: Operation, options: Options) -> Sequence[Value]:
    """``op(a) x = b`` by substitution; ``x op(a) = b`` is its transpose."""
    a, right = op.operands
    *batch, rows, columns = shape(right)
    is_left = options.get("side", "L") == "L"
    # The transpose of a system with x on the left has the transposed matrix.
    is_turned = (options.get("trans_x", "N") != "N") is is_left
    is_forward = (options.get("uplo", "L") == "L") is not is_turned
    n, others = (rows, columns) if is_left else (columns, rows)

    def solved(
        b: Builder, outer: Sequence[Value], held: Sequence[Value]
    ) -> list[Value]:
        *first, other = outer

        def of_a(b: Builder, i: Value, j: Value) -> Expression:
            at = (j, i) if is_turned else (i, j)
            return Expression(b, extract(b, a, [*first, *at]))

        def unknown(i: Value) -> list[Value]:
            return [*first, *((i, other) if is_left else (other, i))]

        def row(b: Builder, step: Value, held: Sequence[Value]) -> Sequence[Value]:
            (x,) = held
            i = b.index(_counted(step, n, is_forward=is_forward))

            def minus(b: Builder, t: Value, sums: Sequence[Value]) -> Sequence[Value]:
                j = b.index(_counted(t, n, is_forward=is_forward))
                known = Expression(b, extract(b, x, unknown(j)))
                return [(Expression(b, sums[0]) - of_a(b, i, j) * known).value]

            start = extract(b, x, unknown(i))
            total = b.carried_loop(0, step, [start], minus)[0]
            if options.get("diag", "N") == "N":
                total = (Expression(b, total) / of_a(b, i, i)).value
            return with_elements(b, [total], held, unknown(i))

        return [*b.carried_loop(0, n, held, row)]

    return nest(b, [*batch, others], [right], solved)


def _counted(step: Value, n: int, *, is_forward: bool) -> Index:
    return Index.of(step) if is_forward else Index.of(n - 1) - step


def _cholesky(b: Builder, op: Operation, options: Options) -> Sequence[Value]:
    """``a = l l^T`` column by column, and the first column without a root."""
    (a,) = op.operands
    *batch, n, _ = shape(a)
    is_lower = options.get("uplo", "L") == "L"
    infos = op.results[1:]

    def factored(
        b: Builder, outer: Sequence[Value], held: Sequence[Value]
    ) -> list[Value]:
        def place(i: Value, j: Value) -> list[Value]:
            return [*outer, *((i, j) if is_lower else (j, i))]

        def rest(b: Builder, x: Value, i: Value, j: Value) -> Expression:
            """``a[i, j]`` without the products of the columns before j."""

            def minus(b: Builder, k: Value, sums: Sequence[Value]) -> Sequence[Value]:
                one, two = (Expression(b, extract(b, x, place(r, k))) for r in (i, j))
                return [(Expression(b, sums[0]) - one * two).value]

            start = extract(b, x, place(i, j))
            return Expression(b, b.carried_loop(0, j, [start], minus)[0])

        def column(b: Builder, j: Value, carried: Sequence[Value]) -> list[Value]:
            info, x = carried
            square = rest(b, x, j, j)
            info = _noted(b, info, (square > 0).equals(0), j)
            made = b.value("math.sqrt", (square.value,), square.type)
            held = with_elements(b, [made], [x], place(j, j))

            def below(b: Builder, i: Value, held: Sequence[Value]) -> Sequence[Value]:
                quotient = rest(b, held[0], i, j) / Expression(b, made)
                return with_elements(b, [quotient.value], held, place(i, j))

            return [info, *b.carried_loop(Index.of(j) + 1, n, held, below)]

        none = scalar(b, 0, INDEX)
        info, x = b.carried_loop(0, n, [none, held[0]], column)
        return [x, *_with_info(b, info, held[1:], outer)]

    return nest(b, batch, [a, *(empty(b, v.type) for v in infos)], factored)


def _lu(b: Builder, op: Operation, options: Options) -> Sequence[Value]:
    """``p a = l u`` with the largest pivot of each column, rows exchanged in place."""
    del options
    (a,) = op.operands
    *batch, rows, columns = shape(a)
    pivot_element = element_type(op.results[1].type)

    def factored(
        b: Builder, outer: Sequence[Value], held: Sequence[Value]
    ) -> list[Value]:
        def at(b: Builder, x: Value, i: Value, j: Value) -> Expression:
            return Expression(b, extract(b, x, [*outer, i, j]))

        def step(b: Builder, k: Value, carried: Sequence[Value]) -> list[Value]:
            info, x, pivots = carried

            def size(b: Builder, i: Value) -> Expression:
                return at(b, x, i, k).by("math.absf")

            def larger(b: Builder, i: Value, best: Sequence[Value]) -> list[Value]:
                most, place = (Expression(b, v) for v in best)
                own = size(b, i)
                is_more = own > most
                i_ = Expression(b, i)
                return [own.where(is_more, most).value, i_.where(is_more, place).value]

            below = Index.of(k) + 1
            first = [size(b, k).value, k]
            _, found = b.carried_loop(below, rows, first, larger)
            pivot = clamped(Expression(b, found), rows).value
            from_one = (Expression(b, pivot) + 1).value
            number = b.value("arith.index_cast", (from_one,), pivot_element)
            (pivots,) = with_elements(b, [number], [pivots], [*outer, k])

            def exchange(b: Builder, j: Value, held: Sequence[Value]) -> list[Value]:
                upper, lower = (extract(b, held[0], [*outer, i, j]) for i in (k, pivot))
                made = with_elements(b, [lower], held, [*outer, k, j])
                return with_elements(b, [upper], made, [*outer, pivot, j])

            held = b.carried_loop(0, columns, [x], exchange)
            diagonal = at(b, held[0], k, k)
            is_singular = diagonal.equals(0)
            info = _noted(b, info, is_singular, k)
            divisor = diagonal.of(1).where(is_singular, diagonal).value

            def eliminate(
                b: Builder, i: Value, held: Sequence[Value]
            ) -> Sequence[Value]:
                factor = at(b, held[0], i, k) / Expression(b, divisor)
                held = with_elements(b, [factor.value], held, [*outer, i, k])

                def minus(b: Builder, j: Value, held: Sequence[Value]) -> list[Value]:
                    own, above = (at(b, held[0], r, j) for r in (i, k))
                    made = own - Expression(b, factor.value) * above
                    return with_elements(b, [made.value], held, [*outer, i, j])

                return b.carried_loop(below, columns, held, minus)

            (x,) = b.carried_loop(below, rows, held, eliminate)
            return [info, x, pivots]

        none = scalar(b, 0, INDEX)
        count = min(rows, columns)
        info, *made = b.carried_loop(0, count, [none, *held[:2]], step)
        return [*made, *_with_info(b, info, held[2:], outer)]

    return nest(b, batch, [a, *(empty(b, v.type) for v in op.results[1:])], factored)


def _noted(b: Builder, info: Value, fails: Expression, place: Value) -> Value:
    """LAPACK's ``info``: the first place, counted from 1, that fails; else 0."""
    is_first = Expression(b, compared(b, "eq", info, scalar(b, 0, INDEX))) & fails
    number = Expression(b, place) + 1
    return number.where(is_first, Expression(b, info)).value


def _with_info(
    b: Builder, info: Value, tensors: Sequence[Value], at: Sequence[Value]
) -> list[Value]:
    values = [
        b.value("arith.index_cast", (info,), element_type(v.type)) for v in tensors
    ]
    return with_elements(b, values, tensors, at)


_LOOPS = {"trsm": _solve, "potrf": _cholesky, "getrf": _lu}
"""By LAPACK's name without the letter of the type."""
