"""Syntax of affine.for, and how bounds and subscripts are written."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects import affine as view
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.shared.carried import parse_carried, print_carried
from gpucodegen.ir.affine.expressions import Const, Sym, text
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, index_attr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, segment_sizes
from gpucodegen.ir.types import INDEX

YIELD = "affine.yield"
Bound = tuple[AffineMap, list[Value]]

# -- for -------------------------------------------------------------------------------


_CARRY = "Carry values with iter_args(%name = %init) -> (type)"


def parse_for(r: Reader, state: State) -> None:
    """``%i = lower to upper step n iter_args(..) -> (..) { .. }``."""
    iv = r.argument(r.use(), INDEX)
    r.skip_location()
    r.expect("=")
    lower, lower_operands = _parse_bound(r, "max")
    r.one_of(("to",), "'to'")
    upper, upper_operands = _parse_bound(r, "min")
    step = _parse_step(r)
    if r.token == "with":
        raise r.unexpected("'{'", _CARRY)
    carried = parse_carried(r)
    r.dims.add(iv.value)
    terminator = "" if carried.inits else YIELD
    region = r.region([iv, *carried.arguments], terminator=terminator)
    state.attributes |= r.attr_dict()
    state.attributes |= {
        "lowerBoundMap": AffineMapAttr(lower),
        "upperBoundMap": AffineMapAttr(upper),
        "step": index_attr(step),
        OPERAND_SEGMENTS: segment_sizes(
            [lower_operands, upper_operands, carried.inits]
        ),
    }
    state.operands = [*lower_operands, *upper_operands, *carried.inits]
    state.result_types = carried.types
    state.regions = [region]


def _parse_step(r: Reader) -> int:
    if r.token != "step":
        return 1
    r.advance()
    start = r.start
    step = r.integer()
    if step < 1:
        raise errors.OperandMismatch(
            r.location(start),
            operation="affine.for",
            problem=f"the step must be positive, found {step}",
            hint="Count upwards and compute the index as upper - 1 - i",
        )
    return step


def _parse_bound(r: Reader, prefix: str) -> Bound:
    """A number, a value, or ``max``/``min`` and a map with its operands."""
    has_prefix = r.token == prefix
    if has_prefix:
        r.advance()
    if r.token[:1] == "%":
        return _value_bound(r)
    if r.token == "-" or r.token[:1].isdigit():
        return AffineMap.constant(r.integer()), []
    start = r.start
    map_ = r.affine_map()
    operands = r.affine_operands(map_.num_dims, map_.num_syms)
    if len(map_.results) != 1 and not has_prefix:
        raise errors.OperandMismatch(
            r.location(start),
            operation="affine.for",
            problem=f"a bound of {len(map_.results)} results lacks '{prefix}'",
            hint=f"Write {prefix} before the map, or give it one result",
        )
    return map_, operands


def _value_bound(r: Reader) -> Bound:
    value = r.resolve(r.use(), INDEX)
    if value in r.dims:
        return AffineMap.identity(1), [value]
    return AffineMap(0, 1, (Sym(0),)), [value]


def print_for(w: Writer, o: Operation) -> None:
    """``%i = lower to upper step n iter_args(..) -> (..) { .. }``."""
    loop = view.For(o)
    lower = _bound_text(w, loop.lower_map, loop.lower_operands, "max")
    upper = _bound_text(w, loop.upper_map, loop.upper_operands, "min")
    w.write(f" {w.name(loop.iv)} = {lower} to {upper}")
    if loop.step != 1:
        w.write(f" step {loop.step}")
    print_carried(w, loop.iter_args, loop.inits, o.results)
    w.write(" ")
    w.region(o.regions[0], elide=YIELD)
    w.attr_dict(o, ("lowerBoundMap", "upperBoundMap", "step", OPERAND_SEGMENTS))


def _bound_text(
    w: Writer, map_: AffineMap, operands: Sequence[Value], prefix: str
) -> str:
    match map_.results:
        case (Const(value),) if map_.num_inputs == 0:
            return str(value)
        case (Sym(0),) if map_.num_inputs == 1:
            return w.name(operands[0])
        case _:
            whole = f"{AffineMapAttr(map_)}{applied(w, map_.num_dims, operands)}"
            return whole if len(map_.results) == 1 else f"{prefix} {whole}"


def applied(w: Writer, num_dims: int, operands: Sequence[Value]) -> str:
    """``(%d0)[%s0]``."""
    symbols = operands[num_dims:]
    dims = f"({w.names(operands[:num_dims])})"
    return f"{dims}[{w.names(symbols)}]" if symbols else dims


# -- subscripts ------------------------------------------------------------------------


def subscripts_text(w: Writer, map_: AffineMap, operands: Sequence[Value]) -> str:
    """The results of a map with operand names put in."""
    names = [w.name(value) for value in operands]
    dims = names[: map_.num_dims]
    syms = [f"symbol({name})" for name in names[map_.num_dims :]]
    return ", ".join(text(expr, dims, syms) for expr in map_.results)
