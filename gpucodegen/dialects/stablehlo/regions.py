"""Short forms of StableHLO's operations with regions, and of convolutions."""

from __future__ import annotations

from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Use
from gpucodegen.dialects.stablehlo.syntax import read_types
from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import I1, I64, TensorType

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
    pairs = r.listed("(", ")", lambda: _pair(r))
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


def _pair(r: Reader) -> tuple[Use, Use]:
    name = r.use()
    r.expect("=")
    return name, r.use()


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
    """Lists that generic text of 2023 holds as dense elements become arrays."""
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
"""Single numbers that are kept as lists of one."""
