"""vector.contract: a generic contraction of two vectors into a third."""

from __future__ import annotations

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.shared.combiners import OLD_KINDS
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    OpaqueAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I1


def parse_contract(r: Reader, state: State) -> None:
    """``{trait} %a, %b, %acc : types into type``; two masks may follow until 2022."""
    if r.token[:1] == "#":
        trait = r.attribute()
        entries = dict(trait.entries) if isinstance(trait, DictAttr) else {}
        state.attributes |= entries
    state.attributes |= r.attr_dict()
    start = r.start
    uses = r.separated(r.use)
    masks = uses[3:]
    state.attributes |= r.attr_dict()
    modern_contract(state)
    r.expect(":")
    types = r.types()
    r.one_of(("into",), "'into'")
    result = r.type()
    factors = types[:2]
    masked = [with_element(ty, I1) for ty in factors] if masks else []
    state.operands = r.resolve_all(uses, [*factors, result, *masked], start)
    state.result_types = [result]


TRAIT = ("fastmath", "indexing_maps", "iterator_types", "kind")
_ITERATOR = "#vector.iterator_type<"


def modern_contract(state: State) -> None:
    """Iterators as attributes and kinds under today's names."""
    attributes = state.attributes
    iterators = attributes.get("iterator_types")
    if isinstance(iterators, ArrayAttr):
        attributes["iterator_types"] = ArrayAttr(
            tuple(map(_iterator, iterators.values))
        )
    modern_kind(state)


def modern_kind(state: State) -> None:
    """``"add"`` of 2020 and ``#vector.kind<maxf>`` as an attribute of today."""
    kind = state.attributes.get("kind")
    words = kind.value if isinstance(kind, StringAttr) else str(kind or "")
    word = words.removeprefix("#vector.kind<").removesuffix(">")
    if word:
        today = OLD_KINDS.get(word, word)
        state.attributes["kind"] = OpaqueAttr(f"#vector.kind<{today}>")


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
    attributes = o.attributes
    entries = [f"{k} = {_trait_text(attributes[k])}" for k in TRAIT if k in attributes]
    w.write(f" {{{', '.join(entries)}}}")
    lhs, rhs = (v.type for v in o.operands[:2])
    w.write(f" {w.names(o.operands)}")
    w.attr_dict(o, TRAIT)
    w.write(f" : {lhs}, {rhs} into {o.results[0].type}")
