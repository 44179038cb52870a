"""gpu.binary: compiled kernels."""

from __future__ import annotations

from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import ArrayAttr, OpaqueAttr, StringAttr, print_symbol
from gpucodegen.ir.operation import Operation

_ANY_OBJECT = OpaqueAttr("#gpu.select_object")


def parse_binary(r: Reader, state: State) -> None:
    """``@name <handler> [objects] {attrs}``."""
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    state.attributes["offloadingHandler"] = _ANY_OBJECT
    if r.accept("<"):
        state.attributes["offloadingHandler"] = r.attribute()
        r.expect(">")
    state.attributes |= r.attr_dict()
    state.attributes["objects"] = r.attribute()


def print_binary(w: Writer, o: Operation) -> None:
    """``@name <handler> [objects] {attrs}``."""
    attributes = o.attributes
    name = attributes["sym_name"]
    w.write(f" {print_symbol(name.value) if isinstance(name, StringAttr) else name}")
    if attributes.get("offloadingHandler", _ANY_OBJECT) != _ANY_OBJECT:
        w.write(f" <{attributes['offloadingHandler']}>")
    w.attr_dict(o, ("sym_name", "offloadingHandler", "objects"))
    w.write(f" {attributes['objects']}")


def check_binary(o: Operation) -> None:
    """At least one object."""
    objects = o.attributes["objects"]
    require(
        isinstance(objects, ArrayAttr) and objects.values,
        o,
        "has no objects",
        "List at least one #gpu.object<..>",
    )
