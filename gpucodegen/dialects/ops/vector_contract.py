"""vector.contract: a generic contraction of two vectors into a third."""

from __future__ import annotations

from gpucodegen.dialects.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    OpaqueAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Operation


def parse_contract(r: Reader, state: State) -> None:
    """``{trait} %a, %b, %acc : types into type``."""
    if r.token[:1] == "#":
        trait = r.attribute()
        entries = dict(trait.entries) if isinstance(trait, DictAttr) else {}
        state.attributes |= entries
    state.attributes |= r.attr_dict()
    start = r.start
    uses = r.separated(r.use)
    state.attributes |= r.attr_dict()
    modern_contract(state)
    r.expect(":")
    types = r.types()
    r.one_of(("into",), "'into'")
    result = r.type()
    state.operands = r.resolve_all(uses, [*types[:2], result], start)
    state.result_types = [result]


_ITERATOR = "#vector.iterator_type<"
_OLD_KINDS = {"#vector.kind<minf>": "minnumf", "#vector.kind<maxf>": "maxnumf"}


def modern_contract(state: State) -> None:
    """Iterators as attributes and kinds under today's names; no default kind."""
    attributes = state.attributes
    iterators = attributes.get("iterator_types")
    if isinstance(iterators, ArrayAttr):
        attributes["iterator_types"] = ArrayAttr(
            tuple(map(_iterator, iterators.values))
        )
    kind = str(attributes.get("kind", ""))
    if kind in _OLD_KINDS:
        attributes["kind"] = OpaqueAttr(f"#vector.kind<{_OLD_KINDS[kind]}>")


def _iterator(value: Attribute) -> Attribute:
    is_string = isinstance(value, StringAttr)
    return OpaqueAttr(f"{_ITERATOR}{value.value}>") if is_string else value


def _trait_text(value: Attribute) -> str:
    if not isinstance(value, ArrayAttr):
        return str(value)
    texts = (str(entry) for entry in value.values)
    shown = (f'"{t[len(_ITERATOR) : -1]}"' if _ITERATOR in t else t for t in texts)
    return f"[{', '.join(shown)}]"


def print_contract(w: Writer, o: Operation) -> None:
    """``{trait} %a, %b, %acc : types into type``."""
    entries = [f"{k} = {_trait_text(v)}" for k, v in o.attributes.items()]
    w.write(f" {{{', '.join(entries)}}}")
    lhs, rhs = (v.type for v in o.operands[:2])
    w.write(f" {w.names(o.operands)} : {lhs}, {rhs} into {o.results[0].type}")
