"""Syntax of gpu.all_reduce."""

from __future__ import annotations

from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.gpu.words import REDUCTION
from gpucodegen.dialects.shared.combiners import GPU_KINDS
from gpucodegen.ir.attributes import OpaqueAttr, UnitAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, Type, element_type


def parse_all_reduce(r: Reader, state: State) -> None:
    """``add %x uniform {} : (type) -> type``."""
    name = r.one_of((*GPU_KINDS, "min", "max"), "a name") if _at_name(r) else ""
    use = r.use()
    if r.token == "uniform":
        r.advance()
        state.attributes["uniform"] = UnitAttr()
    state.regions = [r.region()]
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.function_type()
    state.operands = r.resolve_all([use], ty.inputs, use.start)
    state.result_types = list(ty.results)
    if name:
        today = _today(name, state.operands[0].type)
        state.attributes["op"] = OpaqueAttr(f"#gpu.all_reduce_op<{today}>")


def _at_name(r: Reader) -> bool:
    return r.token[:1] != "%"


def _today(name: str, ty: Type) -> str:
    """``min`` and ``max`` became operations of their own for integers and floats."""
    suffix = "numf" if isinstance(element_type(ty), FloatType) else "si"
    return name + suffix if name in ("min", "max") else name


def print_all_reduce(w: Writer, o: Operation) -> None:
    """``add %x uniform {} : (type) -> type``."""
    name = REDUCTION.write(o.attributes["op"]) if "op" in o.attributes else ""
    w.write(f" {name}" if name else "")
    w.write(f" {w.name(o.operands[0])}")
    w.write(" uniform " if "uniform" in o.attributes else " ")
    w.region(o.regions[0], arguments=True)
    w.attr_dict(o, ("op", "uniform"))
    w.write(f" : ({o.operands[0].type}) -> {o.results[0].type}")
