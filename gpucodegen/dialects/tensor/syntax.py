"""Hand-written syntax of tensor operations."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import DenseArrayAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments, segment_sizes
from gpucodegen.ir.types import I64, INDEX


def parse_generate(r: Reader, state: State) -> None:
    """``%sizes { ^bb0(%i: index): .. } : tensor``."""
    state.operands = [r.resolve(use, INDEX) for use in r.uses()]
    state.regions = [r.region()]
    state.attributes |= r.attr_dict()
    r.expect(":")
    state.result_types = [r.type()]


def print_generate(w: Writer, o: Operation) -> None:
    """``%sizes { ^bb0(%i: index): .. } : tensor``."""
    w.write(f" {w.names(o.operands)} " if o.operands else " ")
    w.region(o.regions[0], arguments=True)
    w.attr_dict(o)
    w.write(f" : {o.results[0].type}")


def _mixed(r: Reader, state: State, name: str) -> list[Value]:
    dynamic: list[Value] = []

    def entry() -> int:
        if r.token[:1] != "%":
            return r.integer()
        dynamic.append(r.resolve(r.use(), INDEX))
        return DYNAMIC_MARK

    static = r.listed("[", "]", entry)
    state.attributes[name] = DenseArrayAttr(I64, tuple(static))
    return dynamic


def parse_pad(r: Reader, state: State) -> None:
    """``%t nofold? low[..] high[..] { .. } : type to type``."""
    source = r.use()
    if r.token == "nofold":
        r.advance()
        state.attributes["nofold"] = UnitAttr()
    r.one_of(("low",), "'low'")
    low = _mixed(r, state, "static_low")
    r.one_of(("high",), "'high'")
    high = _mixed(r, state, "static_high")
    state.regions = [r.region()]
    state.attributes |= r.attr_dict()
    r.expect(":")
    source_type = r.type()
    r.one_of(("to",), "'to'")
    state.result_types = [r.type()]
    groups = [[r.resolve(source, source_type)], low, high]
    state.operands = [value for group in groups for value in group]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


def print_pad(w: Writer, o: Operation) -> None:
    """``%t low[..] high[..] { .. } : type to type``."""
    (source,), low, high = operand_segments(o, 3)
    word = " nofold" if "nofold" in o.attributes else ""
    sides = [
        f"{name}[{_mixed_text(w, o, f'static_{name}', values)}]"
        for name, values in (("low", low), ("high", high))
    ]
    w.write(f" {w.name(source)}{word} {' '.join(sides)} ")
    w.region(o.regions[0], arguments=True)
    w.attr_dict(o, ("nofold", "static_low", "static_high", OPERAND_SEGMENTS))
    w.write(f" : {source.type} to {o.results[0].type}")


def _mixed_text(w: Writer, o: Operation, name: str, dynamic: Sequence[Value]) -> str:
    static = o.attributes.get(name)
    entries = static.values if isinstance(static, DenseArrayAttr) else ()
    rest = iter(dynamic)
    names = [w.name(next(rest)) if e == DYNAMIC_MARK else str(e) for e in entries]
    return ", ".join(names)
