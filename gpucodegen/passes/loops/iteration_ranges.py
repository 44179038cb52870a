"""Loop peeling, index-set splitting and loop normalisation.

All keep the order of iterations, so they are always legal.

* Peeling: the first or last iterations of a loop become a loop of their own.
* Index-set splitting: { i in D } = { i in D : i < at } and then { i in D : i >= at }.
* The same at all places where ``(i + c) floordiv m`` changes: it is constant in each
  piece, and ``(i + c) mod m`` is ``i + c`` less a constant.
* Normalisation to lower bound 0 and step 1:

      i = lower + step * x,    0 <= x < ceil((upper - lower) / step)

  The old variable becomes an ``affine.apply`` in the body, which `canonicalize` puts
  into the maps that use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import AffineExpr, Binary, Const, Dim, binary, linear_form
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.indexing import Index, as_map, compact, from_map
from gpucodegen.passes.nests.loop_names import Site, value_named
from gpucodegen.passes.nests.loop_ranges import LoopRange, range_of, with_range
from gpucodegen.passes.nests.loop_rewriting import (
    Replacement,
    chosen_loops,
    in_pieces,
    in_sequence,
    is_innermost,
    is_outermost,
    rewrite_loops,
    with_single_bounds,
)
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Peel(ModulePass):
    """Split ``front`` first and ``back`` last iterations off; default: outer loops.

    >>> import gpucodegen as gcg
    >>> print(Peel(front=0, back=1).apply(gcg.parse('''
    ... func.func @f(%A: memref<?xf32>, %n: index, %v: f32) {
    ...   affine.for %i = 0 to %n {
    ...     affine.store %v, %A[%i] : memref<?xf32>
    ...   }
    ...   return
    ... }''')))
    module {
      func.func @f(%A: memref<?xf32>, %n: index, %v: f32) {
        affine.for %i = 0 to affine_map<(d0) -> (d0 - 1)>(%n) {
          affine.store %v, %A[%i] : memref<?xf32>
        }
        affine.for %i = max affine_map<(d0) -> (0, d0 - 1)>(%n) to %n {
          affine.store %v, %A[%i] : memref<?xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "peel"
    function: str = ""
    loop: str = ""
    front: int = 1
    back: int = 0

    def apply(self, module: Module) -> Module:
        for option in ("front", "back"):
            if getattr(self, option) < 0:
                raise errors.InvalidPassOption(
                    name=self.name,
                    problem=f"option '{option}' is negative",
                    hint="Give the number of iterations to peel",
                )
        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        return rewrite_loops(module, chosen, self._transform)

    def _transform(self, site: Site, op: Operation) -> Replacement:
        del site
        return with_single_bounds(op, self._peeled)

    def _peeled(self, op: Operation, given: LoopRange) -> Replacement:
        """[lower, first), [first, last), [last, upper), cut to the range."""
        parts: list[tuple[str, LoopRange]] = []
        rest = given
        if self.front:
            first = given.after(self.front)
            parts.append(("front", rest.below(first)))
            rest = replace(rest, lowers=(first,))
        if self.back:
            last = given.after(given.trips - self.back)
            parts.append(("", replace(rest, uppers=(last,))))
            parts.append(("back", rest.starting(last)))
        else:
            parts.append(("", rest))
        return in_pieces(op, parts)


@dataclass(frozen=True, slots=True)
class SplitIndexSet(ModulePass):
    """Split loops where their variable reaches ``at``; default: the outermost ones.

    ``at`` is a number or the name of an index argument of the function.

    >>> import gpucodegen as gcg
    >>> print(SplitIndexSet(at="m").apply(gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %m: index, %v: f32) {
    ...   affine.for %i = 0 to 9 {
    ...     affine.store %v, %A[%i] : memref<9xf32>
    ...   }
    ...   return
    ... }''')))
    module {
      func.func @f(%A: memref<9xf32>, %m: index, %v: f32) {
        affine.for %i = 0 to min affine_map<(d0) -> (9, d0)>(%m) {
          affine.store %v, %A[%i] : memref<9xf32>
        }
        affine.for %i = max affine_map<(d0) -> (0, d0)>(%m) to 9 {
          affine.store %v, %A[%i] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "split-index-set"
    at: str
    function: str = ""
    loop: str = ""

    def apply(self, module: Module) -> Module:
        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        return rewrite_loops(module, chosen, self._transform)

    def _transform(self, site: Site, op: Operation) -> Replacement:
        at = value_named(site.function, self.at, self.name)

        def split(op: Operation, given: LoopRange) -> Replacement:
            rest = given.starting(_reached(given, at))
            return in_pieces(op, [("", given.below(at)), ("rest", rest)])

        given = range_of(op)
        if given.step == 1:
            return split(op, given)
        return with_single_bounds(op, split, sides=("lowers",))


def _reached(given: LoopRange, at: Index) -> Index:
    """The first value >= ``at`` that the unbounded loop variable takes."""
    if given.step == 1:
        return at
    return given.after((at - given.lower).ceildiv(given.step))


@dataclass(frozen=True, slots=True)
class NormalizeLoops(ModulePass):
    """Loops count from 0 in steps of 1; default: all of them.

    A loop that starts at the largest of several bounds becomes one for each of them.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.passes.prepare.canonicalize import Canonicalize
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %v: f32) {
    ...   affine.for %i = 1 to 9 step 3 {
    ...     affine.store %v, %A[%i] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Canonicalize().apply(NormalizeLoops().apply(module)))
    module {
      func.func @f(%A: memref<9xf32>, %v: f32) {
        affine.for %i = 0 to 3 {
          affine.store %v, %A[%i * 3 + 1] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "normalize-loops"
    function: str = ""
    loop: str = ""

    def apply(self, module: Module) -> Module:
        chosen = chosen_loops(module, self.function, self.loop, lambda _: True)
        return rewrite_loops(module, chosen, _transform)


def _transform(_: Site, op: Operation) -> Replacement | None:
    given = range_of(op)
    if given.step == 1 and [bound.constant for bound in given.lowers] == [0]:
        return None
    return with_single_bounds(op, _normalized, sides=("lowers",))


def _normalized(op: Operation, given: LoopRange) -> Replacement:
    counted = LoopRange(
        (Index.of(0),),
        tuple((upper - given.lower).ceildiv(given.step) for upper in given.uppers),
    )
    old, *carried = op.body.arguments
    trip = old.renewed()
    map_, operands = as_map([given.after(Index.of(trip))])
    value = affine.apply(map_, operands, location=op.location).with_(results=(old,))
    body = single_block((value, *op.body.operations), (trip, *carried))
    return in_sequence(op, [with_range(op.with_(regions=(body,)), counted)])


@dataclass(frozen=True, slots=True)
class SplitAtWraps(ModulePass):
    """Split innermost loops where the index of a periodic access begins anew.

    Within a piece, ``(i + c) mod m`` and ``(i + c) floordiv m`` are linear, so that it
    becomes vectors.  A loop has at most `MOST_WRAPS` such places, and for each as many
    iterations as a vector has ``lanes``, since each piece may leave some over.

    >>> import gpucodegen as gcg
    >>> print(SplitAtWraps().apply(gcg.parse('''
    ... func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) {
    ...   affine.for %i = 0 to 64 {
    ...     %x = affine.load %A[(%i + 1) mod 64] : memref<64xf32>
    ...     affine.store %x, %B[%i] : memref<64xf32>
    ...   }
    ...   return
    ... }''')))
    module {
      func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) {
        affine.for %i = 0 to 63 {
          %x = affine.load %A[%i + 1] : memref<64xf32>
          affine.store %x, %B[%i] : memref<64xf32>
        }
        affine.for %i = 63 to 64 {
          %x = affine.load %A[%i - 63] : memref<64xf32>
          affine.store %x, %B[%i] : memref<64xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "split-at-wraps"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    lanes: int = 8

    def apply(self, module: Module) -> Module:
        chosen = chosen_loops(module, "", "", self._is_periodic)
        return rewrite_loops(module, chosen, self._split)

    def _is_periodic(self, site: Site) -> bool:
        return is_innermost(site) and self._pieces(site.loop) is not None

    def _pieces(self, op: Operation) -> list[range] | None:
        """Where all quotients are constant; None if there are none, or no gain."""
        given = range_of(op)
        ends = [bound.constant for bound in (*given.lowers, *given.uppers)]
        match ends:
            case [int(low), int(high)] if given.step == 1 and low < high:
                span = range(low, high)
            case _:
                return None
        variable = op.body.arguments[0]
        quotients = [
            quotient
            for inner in op.body.operations
            for index in _indices(inner)[1]
            if variable in index.values
            for quotient in _quotients(index.expr, Dim(index.values.index(variable)))
        ]
        cuts = {at for quotient in quotients for at in _changes(quotient, span)}
        most = min(MOST_WRAPS, len(span) // self.lanes)
        if not quotients or len(cuts) > most:
            return None
        return [range(*ends) for ends in pairwise([low, *sorted(cuts), high])]

    def _split(self, _: Site, op: Operation) -> Replacement:
        pieces = self._pieces(op) or []
        ranges = [LoopRange((Index.of(p.start),), (Index.of(p.stop),)) for p in pieces]
        made = in_pieces(op, [("", each) for each in ranges])
        loops = map(_unwrapped, made.operations, [piece.start for piece in pieces])
        return replace(made, operations=tuple(loops))


MOST_WRAPS = 4
"""Each is one more copy of the loop's body."""

Quotient = tuple[int, int, int]
"""k, c and m of ``(k * i + c) mod m`` or ``floordiv m``, with k 1 or -1 and m > 0."""


def _indices(op: Operation) -> tuple[tuple[Value, ...], list[Index]]:
    """The operands of an access before its indices, and the indices."""
    match op.attributes.get("map"):
        case AffineMapAttr(map_):
            count = len(op.operands) - map_.num_inputs
            return op.operands[:count], from_map(map_, op.operands[count:])
        case _:
            return op.operands, []


def _quotient(expr: AffineExpr, variable: Dim) -> Quotient | None:
    """The quotient that an expression itself is."""
    match expr:
        case Binary("mod" | "floordiv", lhs, Const(divisor)) if divisor > 0:
            terms, constant = linear_form(lhs)
            factor = terms.get(variable, 0)
            if len(terms) == abs(factor) == 1:
                return factor, constant, divisor
        case _:
            pass
    return None


def _quotients(expr: AffineExpr, variable: Dim) -> Iterator[Quotient]:
    """The outermost quotients of a variable alone in an expression."""
    found = _quotient(expr, variable)
    if found is not None:
        yield found
    elif isinstance(expr, Binary):
        yield from _quotients(expr.lhs, variable)
        yield from _quotients(expr.rhs, variable)


def _changes(quotient: Quotient, span: range) -> range:
    """Values of the variable at which a quotient changes, the first few."""
    factor, constant, divisor = quotient
    remainder = -constant if factor == 1 else constant + 1
    second = span.start + 1
    first = second + (remainder - second) % divisor
    return range(first, span.stop, divisor)[: MOST_WRAPS + 1]


def _unwrapped(loop: Operation, first: int) -> Operation:
    """A piece that begins at ``first``, in which no quotient changes."""
    variable = loop.body.arguments[0]

    def rewritten(op: Operation) -> Operation:
        others, indices = _indices(op)
        if not any(variable in index.values for index in indices):
            return op
        made = [
            replace(i, expr=_linear(i.expr, Dim(i.values.index(variable)), first))
            if variable in i.values
            else i
            for i in indices
        ]
        map_, operands = as_map(list(map(compact, made)))
        return op.with_(
            operands=(*others, *operands),
            attributes={**op.attributes, "map": AffineMapAttr(map_)},
        )

    return loop.with_body(tuple(map(rewritten, loop.body.operations)))


def _linear(expr: AffineExpr, variable: Dim, value: int) -> AffineExpr:
    """The expression with the quotients that it has for a value of the variable."""
    found = _quotient(expr, variable)
    if found is not None:
        assert isinstance(expr, Binary)
        factor, constant, divisor = found
        quotient = (factor * value + constant) // divisor
        return expr.lhs - quotient * divisor if expr.op == "mod" else Const(quotient)
    if isinstance(expr, Binary):
        sides = (_linear(side, variable, value) for side in (expr.lhs, expr.rhs))
        return binary(expr.op, *sides)
    return expr
