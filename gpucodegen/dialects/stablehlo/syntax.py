"""Parsers and printers of StableHLO's custom forms as they are printed today.

Types end an operation: one type that all values have, or a function type of all
operands and results. Words and lists inside attributes are kept as their text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Use, Writer
from gpucodegen.dialects.shared.control_flow import parse_pair
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import I1, I32, I64, ComplexType, TensorType, element_type

_WORD = re.compile(r"(\w+)\s*>$")


def word(attribute: Attribute | None) -> str:
    """The word of an enumeration attribute.

    >>> word(enumeration("comparison_direction", "LT"))
    'LT'
    """
    match = _WORD.search(str(attribute))
    return match[1] if match else ""


def enumeration(kind: str, name: str) -> OpaqueAttr:
    """``#stablehlo<kind NAME>``."""
    return OpaqueAttr(f"#stablehlo<{kind} {name}>")


def listed(attribute: Attribute | None, name: str) -> tuple[int, ...]:
    """A list ``name = [1, 2]`` inside an attribute; empty where it is left out.

    >>> listed(OpaqueAttr("#stablehlo.dot<lhs_contracting_dimensions = [1, 2]>"),
    ...     "lhs_contracting_dimensions")
    (1, 2)
    """
    match = re.search(rf"\b{name}\s*=\s*\[([^\]]*)\]", str(attribute))
    return tuple(int(n) for n in match[1].split(",") if n.strip()) if match else ()


def numbered(attribute: Attribute | None, name: str, otherwise: int = 0) -> int:
    """A number ``name = 1`` inside an attribute.

    >>> numbered(OpaqueAttr("#stablehlo.gather<index_vector_dim = 1>"),
    ...     "index_vector_dim")
    1
    """
    match = re.search(rf"\b{name}\s*=\s*(-?\d+)", str(attribute))
    return int(match[1]) if match else otherwise


def layouts(attribute: Attribute | None) -> list[list[str]]:
    """The dimensions of image, kernel and result of a convolution.

    >>> layouts(OpaqueAttr("#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"))
    [['b', '0', 'f'], ['0', 'i', 'o'], ['b', '0', 'f']]
    """
    lists = re.findall(r"\[([^\]]*)\]", str(attribute))
    return [[part.strip() for part in text.split(",")] for text in lists]


# -- types -----------------------------------------------------------------------------


def _function_type(r: Reader, state: State, uses: Sequence[Use]) -> int | None:
    """Read attributes and a function type; else return where the types start."""
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    if r.token != "(":
        return start
    function = r.function_type()
    state.operands = r.resolve_all(uses, function.inputs, start)
    state.result_types = list(function.results)
    return None


def read_types(r: Reader, state: State, uses: Sequence[Use]) -> None:
    """``{attributes} : type``, or ``: (types) -> types``."""
    start = _function_type(r, state, uses)
    if start is None:
        return
    types = r.types()
    wanted = types * len(uses) if len(types) == 1 else types
    state.operands = r.resolve_all(uses, wanted, start)
    state.result_types = r.arrow_types() or (types if len(types) > 1 else types[:1])


def write_types(w: Writer, o: Operation, shown: Sequence[str] = ()) -> None:
    """Print one type if all values have it, else a function type."""
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
    start = _function_type(r, state, uses)
    if start is None:
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


def read_fft(r: Reader, state: State) -> None:
    """``%a, type = FFT, length = [16] : types``."""
    use = r.use()
    while r.accept(","):
        name = r.one_of(("type", "length"), "'type' or 'length'")
        r.expect("=")
        if name == "type":
            kind = r.keyword("a kind of transform")
            state.attributes["fft_type"] = enumeration("fft_type", kind)
        else:
            lengths = r.listed("[", "]", r.integer)
            state.attributes["fft_length"] = DenseArrayAttr(I64, tuple(lengths))
    read_types(r, state, [use])


def read_cholesky(r: Reader, state: State) -> None:
    """``%a, lower = true : types``."""
    use = r.use()
    if r.accept(","):
        r.one_of(("lower",), "'lower'")
        r.expect("=")
        word = r.one_of(("true", "false"), "'true' or 'false'")
        state.attributes["lower"] = IntegerAttr(int(word == "true"), I1)
    read_types(r, state, [use])


def read_custom_call(r: Reader, state: State) -> None:
    """``@name(%a, %b) {attributes} : (types) -> types``."""
    state.attributes["call_target_name"] = StringAttr(r.symbol_name())
    read_types(r, state, r.listed("(", ")", r.use))


def read_composite(r: Reader, state: State) -> None:
    """``"name" %a, %b {attributes} : (types) -> types``."""
    state.attributes["name"] = StringAttr(r.string())
    read_types(r, state, r.uses())


# -- products --------------------------------------------------------------------------

_SIDES = {
    "batching_dims": ("lhs_batching_dimensions", "rhs_batching_dimensions"),
    "contracting_dims": ("lhs_contracting_dimensions", "rhs_contracting_dimensions"),
}


def read_dot(r: Reader, state: State) -> None:
    """``%a, %b, contracting_dims = [1] x [0], precision = [..] : types``."""
    uses = [r.use()]
    r.expect(",")
    uses.append(r.use())
    lists: dict[str, list[int]] = {}
    while r.accept(","):
        known = (*_SIDES, "precision", "algorithm")
        name = r.one_of(known, "a list of dimensions")
        r.expect("=")
        if name == "algorithm":
            entries = ", ".join(r.listed("<", ">", lambda: _entry(r)))
            text = f"#stablehlo.dot_algorithm<{entries}>"
            state.attributes["algorithm"] = OpaqueAttr(text)
            continue
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


def _entry(r: Reader) -> str:
    """``name = word`` or ``name = 1``."""
    name = r.keyword("a field")
    r.expect("=")
    digits = r.token[:1].isdigit()
    return f"{name} = {r.integer() if digits else r.keyword('a value')}"


# -- reduce ----------------------------------------------------------------------------


def read_reduce(r: Reader, state: State) -> None:
    """``(%a init: %z), .. applies op across dimensions = [1] : types``.

    Without ``applies``, ``reducer(%x: type, %y: type) .. { .. }`` follows the types.
    """
    pairs = [_reduced(r)]
    while r.accept(","):
        pairs.append(_reduced(r))
    applied = r.keyword("an operation") if r.accept("applies") else ""
    if applied == "stablehlo":
        r.expect(".")
        applied = f"{applied}.{r.keyword('an operation')}"
    r.one_of(("across",), "'across'")
    r.one_of(("dimensions",), "'dimensions'")
    r.expect("=")
    dimensions = DenseArrayAttr(I64, tuple(r.listed("[", "]", r.integer)))
    state.attributes["dimensions"] = dimensions
    read_types(r, state, [*(a for a, _ in pairs), *(z for _, z in pairs)])
    if applied:
        starts = state.operands[len(pairs) :]
        state.regions = [single_block(*_body(r, applied, starts[0]))]
        return
    r.one_of(("reducer",), "'reducer'")
    couples = [r.listed("(", ")", lambda: _argument(r)) for _ in pairs]
    arguments = [couple[side] for side in (0, 1) for couple in couples]
    state.regions = [r.region(arguments)]


def _reduced(r: Reader) -> tuple[Use, Use]:
    r.expect("(")
    operand = r.use()
    r.one_of(("init",), "'init'")
    r.expect(":")
    start = r.use()
    r.expect(")")
    return operand, start


def _argument(r: Reader) -> Argument:
    use = r.use()
    r.expect(":")
    return r.argument(use, r.type())


def _body(
    r: Reader, applied: str, start: Value
) -> tuple[list[Operation], tuple[Value, Value]]:
    location = r.location()
    x, y, result = (Value(start.type, name, location) for name in ("x", "y", ""))
    combined = Operation(applied, (x, y), (result,), location=location)
    returned = Operation("stablehlo.return", (result,), location=location)
    return [combined, returned], (x, y)


# -- while -----------------------------------------------------------------------------


def read_while(r: Reader, state: State) -> None:
    """``(%x = %init, ..) : types cond { .. } do { .. }``."""
    pairs = r.listed("(", ")", lambda: parse_pair(r))
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    types = r.types() if pairs else []
    state.operands = r.resolve_all([init for _, init in pairs], types, start)
    state.result_types = list(types)
    state.attributes |= r.attr_dict_with_keyword()
    for word in ("cond", "do"):
        r.one_of((word,), f"'{word}'")
        names = [r.argument(n, t) for (n, _), t in zip(pairs, types, strict=True)]
        state.regions.append(r.region(names))


# -- convolution -----------------------------------------------------------------------

_WINDOW = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


def read_convolution(r: Reader, state: State) -> None:
    """``(%a, %k) dim_numbers = .., window = {..} {..} : types``."""
    uses = r.listed("(", ")", r.use)
    r.one_of(("dim_numbers",), "'dim_numbers'")
    r.expect("=")
    parts = [_layout(r)]
    r.one_of(("x",), "'x'")
    parts.append(_layout(r))
    r.expect("->")
    parts.append(_layout(r))
    image, kernel, result = parts
    numbers = OpaqueAttr(f"#stablehlo.conv<{image}x{kernel}->{result}>")
    state.attributes["dimension_numbers"] = numbers
    r.expect(",")
    r.one_of(("window",), "'window'")
    r.expect("=")
    for name, value in r.listed("{", "}", lambda: _window(r)):
        state.attributes[name] = value
    read_types(r, state, uses)


def _layout(r: Reader) -> str:
    return f"[{', '.join(r.listed('[', ']', r.advance))}]"


def _window(r: Reader) -> tuple[str, Attribute]:
    word = r.one_of(_WINDOW, "a part of a window")
    r.expect("=")
    if word == "pad":
        pairs = r.listed("[", "]", lambda: r.listed("[", "]", r.integer))
        flat = tuple(n for pair in pairs for n in pair)
        ty = TensorType((len(pairs), 2), I64)
        stored = flat[:1] if len(set(flat)) == 1 else flat
        return _WINDOW[word], DenseElementsAttr(stored, ty, I64)
    if word == "reverse":
        words = r.listed("[", "]", lambda: r.one_of(("true", "false"), "true or false"))
        flags = tuple(int(w == "true") for w in words)
        return _WINDOW[word], DenseArrayAttr(I1, flags)
    return _WINDOW[word], DenseArrayAttr(I64, tuple(r.listed("[", "]", r.integer)))


def modern_lists(state: State) -> None:
    """Convert lists that generic text of 2023 holds as dense elements to arrays."""
    for name, value in state.attributes.items():
        is_list = isinstance(value, DenseElementsAttr) and name != "value"
        ty = value.type if isinstance(value, DenseElementsAttr) else None
        if is_list and isinstance(ty, TensorType) and len(ty.shape) == 1:
            assert isinstance(value, DenseElementsAttr)
            numbers = (
                value.values * (ty.shape[0] or 0) if value.is_splat else value.values
            )
            entries = tuple(int(str(n)) for n in numbers)
            state.attributes[name] = DenseArrayAttr(I64, entries)
        elif isinstance(value, IntegerAttr) and name in _DIMENSIONS:
            state.attributes[name] = DenseArrayAttr(I64, (value.value,))


_DIMENSIONS = frozenset({"iota_dimension", "dimension"})
"""Single numbers that are stored as lists of one."""
