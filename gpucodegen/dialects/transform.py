"""The transform dialect: MLIR's language for schedules, as far as schedules have steps.

Each operation has a line of layout, by which it is read and printed::

    %          an operand            word[]     ``word [numbers]``, where it stands
    word       the word itself       word=      ``word = attribute``, where it stands
    word{}     ``word{attributes}``  (word=)    ``(word = attribute)``
    ,word=     ``word = attribute`` behind a comma, unless it is the first one
    []         ``[numbers]``         ?word      the word as a flag, where it stands
    @          a symbol              ""         a string
    =          an attribute          ,          a comma
    ->         a functional type     :          the operands' types
    : ->       types, and behind the arrow those of the results
    : to       types, and behind the word those of the results

A number of a list may be a parameter: `DYNAMIC` stands in its place, and the parameters
are operands behind the handles.
"""

from __future__ import annotations

import re

from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.kinds import AttributeKind
from gpucodegen.dialects.framework.signatures import (
    FUNCTION_ATTRIBUTES,
    check_attributes,
    parse_signature,
    print_function,
)
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    dictionary,
    print_symbol,
)
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.ir.types import I64, Type

SEQUENCE, NAMED_SEQUENCE = "transform.sequence", "transform.named_sequence"
_LIST, _CALLEE, _TEXT, _VALUE = "sizes", "callee", "text", "value"
"""Names of the attributes that the text leaves without one."""
MERGE = "transform.merge_handles"

LAYOUTS: dict[str, str] = {
    "annotate": '% "" :',
    "apply_cse": "to % :",
    "apply_dce": "to % :",
    "apply_licm": "to % :",
    "apply_registered_pass": '"" to % ->',
    "bufferization.eliminate_empty_tensors": "% :",
    "bufferization.one_shot_bufferize": "layout{} % ->",
    "cast": "% : to",
    "debug.emit_remark_at": '% , "" :',
    "get_consumers_of_result": "% [] ->",
    "get_parent_op": "% ->",
    "get_producer_of_operand": "% [] ->",
    "include": "@ failures () ->",
    "loop.forall_to_for": "% ->",
    "loop.fuse_sibling": "% into % ->",
    "loop.hoist_loop_invariant_subsets": "% :",
    "loop.peel": "% ->",
    "loop.pipeline": "% ->",
    "loop.promote_if_one_iteration": "% :",
    "loop.unroll": "% :",
    "loop.unroll_and_jam": "% :",
    "match.operation_name": "% [] :",
    "merge_handles": "%, :",
    "param.constant": "= : ->",
    "print": "% :",
    "split_handle": "% ->",
    "structured.decompose": "% ->",
    "structured.fuse": "% tile_sizes[] interchange[] ->",
    "structured.fuse_into_containing_op": "% into % ->",
    "structured.generalize": "% ->",
    "structured.interchange": "% iterator_interchange= ->",
    "structured.match": "ops{} interface{} attributes{} in % ->",
    "structured.pad": "% pad_to_multiple_of[] ->",
    "structured.promote": "% ->",
    "structured.specialize": "% ->",
    "structured.split_reduction": "% ->",
    "structured.tile": "% [] ->",
    "structured.tile_reduction_using_for": "% reduction_dims= by tile_sizes= ->",
    "structured.tile_reduction_using_forall": (
        "% reduction_dims= by ,num_threads= ,tile_sizes= ,mapping= ->"
    ),
    "structured.tile_to_forall_op": "% num_threads[] tile_sizes[] (mapping=) ->",
    "structured.tile_to_scf_for": "% [] ->",
    "structured.tile_using_for": "% tile_sizes[] [] interchange= ->",
    "structured.tile_using_forall": "% num_threads[] tile_sizes[] (mapping=) ->",
    "structured.vectorize": "% vector_sizes[] :",
    "structured.vectorize_children_and_apply_patterns": "% ->",
    "gpu.map_forall_to_blocks": "% ?generate_gpu_launch grid_dims= ->",
    "gpu.map_nested_forall_to_threads": (
        "% block_dims= sync_after_distribute= warp_size= ->"
    ),
    "yield": "%, :",
}
"""The layouts of operations, without the dialect's name."""
_ITEM = re.compile(
    r"->|:|%,?|@|,\w+=|,|\"\"|\[\]|\(\)|\(\w+=\)|\?\w+|\w+\[\]|\w*=|\w+\{\}|\w+"
)
DYNAMIC = -(2**63)
"""A number that an operand gives, as in MLIR's lists of static sizes."""


def _items(name: str) -> list[str]:
    return _ITEM.findall(LAYOUTS[name.partition(".")[2]])


def _parse(r: Reader, state: State) -> None:
    """An operation by its layout; parameters of lists follow the handles."""
    handles: list[Use] = []
    parameters: list[Use] = []
    head, tail = _parts(state.name)
    for item in head:
        _parse_item(r, state, item, handles, parameters)
    state.attributes |= r.attr_dict()
    uses, start = [*handles, *parameters], r.start
    types: list[Type] = []
    if tail == ["->"]:
        r.expect(":")
        signature = r.function_type()
        types, state.result_types = list(signature.inputs), list(signature.results)
    else:
        if tail[:1] == [":"] and uses and r.accept(":"):
            types = r.types()
        if len(tail) == 2:
            r.expect(tail[1])
            state.result_types = r.types()
    if state.name == MERGE and types:
        state.result_types, types = types[:1], types[:1] * len(uses)
    state.operands = r.resolve_all(uses, types, start)


def _parts(name: str) -> tuple[list[str], list[str]]:
    """The items of a layout before its types, and those of the types."""
    items = _items(name)
    ends = [at for at, item in enumerate(items) if item in (":", "->")]
    end = ends[0] if ends else len(items)
    return items[:end], items[end:]


def _parse_item(
    r: Reader, state: State, item: str, handles: list[Use], parameters: list[Use]
) -> None:
    """One element of a layout."""
    word = item.strip("?[]{}()=,")
    attributes = state.attributes
    if item.startswith(",") and word:
        r.accept(",")
    if item == "%":
        handles.append(r.use())
    elif item == "%,":
        handles += r.uses()
    elif item == "()":
        handles += r.listed("(", ")", r.use)
    elif item == "@":
        attributes[_CALLEE] = SymbolRefAttr(r.symbol_path())
    elif item == '""':
        attributes[_TEXT] = StringAttr(r.string())
    elif item == "=":
        attributes[_VALUE] = r.attribute()
    elif item == "[]":
        if r.at("["):
            attributes[_LIST] = _numbers(r, parameters)
    elif item == "failures":
        r.expect("failures")
        attributes["failure_propagation"] = StringAttr(_in_parentheses(r))
    elif item.startswith("("):
        if r.accept("("):
            r.expect(word)
            r.expect("=")
            attributes[word] = r.attribute()
            r.expect(")")
    elif item.endswith("{}"):
        if r.accept(word):
            attributes[word] = _braced(r, word)
    elif item in (word, ","):
        r.expect(item)
    elif r.accept(word):
        if item.startswith("?"):
            attributes[word] = UnitAttr()
        elif item.endswith("="):
            r.expect("=")
            attributes[word] = r.attribute()
        else:
            attributes[word] = _numbers(r, parameters)


def _in_parentheses(r: Reader) -> str:
    r.expect("(")
    word = r.keyword()
    r.expect(")")
    return word


def _braced(r: Reader, word: str) -> Attribute:
    """``{["names"]}``, ``{Interface}``, or attributes."""
    if word == "attributes":
        return dictionary(r.attr_dict())
    r.expect("{")
    found = r.attribute() if r.at("[") else StringAttr(r.keyword())
    r.expect("}")
    return found


def _numbers(r: Reader, parameters: list[Use]) -> Attribute:
    """``[4, %size]``, with the use of ``%size`` among the parameters."""

    def number() -> Attribute:
        if r.token[:1] != "%":
            return r.attribute()
        parameters.append(r.use())
        return IntegerAttr(DYNAMIC, I64)

    return ArrayAttr(tuple(r.listed("[", "]", number)))


def _print(w: Writer, o: Operation) -> None:
    """The operation by its layout."""
    head, tail = _parts(o.name)
    count = sum(item == "%" for item in head)
    several = {"%,", "()"} & {*head}
    listed = {item.strip(",=") for item in head if item[0] == ","}
    handles = list(o.operands if several else o.operands[:count])
    parameters, shown = list(o.operands[len(handles) :]), set[str]()
    for item in head:
        word = item.strip("?[]{}()=,")
        if item == "%":
            w.write(f" {w.name(handles.pop(0))}")
        elif item == "%,":
            w.write(f" {w.names(handles)}" if handles else "")
        elif item == "()":
            w.write(f" ({w.names(handles)})")
        elif item == "@":
            shown.add(_CALLEE)
            callee = o.attributes[_CALLEE]
            assert isinstance(callee, SymbolRefAttr)
            w.write(f" {print_symbol(callee.path[-1])}")
        elif item in ('""', "="):
            shown.add(name := _TEXT if item == '""' else _VALUE)
            w.write(f" {o.attributes[name]}")
        elif item == "failures":
            shown.add("failure_propagation")
            w.write(f" failures({o.string('failure_propagation')})")
        elif item in (word, ","):
            w.write("," if item == "," else f" {word}")
        elif (word or _LIST) in o.attributes:
            name = word or _LIST
            w.write("," if item[0] == "," and not shown.isdisjoint(listed) else "")
            shown.add(name)
            value = o.attributes[name]
            if "[]" in item and isinstance(value, ArrayAttr):
                text = _number_texts(w, value, parameters)
                w.write(f" {word} {text}" if word else f" {text}")
            else:
                w.write(_printed(item, name, value))
    w.attr_dict(o, shown)
    types = ", ".join(str(value.type) for value in o.operands[: _typed(o)])
    results = ", ".join(str(value.type) for value in o.results)
    if tail == ["->"]:
        w.write(f" : ({types}) -> {results if len(o.results) == 1 else f'({results})'}")
        return
    if tail[:1] == [":"] and o.operands:
        w.write(f" : {types}")
    if len(tail) == 2:
        w.write(f" {tail[1]} {results}")


def _typed(o: Operation) -> int:
    """How many operands have their type written."""
    return 1 if o.name == MERGE else len(o.operands)


def _number_texts(w: Writer, value: ArrayAttr, parameters: list[Value]) -> str:
    texts = (
        w.name(parameters.pop(0))
        if isinstance(one, IntegerAttr) and one.value == DYNAMIC
        else str(one)
        for one in value.values
    )
    return f"[{', '.join(texts)}]"


def _printed(item: str, name: str, value: Attribute) -> str:
    if item.startswith("?"):
        return f" {name}"
    if item.startswith("("):
        return f" ({name} = {value})"
    if item.endswith("{}"):
        if isinstance(value, DictAttr):
            return f" {name} {value}"
        text = value.value if isinstance(value, StringAttr) else str(value)
        return f" {name}{{{text}}}"
    return f" {name} = {value}"


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


def _parse_sequence(r: Reader, state: State) -> None:
    """``failures(propagate) { ^bb0(%handle: type): body }``."""
    r.expect("failures")
    state.attributes["failure_propagation"] = StringAttr(_in_parentheses(r))
    state.attributes |= r.attr_dict_with_keyword()
    state.regions = [r.region(terminator="transform.yield")]


def _print_sequence(w: Writer, o: Operation) -> None:
    w.write(f" failures({o.string('failure_propagation')})")
    w.attr_dict(o, {"failure_propagation"}, keyword=True)
    w.write(" ")
    w.region(o.regions[0], arguments=True)


def _parse_patterns(r: Reader, state: State) -> None:
    """``to %handle { patterns } : type``."""
    r.expect("to")
    use = r.use()
    state.regions = [r.region()]
    state.attributes |= r.attr_dict()
    r.expect(":")
    state.operands = [r.resolve(use, r.type())]


def _print_patterns(w: Writer, o: Operation) -> None:
    w.write(f" to {w.name(o.operands[0])} ")
    w.region(o.regions[0])
    w.attr_dict(o)
    w.write(f" : {o.operands[0].type}")


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


def _parse_each(r: Reader, state: State) -> None:
    """``%handles : types -> types { ^bb0(%one: type): body }``."""
    uses, start = r.uses(), r.start
    r.expect(":")
    state.operands = r.resolve_all(uses, r.types(), start)
    if r.accept("->"):
        state.result_types = r.types()
    state.regions = [r.region(terminator="transform.yield")]
    state.attributes |= r.attr_dict()


def _print_each(w: Writer, o: Operation) -> None:
    types = ", ".join(str(value.type) for value in o.operands)
    w.write(f" {w.names(o.operands)} : {types}")
    if o.results:
        w.write(" -> " + ", ".join(str(value.type) for value in o.results))
    w.write(" ")
    w.region(o.regions[0], arguments=True)
    w.attr_dict(o)


_FLAGS = ("restrict_root", "flatten_results")


def _parse_matches(r: Reader, state: State) -> None:
    """``in %root @matcher -> @action, .. : (types) -> types``."""
    for flag in _FLAGS:
        if r.accept(flag):
            state.attributes[flag] = UnitAttr()
    r.expect("in")
    uses, start = r.uses(), r.start

    def pair() -> tuple[Attribute, Attribute]:
        matcher = SymbolRefAttr(r.symbol_path())
        r.expect("->")
        return matcher, SymbolRefAttr(r.symbol_path())

    pairs = r.separated(pair)
    state.attributes["matchers"] = ArrayAttr(tuple(matcher for matcher, _ in pairs))
    state.attributes["actions"] = ArrayAttr(tuple(action for _, action in pairs))
    state.attributes |= r.attr_dict()
    r.expect(":")
    signature = r.function_type()
    state.operands = r.resolve_all(uses, signature.inputs, start)
    state.result_types = list(signature.results)


def _print_matches(w: Writer, o: Operation) -> None:
    shown = {"matchers", "actions", *_FLAGS}
    w.write("".join(f" {flag}" for flag in _FLAGS if flag in o.attributes))
    pairs = ", ".join(f"{one} -> {two}" for one, two in matches_of(o))
    w.write(f" in {w.names(o.operands)} {pairs}")
    w.attr_dict(o, shown)
    types = ", ".join(str(value.type) for value in o.operands)
    results = ", ".join(str(value.type) for value in o.results)
    w.write(f" : ({types}) -> {results if len(o.results) == 1 else f'({results})'}")


def matches_of(o: Operation) -> list[tuple[SymbolRefAttr, SymbolRefAttr]]:
    """The matchers of ``foreach_match`` and what runs for an operation that fits."""
    lists = (o.attributes["matchers"], o.attributes["actions"])
    matchers, actions = (one.values for one in lists if isinstance(one, ArrayAttr))
    return [
        (matcher, action)
        for matcher, action in zip(matchers, actions, strict=True)
        if isinstance(matcher, SymbolRefAttr) and isinstance(action, SymbolRefAttr)
    ]


def _signature(name: str) -> str:
    """Operands and results: those that the layout names, or any number."""
    head, tail = _parts(f"transform.{name}")
    operands = [f"handle{n}" for n in range(head.count("%"))]
    if any("[]" in item for item in head):
        operands.append("parameters*")
    if {"%,", "()"} & {*head}:
        operands = ["handles*"]
    has_results = tail == ["->"] or len(tail) == 2
    results = "results*" if has_results else ""
    results = "result" if f"transform.{name}" == MERGE else results
    return f"{' '.join(operands)} -> {results}"


def _attributes(name: str) -> dict[str, AttributeKind]:
    """The attributes that the layout names."""
    found: dict[str, AttributeKind] = {}
    for item in _parts(f"transform.{name}")[0]:
        word = item.strip("?[]{}()=")
        if item == "@":
            found[_CALLEE] = kinds.SYMBOL
        elif item == '""':
            found[_TEXT] = kinds.STRING
        elif item == "failures":
            found["failure_propagation"] = kinds.STRING
        elif item.startswith("?"):
            found[word] = kinds.UNIT
        elif item == "=":
            found[_VALUE] = kinds.ANY
        elif item == "[]":
            found[_LIST] = kinds.OPTIONAL
        elif item not in (word, "%", "%,", "()", ","):
            found[word] = kinds.OPTIONAL
    return found


OPERATIONS: tuple[Op, ...] = (
    *(
        op(
            f"transform.{name}",
            _signature(name),
            (_parse, _print),
            attributes=_attributes(name),
            traits=Trait.TERMINATOR if name == "yield" else Trait.NONE,
        )
        for name in LAYOUTS
    ),
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
        syntax=(_parse_sequence, _print_sequence),
        attributes={"failure_propagation": kinds.STRING},
        regions=1,
    ),
    op(
        "transform.apply_patterns",
        "handle",
        (_parse_patterns, _print_patterns),
        traits=Trait.NO_TERMINATOR,
        regions=1,
    ),
    *(
        op(f"transform.apply_patterns.{name}", syntax=(_parse_pattern, _print_pattern))
        for name in PATTERNS
    ),
    op(
        "transform.foreach",
        "handles* -> results*",
        (_parse_each, _print_each),
        regions=1,
    ),
    op(
        "transform.foreach_match",
        "roots* -> results*",
        (_parse_matches, _print_matches),
        attributes={
            "matchers": kinds.ARRAY,
            "actions": kinds.ARRAY,
            **dict.fromkeys(_FLAGS, kinds.UNIT),
        },
    ),
)
