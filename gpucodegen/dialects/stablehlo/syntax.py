"""Short forms of StableHLO's operations, as they are printed today.

Types end an operation: one type that all values have, or those of all operands and
results in the manner of a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.dialects.stablehlo.words import enumeration, word
from gpucodegen.ir.attributes import (
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I32, I64, ComplexType, TensorType, element_type

# -- types -----------------------------------------------------------------------------


def read_types(r: Reader, state: State, uses: Sequence[Use]) -> None:
    """``{attributes} : type``, or ``: (types) -> types``."""
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    if r.token == "(":
        function = r.function_type()
        state.operands = r.resolve_all(uses, function.inputs, start)
        state.result_types = list(function.results)
        return
    types = r.types()
    wanted = types * len(uses) if len(types) == 1 else types
    state.operands = r.resolve_all(uses, wanted, start)
    state.result_types = r.arrow_types() or (types if len(types) > 1 else types[:1])


def write_types(w: Writer, o: Operation, shown: Sequence[str] = ()) -> None:
    """One type if all values have it."""
    w.attr_dict(o, shown)
    inputs = [v.type for v in o.operands]
    results = [v.type for v in o.results]
    if len(results) == 1 and {*inputs, *results} == {results[0]}:
        w.write(f" : {results[0]}")
    else:
        _write_function(w, o)


def write_functional(w: Writer, o: Operation) -> None:
    """``%a, %b {attributes} : (types) -> types``."""
    w.write(f" {w.names(o.operands)}" if o.operands else "")
    w.attr_dict(o)
    _write_function(w, o)


def _write_function(w: Writer, o: Operation) -> None:
    inputs = [v.type for v in o.operands]
    results = [v.type for v in o.results]
    outputs = ", ".join(map(str, results))
    outputs = outputs if len(results) == 1 else f"({outputs})"
    w.write(f" : ({', '.join(map(str, inputs))}) -> {outputs}")


# -- elementwise -----------------------------------------------------------------------


def read_plain(r: Reader, state: State) -> None:
    """``%a, %b : type``."""
    read_types(r, state, r.uses())


def write_plain(w: Writer, o: Operation) -> None:
    """``%a, %b : type``."""
    w.write(f" {w.names(o.operands)}")
    write_types(w, o)


def read_return(r: Reader, state: State) -> None:
    """``%a, %b : type, type``."""
    uses = r.uses()
    state.attributes |= r.attr_dict()
    start = r.start
    state.operands = r.resolve_all(uses, r.types() if r.accept(":") else [], start)


def write_return(w: Writer, o: Operation) -> None:
    """``%a, %b : type, type``."""
    w.attr_dict(o)
    w.write(f" {w.typed_names(o.operands)}")


def read_chlo(r: Reader, state: State) -> None:
    """``%a : type -> type``."""
    read_types(r, state, r.uses())


def write_chlo(w: Writer, o: Operation) -> None:
    """``%a : type -> type``."""
    w.write(f" {w.names(o.operands)}")
    w.attr_dict(o)
    inputs = ", ".join(str(v.type) for v in o.operands)
    w.write(f" : {inputs} -> {o.result.type}")


def read_top_k(r: Reader, state: State) -> None:
    """``(%a, k = 3) : type -> (type, type)``."""
    r.expect("(")
    use = r.use()
    r.expect(",")
    r.one_of(("k",), "'k'")
    r.expect("=")
    state.attributes["k"] = IntegerAttr(r.integer(), I64)
    r.expect(")")
    read_types(r, state, [use])


def read_complex(r: Reader, state: State) -> None:
    """``%re, %im : type``, of the result or of all."""
    uses = r.uses()
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    function = r.function_type() if r.token == "(" else None
    made = function.results[0] if function is not None else r.type()
    element = element_type(made)
    part = element.element if isinstance(element, ComplexType) else element
    given = function.inputs if function else [with_element(made, part)] * len(uses)
    state.operands = r.resolve_all(uses, given, start)
    state.result_types = [made]


def read_reduce_precision(r: Reader, state: State) -> None:
    """``%a, format = e5m10 : type``."""
    use = r.use()
    r.expect(",")
    r.one_of(("format",), "'format'")
    r.expect("=")
    exponent, _, fraction = r.keyword("a format").removeprefix("e").partition("m")
    for name, bits in (("exponent_bits", exponent), ("mantissa_bits", fraction)):
        state.attributes[name] = IntegerAttr(int(bits), I32)
    read_types(r, state, [use])


def read_compare(r: Reader, state: State) -> None:
    """``LT, %a, %b, SIGNED : types``."""
    direction = enumeration("comparison_direction", r.keyword("a comparison"))
    state.attributes["comparison_direction"] = direction
    r.expect(",")
    uses = [r.use()]
    r.expect(",")
    uses.append(r.use())
    if r.accept(","):
        kind = enumeration("comparison_type", r.keyword("a kind of comparison"))
        state.attributes["compare_type"] = kind
    read_types(r, state, uses)


def write_compare(w: Writer, o: Operation) -> None:
    """``LT, %a, %b, SIGNED : types``."""
    direction = word(o.attributes.get("comparison_direction"))
    kind = word(o.attributes.get("compare_type"))
    w.write(f" {direction}, {w.names(o.operands)}{f', {kind}' if kind else ''}")
    write_types(w, o, ("comparison_direction", "compare_type"))


def read_select(r: Reader, state: State) -> None:
    """``%p, %a, %b : type of %p, type``."""
    uses = r.uses()
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    if r.token == "(":
        function = r.function_type()
        state.operands = r.resolve_all(uses, function.inputs, start)
        state.result_types = list(function.results)
        return
    types = r.types()
    predicate, value = types[0], types[-1]
    state.operands = r.resolve_all(uses, [predicate, value, value], start)
    state.result_types = [value]


# -- with lists ------------------------------------------------------------------------


def read_constant(r: Reader, state: State) -> None:
    """``dense<..> : type``."""
    state.attributes |= r.attr_dict()
    value = r.attribute()
    state.attributes["value"] = value
    if isinstance(value, DenseElementsAttr):
        state.result_types = [value.type]
    else:
        state.result_types = [getattr(value, "type", TensorType((), I64))]


def write_constant(w: Writer, o: Operation) -> None:
    """``dense<..> : type``."""
    w.attr_dict(o, ("value",))
    w.write(f" {o.attributes['value']}")


def with_lists(
    *names: tuple[str, str],
) -> Callable[[Reader, State], None]:
    """``%a, %b, word = [1, 2], .. : types``, each word with its attribute."""
    attributes = dict(names)

    def read(r: Reader, state: State) -> None:
        uses = [r.use()]
        while r.accept(","):
            if r.token[:1] == "%":
                uses.append(r.use())
                continue
            name = attributes[r.one_of(attributes, " or ".join(attributes))]
            r.expect("=")
            numbers = r.listed("[", "]", r.integer) if r.token == "[" else [r.integer()]
            state.attributes[name] = DenseArrayAttr(I64, tuple(numbers))
        read_types(r, state, uses)

    return read


def read_slice(r: Reader, state: State) -> None:
    """``%a [1:3, 0:4:2] : types``."""
    use = r.use()
    ranges = r.listed("[", "]", lambda: _range(r))
    columns = list(zip(*ranges, strict=True)) or [(), (), ()]
    for name, numbers in zip(("start", "limit", "stride"), columns, strict=True):
        key = "strides" if name == "stride" else f"{name}_indices"
        state.attributes[key] = DenseArrayAttr(I64, tuple(numbers))
    read_types(r, state, [use])


def _range(r: Reader) -> tuple[int, int, int]:
    start = r.integer()
    r.expect(":")
    limit = r.integer()
    return start, limit, r.integer() if r.accept(":") else 1


def read_iota(r: Reader, state: State) -> None:
    """``dim = 0 : type``."""
    r.one_of(("dim",), "'dim'")
    r.expect("=")
    state.attributes["iota_dimension"] = DenseArrayAttr(I64, (r.integer(),))
    read_types(r, state, [])


# -- products --------------------------------------------------------------------------

_SIDES = {
    "batching_dims": ("lhs_batching_dimensions", "rhs_batching_dimensions"),
    "contracting_dims": ("lhs_contracting_dimensions", "rhs_contracting_dimensions"),
}


def read_dot(r: Reader, state: State) -> None:
    """``%a, %b, contracting_dims = [1] x [0], precision = [..] : types``."""
    from gpucodegen.ir.attributes import OpaqueAttr

    uses = [r.use()]
    r.expect(",")
    uses.append(r.use())
    lists: dict[str, list[int]] = {}
    while r.accept(","):
        name = r.one_of((*_SIDES, "precision"), "a list of dimensions")
        r.expect("=")
        if name == "precision":
            words = r.listed("[", "]", r.keyword)
            kinds = tuple(enumeration("precision", w) for w in words)
            state.attributes["precision_config"] = ArrayAttr(kinds)
            continue
        for side in _SIDES[name]:
            lists[side] = r.listed("[", "]", r.integer)
            if side == _SIDES[name][0]:
                r.one_of(("x",), "'x'")
    if state.name == "stablehlo.dot_general":
        text = ", ".join(f"{name} = {numbers}" for name, numbers in lists.items())
        state.attributes["dot_dimension_numbers"] = OpaqueAttr(
            f"#stablehlo.dot<{text}>"
        )
    read_types(r, state, uses)
