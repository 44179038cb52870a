"""Syntax of affine.parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen import errors
from gpucodegen.dialects import affine as view
from gpucodegen.dialects.affine.loops import YIELD, Bound, subscripts_text
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Writer
from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS, OLD_ATOMIC_KINDS
from gpucodegen.ir.affine.evaluation import substitute
from gpucodegen.ir.affine.expressions import AffineExpr, Dim, Sym
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS
from gpucodegen.ir.types import I32, I64, INDEX, TensorType


@dataclass(frozen=True, slots=True)
class _Side:
    """The bounds on one side: all results of all variables over shared operands."""

    map: AffineMap
    groups: tuple[int, ...]
    operands: list[Value]


def parse_parallel(r: Reader, state: State) -> None:
    """``(%i, %j) = (0, 0) to (%n, 10) step (1, 2) reduce ("addf") -> (f32) { .. }``."""
    ivs = r.listed("(", ")", lambda: r.argument(r.use(), INDEX))
    r.expect("=")
    lower = _parse_side(r, "max", ivs)
    r.one_of(("to",), "'to'")
    upper = _parse_side(r, "min", ivs)
    steps = [1] * len(ivs)
    if r.token == "step":
        r.advance()
        steps = r.listed("(", ")", r.integer)
    reductions = _parse_reductions(r)
    state.result_types = r.arrow_types()
    r.dims.update(argument.value for argument in ivs)
    terminator = "" if state.result_types else YIELD
    state.regions = [r.region(ivs, terminator=terminator)]
    state.attributes |= r.attr_dict()
    state.attributes |= {
        "lowerBoundsMap": AffineMapAttr(lower.map),
        "lowerBoundsGroups": _groups(lower.groups),
        "upperBoundsMap": AffineMapAttr(upper.map),
        "upperBoundsGroups": _groups(upper.groups),
        "steps": ArrayAttr(tuple(IntegerAttr(step, I64) for step in steps)),
        "reductions": ArrayAttr(tuple(IntegerAttr(k, I64) for k in reductions)),
    }
    state.operands = [*lower.operands, *upper.operands]


def _groups(sizes: tuple[int, ...]) -> DenseElementsAttr:
    values = sizes[:1] if len(set(sizes)) == 1 else sizes
    return DenseElementsAttr(values, TensorType((len(sizes),), I32), I32)


def _parse_reductions(r: Reader) -> list[int]:
    if r.token != "reduce":
        return []
    r.advance()
    return r.listed("(", ")", lambda: _KINDS[r.one_of(_KINDS, "a reduction")])


_POSITIONS = {name: i for i, name in enumerate(ATOMIC_KINDS)}
_KINDS = _POSITIONS | {old: _POSITIONS[k] for old, k in OLD_ATOMIC_KINDS.items()}


def _parse_side(r: Reader, prefix: str, ivs: Sequence[Argument]) -> _Side:
    start = r.start
    bounds: list[tuple[int, Bound]] = []

    def bound() -> None:
        if r.token == prefix:
            r.advance()
            map_, operands = r.subscripts("(", ")")
        else:
            map_, operands = r.subscript()
        bounds.append((len(map_.results), (map_, operands)))

    r.listed("(", ")", bound)
    if len(bounds) != len(ivs):
        raise errors.OperandMismatch(
            r.location(start),
            operation="affine.parallel",
            problem=f"{len(bounds)} bounds for {len(ivs)} variables",
            hint="Write one bound per variable",
        )
    return _joined([b for _, b in bounds], tuple(n for n, _ in bounds))


def _joined(bounds: Sequence[Bound], groups: tuple[int, ...]) -> _Side:
    """One map over the operands of all bounds."""
    dims: dict[Value, AffineExpr] = {}
    syms: dict[Value, AffineExpr] = {}
    results: list[AffineExpr] = []
    for map_, operands in bounds:
        own_dims = [
            dims.setdefault(v, Dim(len(dims))) for v in operands[: map_.num_dims]
        ]
        own_syms = [
            syms.setdefault(v, Sym(len(syms))) for v in operands[map_.num_dims :]
        ]
        results += [substitute(e, own_dims, own_syms) for e in map_.results]
    whole = AffineMap(len(dims), len(syms), tuple(results))
    return _Side(whole, groups, [*dims, *syms])


def print_parallel(w: Writer, o: Operation) -> None:
    """``(%i, %j) = (..) to (..) step (..) reduce (..) -> (..) { .. }``."""
    loop = view.Parallel(o)
    ivs = ", ".join(w.name(iv) for iv in loop.ivs)
    lower = _side_text(w, loop.lower_maps, loop.lower_operands, "max")
    upper = _side_text(w, loop.upper_maps, loop.upper_operands, "min")
    w.write(f" ({ivs}) = ({lower}) to ({upper})")
    if any(step != 1 for step in loop.steps):
        w.write(f" step ({', '.join(map(str, loop.steps))})")
    if loop.reductions:
        names = ", ".join(f'"{name}"' for name in loop.reductions)
        types = ", ".join(str(v.type) for v in o.results)
        w.write(f" reduce ({names}) -> ({types})")
    w.write(" ")
    w.region(o.regions[0], elide=YIELD)
    w.attr_dict(o, _PARALLEL_ATTRIBUTES)


_PARALLEL_ATTRIBUTES = (
    "lowerBoundsMap",
    "lowerBoundsGroups",
    "upperBoundsMap",
    "upperBoundsGroups",
    "steps",
    "reductions",
    OPERAND_SEGMENTS,
)


def _side_text(
    w: Writer, maps: Sequence[AffineMap], operands: Sequence[Value], prefix: str
) -> str:
    texts: list[str] = []
    for map_ in maps:
        shown = subscripts_text(w, map_, operands)
        texts.append(shown if len(map_.results) == 1 else f"{prefix}({shown})")
    return ", ".join(texts)
