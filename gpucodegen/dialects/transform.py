"""The transform dialect: MLIR's language for schedules, as far as schedules have steps.

A number of a list may be a parameter: `DYNAMIC` stands in its place, and the parameters
are operands behind the handles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
    RegionOf,
)
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.signatures import (
    FUNCTION_ATTRIBUTES,
    check_attributes,
    parse_signature,
    print_function,
)
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    dictionary,
    print_symbol,
)
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.ir.types import I64
from gpucodegen.records import dataclass

SEQUENCE, NAMED_SEQUENCE = "transform.sequence", "transform.named_sequence"
_LIST = "sizes"
"""Name of the list that the text leaves without one."""
MERGE = "transform.merge_handles"

_FUNCTIONAL = "attr-dict `:` functional-type(operands, results)"
_TYPED = "attr-dict (`:` type($target)^)?"
_FAILURES = "`failures` `(` $failure_propagation `)`"


def _optional(*words: str) -> str:
    """``word = attribute`` for each word, where it stands."""
    return " ".join(f"(`{word}` `=` ${word}^)?" for word in words)


def _flags(*words: str) -> str:
    """Each word as a flag, where it stands."""
    return " ".join(f"(`{word}` ${word}^)?" for word in words)


FORMATS: dict[str, str] = {
    **dict.fromkeys(
        """
            get_parent_op loop.forall_to_for loop.peel loop.pipeline split_handle
            structured.decompose structured.generalize structured.promote
            structured.specialize structured.split_reduction
            structured.vectorize_children_and_apply_patterns
        """.split(),
        f"$target {_FUNCTIONAL}",
    ),
    **dict.fromkeys(
        """
            bufferization.eliminate_empty_tensors loop.hoist_loop_invariant_subsets
            loop.promote_if_one_iteration loop.unroll loop.unroll_and_jam print
        """.split(),
        f"$target {_TYPED}",
    ),
    **dict.fromkeys(
        """
            apply_cse apply_dce apply_licm
        """.split(),
        f"`to` $target {_TYPED}",
    ),
    **dict.fromkeys(
        """
            get_consumers_of_result get_producer_of_operand structured.tile
            structured.tile_to_scf_for
        """.split(),
        f"$target custom<sizes> {_FUNCTIONAL}",
    ),
    "annotate": f"$target $text {_TYPED}",
    "apply_registered_pass": f"$text `to` $target {_FUNCTIONAL}",
    "bufferization.one_shot_bufferize": f"custom<layout> $target {_FUNCTIONAL}",
    "cast": "$target attr-dict `:` type($target) `to` type($results)",
    "debug.emit_remark_at": f"$target `,` $text {_TYPED}",
    "include": f"$callee {_FAILURES} `(` $targets `)` {_FUNCTIONAL}",
    "loop.fuse_sibling": f"$target `into` $other {_FUNCTIONAL}",
    "match.operation_name": f"$target custom<sizes> {_TYPED}",
    "merge_handles": "$targets attr-dict (`:` type($results)^)?",
    "param.constant": "$value attr-dict `->` type($results)",
    "structured.fuse": (
        f"$target custom<tile_sizes> custom<interchange> {_FUNCTIONAL}"
    ),
    "structured.fuse_into_containing_op": f"$target `into` $other {_FUNCTIONAL}",
    "structured.interchange": (
        f"$target {_optional('iterator_interchange')} {_FUNCTIONAL}"
    ),
    "structured.match": (
        f"custom<ops> custom<interface> custom<attributes> `in` $target {_FUNCTIONAL}"
    ),
    "structured.pad": f"$target custom<pad_to_multiple_of> {_FUNCTIONAL}",
    "structured.tile_reduction_using_for": (
        f"$target {_optional('reduction_dims')} `by` {_optional('tile_sizes')}"
        f" {_FUNCTIONAL}"
    ),
    "structured.tile_reduction_using_forall": (
        f"$target {_optional('reduction_dims')} `by` custom<tiles> {_FUNCTIONAL}"
    ),
    **dict.fromkeys(
        ("structured.tile_to_forall_op", "structured.tile_using_forall"),
        "$target custom<num_threads> custom<tile_sizes>"
        f" (`(` `mapping` `=` $mapping^ `)`)? {_FUNCTIONAL}",
    ),
    "structured.tile_using_for": (
        f"$target custom<tile_sizes> custom<sizes> {_optional('interchange')}"
        f" {_FUNCTIONAL}"
    ),
    "structured.vectorize": f"$target custom<vector_sizes> {_TYPED}",
    "gpu.map_forall_to_blocks": (
        f"$target {_flags('generate_gpu_launch')} {_optional('grid_dims')}"
        f" {_FUNCTIONAL}"
    ),
    "gpu.map_nested_forall_to_threads": (
        f"$target {_optional('block_dims', 'sync_after_distribute', 'warp_size')}"
        f" {_FUNCTIONAL}"
    ),
    "yield": "$targets attr-dict (`:` type($targets)^)?",
}
"""The formats of operations, without the dialect's name."""
DYNAMIC = -(2**63)
"""A number that an operand gives, as in MLIR's lists of static sizes."""


@dataclass(frozen=True, slots=True)
class NumberList(FormatElement):
    """``word [4, %size]``, or nothing; `DYNAMIC` stands in place of a parameter.

    The parameters of all lists of an operation are its last operands. The list
    ``sizes`` has no word.
    """

    name: str

    def shows(self) -> Sequence[str]:
        return (self.name,)

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        uses = parsed.uses.setdefault("parameters", [])

        def number() -> Attribute:
            if r.token[:1] != "%":
                return r.attribute()
            uses.append(r.use())
            return IntegerAttr(DYNAMIC, I64)

        if r.at("[") if self.name == _LIST else r.accept(self.name):
            found = ArrayAttr(tuple(r.listed("[", "]", number)))
            parsed.state.attributes[self.name] = found

    def print(self, printed: Printed) -> None:
        value = printed.op.attributes.get(self.name)
        if value is None:
            printed.after_word = False
            return
        rest = iter(printed.values["parameters"][printed.parameters :])
        texts = (
            printed.writer.name(next(rest))
            if isinstance(one, IntegerAttr) and one.value == DYNAMIC
            else str(one)
            for one in printed.op.entries(self.name)
        )
        text = f"[{', '.join(texts)}]" if isinstance(value, ArrayAttr) else str(value)
        printed.parameters = len(printed.values["parameters"]) - len(tuple(rest))
        printed.put(text if self.name == _LIST else f"{self.name} {text}")
        printed.after_word = False


@dataclass(frozen=True, slots=True)
class Braced(FormatElement):
    """``word{["names"]}``, ``word{Interface}``, ``attributes {..}``, or nothing."""

    name: str

    def shows(self) -> Sequence[str]:
        return (self.name,)

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        if not r.accept(self.name):
            return
        if self.name == "attributes":
            found: Attribute = dictionary(r.attr_dict())
        else:
            r.expect("{")
            found = r.attribute() if r.at("[") else StringAttr(r.keyword())
            r.expect("}")
        parsed.state.attributes[self.name] = found

    def print(self, printed: Printed) -> None:
        value = printed.op.attributes.get(self.name)
        if isinstance(value, DictAttr):
            printed.put(f"{self.name} {value}")
        elif value is not None:
            text = value.value if isinstance(value, StringAttr) else str(value)
            printed.put(f"{self.name}{{{text}}}")


@dataclass(frozen=True, slots=True)
class Settings(FormatElement):
    """``word = attribute``, with commas between those that are there."""

    names: tuple[str, ...]

    def shows(self) -> Sequence[str]:
        return self.names

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        while r.token in self.names:
            word = r.advance()
            r.expect("=")
            parsed.state.attributes[word] = r.attribute()
            r.accept(",")

    def print(self, printed: Printed) -> None:
        given = printed.op.attributes
        there = (f"{n} = {given[n]}" for n in self.names if n in given)
        printed.put(", ".join(there))


_LISTS = "sizes tile_sizes interchange pad_to_multiple_of num_threads vector_sizes"
_ELEMENTS: dict[str, FormatElement] = {
    **{name: NumberList(name) for name in _LISTS.split()},
    **{name: Braced(name) for name in ("layout", "ops", "interface", "attributes")},
    "tiles": Settings(("num_threads", "tile_sizes", "mapping")),
}
_WORD = AttributeKind(
    "a word",
    lambda r: StringAttr(r.keyword()),
    lambda a: a.value if isinstance(a, StringAttr) else str(a),
)
_KINDS = {
    "callee": kinds.SYMBOL,
    "text": kinds.STRING,
    "value": kinds.ANY,
    "failure_propagation": _WORD,
    "generate_gpu_launch": kinds.UNIT,
}
_SLOTS = {"target", "other", "targets", "results"}


def _operation(name: str, assembly: str) -> Op:
    """The operation of a format, which names its operands and attributes."""
    named = dict.fromkeys(re.findall(r"\$(\w+)", assembly))
    custom = {n: _ELEMENTS[n] for n in re.findall(r"custom<(\w+)>", assembly)}
    shown = [shown for element in custom.values() for shown in element.shows()]
    operands = [s + "*" * (s == "targets") for s in named if s in _SLOTS - {"results"}]
    if any(isinstance(element, NumberList) for element in custom.values()):
        operands.append("parameters*")
    is_merge = f"transform.{name}" == MERGE
    has_results = "results" in assembly
    results = "results" if is_merge else "results*" if has_results else ""
    attributes = [*(n for n in named if n not in _SLOTS), *shown]
    return op(
        f"transform.{name}",
        f"{' '.join(operands)} -> {results}",
        assembly,
        attributes={n: _KINDS.get(n, kinds.OPTIONAL) for n in attributes},
        same="targets results" if is_merge else "",
        custom=custom,
        traits=Trait.TERMINATOR if name == "yield" else Trait.NONE,
    )


# -- sequences and patterns ------------------------------------------------------------


def _parse_named(r: Reader, state: State) -> None:
    """``@name(%handle: type {attributes}) { body }``."""
    if r.at("private"):
        state.attributes["sym_visibility"] = StringAttr(r.advance())
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    signature = parse_signature(r)
    state.attributes |= signature.attributes
    state.attributes |= r.attr_dict_with_keyword()
    region = Region()
    if r.at("{"):
        region = r.region(
            signature.arguments, isolated=True, terminator="transform.yield"
        )
    state.regions = [region]


def _print_named(w: Writer, o: Operation) -> None:
    if o.string("sym_visibility", "public") == "private":
        w.write(" private")
    w.write(f" {print_symbol(symbol_name(o))}")
    print_function(w, o)


def _parse_pattern(r: Reader, state: State) -> None:
    """``strategy = "outerproduct" full_unroll = true``."""
    while r.token.isidentifier():
        word = r.keyword()
        r.expect("=")
        state.attributes[word] = r.attribute()
    state.attributes |= r.attr_dict()


def _print_pattern(w: Writer, o: Operation) -> None:
    for name, value in sorted(o.attributes.items()):
        w.write(f" {name} = {value}")


PATTERNS = """
    canonicalization linalg.data_layout_propagation linalg.erase_unnecessary_inputs
    linalg.fold_unit_extent_dims_via_reshapes linalg.fold_unit_extent_dims_via_slices
    linalg.pad_vectorization linalg.tiling_canonicalization
    memref.expand_ops memref.expand_strided_metadata memref.extract_address_computations
    memref.fold_memref_alias_ops memref.resolve_ranked_shaped_type_result_dims
    scf.for_loop_canonicalization tensor.decompose_concat
    tensor.drop_redundant_insert_slice_rank_expansion
    tensor.fold_tensor_empty tensor.fold_tensor_subset_ops
    tensor.fold_tensor_subset_ops_into_vector_transfers
    tensor.merge_consecutive_insert_extract_slice tensor.reassociative_reshape_folding
    tensor.rewrite_as_constant vector.cast_away_vector_leading_one_dim
    vector.fold_arith_extension vector.lower_bitcast vector.lower_broadcast
    vector.lower_contraction vector.lower_gather vector.lower_interleave
    vector.lower_masked_transfers vector.lower_masks vector.lower_multi_reduction
    vector.lower_outerproduct vector.lower_scan vector.lower_shape_cast
    vector.lower_transfer vector.lower_transpose vector.materialize_masks
    vector.rank_reducing_subview_patterns vector.reduction_to_contract
    vector.rewrite_narrow_types vector.split_transfer_full_partial
    vector.transfer_permutation_patterns vector.transfer_to_scf
""".split()
"""Sets of patterns of ``apply_patterns`` that simplify only."""


# -- sequences that run for each of several operations ---------------------------------


_FLAGS = ("restrict_root", "flatten_results")


@dataclass(frozen=True, slots=True)
class MatchedPairs(FormatElement):
    """``@matcher -> @action, ..``."""

    def shows(self) -> Sequence[str]:
        return ("matchers", "actions")

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader

        def pair() -> tuple[Attribute, Attribute]:
            matcher = SymbolRefAttr(r.symbol_path())
            r.expect("->")
            return matcher, SymbolRefAttr(r.symbol_path())

        pairs = r.separated(pair)
        for n, name in enumerate(self.shows()):
            found = ArrayAttr(tuple(symbols[n] for symbols in pairs))
            parsed.state.attributes[name] = found

    def print(self, printed: Printed) -> None:
        pairs = (f"{one} -> {two}" for one, two in matches_of(printed.op))
        printed.put(", ".join(pairs))


def matches_of(o: Operation) -> list[tuple[SymbolRefAttr, SymbolRefAttr]]:
    """The matchers of ``foreach_match`` and what runs for an operation that fits."""
    lists = (o.attributes["matchers"], o.attributes["actions"])
    matchers, actions = (one.values for one in lists if isinstance(one, ArrayAttr))
    return [
        (matcher, action)
        for matcher, action in zip(matchers, actions, strict=True)
        if isinstance(matcher, SymbolRefAttr) and isinstance(action, SymbolRefAttr)
    ]


_BODY = {"Body": RegionOf("transform.yield", arguments=True)}
OPERATIONS: tuple[Op, ...] = (
    *(_operation(*row) for row in FORMATS.items()),
    op(
        NAMED_SEQUENCE,
        syntax=(_parse_named, _print_named),
        attributes=FUNCTION_ATTRIBUTES,
        traits=Trait.ISOLATED,
        regions=1,
        checks=(check_attributes,),
    ),
    op(
        SEQUENCE,
        syntax=f"{_FAILURES} attr-dict-with-keyword custom<Body>",
        attributes={"failure_propagation": _WORD},
        custom=_BODY,
        regions=1,
    ),
    op(
        "transform.apply_patterns",
        "target",
        f"`to` $target custom<Body> {_TYPED}",
        custom={"Body": RegionOf()},
        traits=Trait.NO_TERMINATOR,
        regions=1,
    ),
    *(
        op(f"transform.apply_patterns.{name}", syntax=(_parse_pattern, _print_pattern))
        for name in PATTERNS
    ),
    op(
        "transform.foreach",
        "targets* -> results*",
        "$targets `:` type($targets) (`->` type($results)^)? custom<Body> attr-dict",
        custom=_BODY,
        regions=1,
    ),
    op(
        "transform.foreach_match",
        "targets* -> results*",
        f"{_flags(*_FLAGS)} `in` $targets custom<Pairs> {_FUNCTIONAL}",
        custom={"Pairs": MatchedPairs()},
        attributes={
            "matchers": kinds.ARRAY,
            "actions": kinds.ARRAY,
            **dict.fromkeys(_FLAGS, kinds.UNIT),
        },
    ),
)
