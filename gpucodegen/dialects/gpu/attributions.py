"""Buffers that a kernel's signature gives to each workgroup or thread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from gpucodegen.dialects import gpu as view
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Writer
from gpucodegen.ir.attributes import ArrayAttr, DictAttr, IntegerAttr, dictionary
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType


def parse_attributions(r: Reader, state: State) -> list[Argument]:
    """``workgroup(%w : memref) private(%p : memref)``: buffers of a kernel."""
    shared = _attributions(r, state, "workgroup")
    private = _attributions(r, state, "private")
    if shared:
        state.attributes["workgroup_attributions"] = IntegerAttr(len(shared))
    return [*shared, *private]


def _attributions(r: Reader, state: State, word: str) -> list[Argument]:
    if r.token != word:
        return []
    r.advance()
    attributes: list[DictAttr] = []
    arguments = r.listed("(", ")", lambda: _attribution(r, attributes))
    if any(d.entries for d in attributes):
        state.attributes[f"{word}_attrib_attrs"] = ArrayAttr(tuple(attributes))
    return arguments


def _attribution(r: Reader, attributes: list[DictAttr]) -> Argument:
    use = r.use()
    r.expect(":")
    ty = r.type()
    attributes.append(dictionary(r.attr_dict()))
    return r.argument(use, ty)


def print_attributions(w: Writer, o: Operation, values: Sequence[Value]) -> None:
    """``workgroup(%w : memref) private(%p : memref)``."""
    w.write(attribution_text(w, o, values))


def attribution_text(w: Writer, o: Operation, values: Sequence[Value]) -> str:
    """The buffers of a kernel after its arguments."""
    shared = view.workgroup_count(o)
    groups = (("workgroup", values[:shared]), ("private", values[shared:]))
    return "".join(_group_text(w, o, word, group) for word, group in groups if group)


def _group_text(w: Writer, o: Operation, word: str, values: Sequence[Value]) -> str:
    written = o.attributes.get(f"{word}_attrib_attrs")
    entries = written.values if isinstance(written, ArrayAttr) else ()
    texts = (
        w.typed_names([value]) + (f" {entry}" if str(entry) != "{}" else "")
        for value, entry in zip_longest(values, entries, fillvalue=DictAttr())
        if isinstance(value, Value)
    )
    return f" {word}({', '.join(texts)})"


def check_attributions(o: Operation, start: int) -> None:
    """Buffers of a workgroup or thread are memrefs of its memory."""
    shared = view.workgroup_count(o)
    for i, argument in enumerate(o.regions[0].blocks[0].arguments[start:]):
        name = "workgroup" if i < shared else "private"
        space = str(getattr(argument.type, "memory_space", "") or "")
        is_named = space.startswith("#gpu.address_space")
        require(
            isinstance(argument.type, MemRefType)
            and (not is_named or space == f"#gpu.address_space<{name}>"),
            o,
            f"{argument.type} is no {name} memory",
            f"Write a memref in #gpu.address_space<{name}>",
        )
