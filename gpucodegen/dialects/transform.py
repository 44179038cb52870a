"""The transform dialect: MLIR's language for schedules, as far as schedules have steps.

Each operation has a line of layout, by which it is read and printed::

    %          an operand            word[]     ``word [numbers]``, where it stands
    word       the word itself       word=      ``word = attribute``, where it stands
    word{}     ``word{attribute}``   (word=)    ``(word = attribute)``
    []         ``[numbers]``         ?word      the word as a flag, where it stands
    @          a symbol              ""         a string
    ->         a functional type     :          the operands' types
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
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    print_symbol,
)
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.ir.types import Type

SEQUENCE, NAMED_SEQUENCE = "transform.sequence", "transform.named_sequence"
_LIST, _CALLEE, _TEXT = "sizes", "callee", "text"
"""Names of the attributes that the text leaves without one."""

LAYOUTS: dict[str, str] = {
    "annotate": '% "" :',
    "apply_cse": "to % :",
    "apply_dce": "to % :",
    "apply_licm": "to % :",
    "cast": "% ->",
    "get_parent_op": "% ->",
    "include": "@ failures () ->",
    "loop.peel": "% ->",
    "loop.pipeline": "% ->",
    "loop.unroll": "% :",
    "loop.unroll_and_jam": "% :",
    "merge_handles": "%, :",
    "print": "% :",
    "split_handle": "% ->",
    "structured.fuse_into_containing_op": "% into % ->",
    "structured.generalize": "% ->",
    "structured.interchange": "% iterator_interchange= ->",
    "structured.match": "ops{} interface{} attributes{} in % ->",
    "structured.tile_using_for": "% tile_sizes[] [] interchange= ->",
    "structured.tile_using_forall": "% num_threads[] tile_sizes[] (mapping=) ->",
    "structured.vectorize": "% vector_sizes[] :",
    "structured.vectorize_children_and_apply_patterns": "% ->",
    "gpu.map_forall_to_blocks": "% ?generate_gpu_launch grid_dims= ->",
    "gpu.map_nested_forall_to_threads": (
        "% block_dims= sync_after_distribute= warp_size= ->"
    ),
    "yield": "",
}
"""The layouts of operations, without the dialect's name."""
_ITEM = re.compile(r"->|:|%,?|@|\"\"|\[\]|\(\)|\(\w+=\)|\?\w+|\w+\[\]|\w+=|\w+\{\}|\w+")


def _items(name: str) -> list[str]:
    return _ITEM.findall(LAYOUTS[name.partition(".")[2]])


def _parse(r: Reader, state: State) -> None:
    uses: list[Use] = []
    items = _items(state.name)
    for item in (one for one in items if one not in ("->", ":")):
        _parse_item(r, state, item, uses)
    state.attributes |= r.attr_dict()
    start = r.start
    types: list[Type] = []
    if "->" in items:
        r.expect(":")
        signature = r.function_type()
        types, state.result_types = list(signature.inputs), list(signature.results)
    elif ":" in items and r.accept(":"):
        types = r.types()
        if state.name.endswith("merge_handles"):
            state.result_types, types = types[:1], types[:1] * len(uses)
    if types or not uses:
        state.operands = r.resolve_all(uses, types, start)
    else:
        state.operands = [r.resolve(use) for use in uses]


def _parse_item(r: Reader, state: State, item: str, uses: list[Use]) -> None:
    """One element of a layout."""
    word = item.strip("?[]{}()=")
    attributes = state.attributes
    if item == "%":
        uses.append(r.use())
    elif item in ("%,", "()"):
        if item == "()":
            uses += r.listed("(", ")", r.use)
        else:
            uses += r.separated(r.use)
    elif item == "@":
        attributes[_CALLEE] = SymbolRefAttr(r.symbol_path())
    elif item == '""':
        attributes[_TEXT] = StringAttr(r.string())
    elif item == "[]":
        if r.at("["):
            attributes[_LIST] = _numbers(r)
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
        if r.at(word):
            r.advance()
            attributes[word] = _braced(r)
    elif item == word:
        r.expect(word)
    elif r.accept(word):
        if item.startswith("?"):
            attributes[word] = UnitAttr()
        elif item.endswith("="):
            r.expect("=")
            attributes[word] = r.attribute()
        else:
            attributes[word] = _numbers(r)


def _in_parentheses(r: Reader) -> str:
    r.expect("(")
    word = r.keyword()
    r.expect(")")
    return word


def _braced(r: Reader) -> Attribute:
    r.expect("{")
    found = r.attribute()
    r.expect("}")
    return found


def _numbers(r: Reader) -> Attribute:
    """``[4, 8]``."""
    return ArrayAttr(tuple(r.listed("[", "]", r.attribute)))


def _print(w: Writer, o: Operation) -> None:
    """The operation by its layout."""
    items = _items(o.name)
    operands, shown = list(o.operands), set[str]()
    for item in items:
        word = item.strip("?[]{}()=")
        if item == "%":
            w.write(f" {w.name(operands.pop(0))}")
        elif item == "%,":
            w.write(f" {w.names(operands)}")
        elif item == "()":
            w.write(f" ({w.names(operands)})")
        elif item == "@":
            shown.add(_CALLEE)
            callee = o.attributes[_CALLEE]
            assert isinstance(callee, SymbolRefAttr)
            w.write(f" {print_symbol(callee.path[-1])}")
        elif item == '""':
            shown.add(_TEXT)
            w.write(f" {o.attributes[_TEXT]}")
        elif item == "failures":
            shown.add("failure_propagation")
            w.write(f" failures({o.string('failure_propagation')})")
        elif item == word and item not in ("->", ":"):
            w.write(f" {word}")
        elif (word or _LIST) in o.attributes:
            name = word or _LIST
            shown.add(name)
            w.write(_printed(item, name, o.attributes[name]))
    w.attr_dict(o, shown)
    if "->" in items:
        types = ", ".join(str(value.type) for value in o.operands)
        results = ", ".join(str(value.type) for value in o.results)
        several = len(o.results) != 1
        w.write(f" : ({types}) -> {f'({results})' if several else results}")
    elif ":" in items and o.operands:
        count = 1 if o.name.endswith("merge_handles") else len(o.operands)
        types = ", ".join(str(value.type) for value in o.operands[:count])
        w.write(f" : {types}")


def _printed(item: str, name: str, value: Attribute) -> str:
    if item.startswith("?"):
        return f" {name}"
    if item.startswith("("):
        return f" ({name} = {value})"
    if item.endswith("{}"):
        return f" {name}{{{value}}}"
    if item.endswith("="):
        return f" {name} = {value}"
    return f" {value}" if item == "[]" else f" {name} {value}"


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


PATTERNS = (
    *("canonicalization", "linalg.tiling_canonicalization"),
    *("memref.fold_memref_alias_ops", "scf.for_loop_canonicalization"),
    *("tensor.reassociative_reshape_folding", "vector.lower_contraction"),
    *("vector.lower_transfer", "vector.lower_transpose"),
)
"""Sets of patterns of ``apply_patterns`` that simplify only."""


def _signature(name: str) -> str:
    """Operands and results: those that the layout names, or any number."""
    items = _items(f"transform.{name}")
    several = {"%,", "()"} & {*items} or name == "yield"
    operands = [f"handle{n}" for n in range(items.count("%"))]
    results = "results*" if "->" in items else ""
    results = "result" if name == "merge_handles" else results
    return f"{'handles*' if several else ' '.join(operands)} -> {results}"


def _attributes(name: str) -> dict[str, AttributeKind]:
    """The attributes that the layout names."""
    found: dict[str, AttributeKind] = {}
    for item in _items(f"transform.{name}"):
        word = item.strip("?[]{}()=")
        if item == "@":
            found[_CALLEE] = kinds.SYMBOL
        elif item == '""':
            found[_TEXT] = kinds.STRING
        elif item == "failures":
            found["failure_propagation"] = kinds.STRING
        elif item.startswith("?"):
            found[word] = kinds.UNIT
        elif item == "[]" or (item != word and word):
            found[word or _LIST] = kinds.OPTIONAL
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
    *(op(f"transform.apply_patterns.{name}") for name in PATTERNS),
)
