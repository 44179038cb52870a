"""TOSA: table and custom forms of the operations that lower to linalg on tensors.

Most are written as ``tosa.op %a, %b {attributes} : (types) -> types``. The name sets
group operations by computation, for syntax and verifier rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.framework.declare import pure, terminator
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.framework.syntax import ParseOp, PrintOp, Reader, State, Use
from gpucodegen.dialects.shared.control_flow import parse_pair
from gpucodegen.dialects.stablehlo.syntax import (
    read_return,
    read_types,
    word,
    write_functional,
    write_return,
)
from gpucodegen.ir.attributes import Attribute, OpaqueAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.ir.types import I1, TensorType, Type

ELEMENTWISE = {
    "abs": "abs",
    "add": "add",
    "arithmetic_right_shift": "shift_right_arithmetic",
    "bitwise_and": "and",
    "bitwise_not": "not",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "cast": "convert",
    "ceil": "ceil",
    "clz": "count_leading_zeros",
    "cos": "cosine",
    "exp": "exponential",
    "floor": "floor",
    "identity": "optimization_barrier",
    "int_div": "divide",
    "intdiv": "divide",
    "log": "log",
    "logical_and": "and",
    "logical_left_shift": "shift_left",
    "logical_not": "not",
    "logical_or": "or",
    "logical_right_shift": "shift_right_logical",
    "logical_xor": "xor",
    "maximum": "maximum",
    "minimum": "minimum",
    "negate": "negate",
    "pow": "power",
    "rsqrt": "rsqrt",
    "select": "select",
    "sigmoid": "logistic",
    "sin": "sine",
    "sub": "subtract",
    "tanh": "tanh",
}
"""Elementwise operations, with StableHLO's name of the same computation."""
COMPARED = {"equal": "EQ", "greater": "GT", "greater_equal": "GE"}
OTHERS = (
    "argmax avg_pool2d clamp concat const const_shape conv2d conv3d"
    " depthwise_conv2d erf fully_connected gather matmul max_pool2d mul pad"
    " rescale resize scatter table transpose_conv2d"
    " reciprocal reduce_all reduce_any reduce_max reduce_min reduce_prod"
    " reduce_product reduce_sum reshape reverse slice tile transpose"
).split()
REFUSED = {
    "custom": "Write what it computes with other operations",
    "fft2d": "Compute it with NumPy and pass the result as an argument",
    "rfft2d": "Compute it with NumPy and pass the result as an argument",
    "variable": "Pass the state as an argument",
    "variable_read": "Pass the state as an argument",
    "variable_write": "Return the state",
}
"""Unsupported operations, with advice."""


def read_op(r: Reader, state: State) -> None:
    """``%a, %b {name = value, mode = WORD} : (types) -> types``."""
    uses = r.uses()
    if r.token == "{":
        state.attributes |= dict(r.listed("{", "}", lambda: _entry(r)))
    read_types(r, state, uses)


def _entry(r: Reader) -> tuple[str, Attribute]:
    name = r.keyword("an attribute name")
    if not r.accept("="):
        return name, UnitAttr()
    if r.token[:1].isupper():  # a word; a quoted one is a string
        return name, OpaqueAttr(f"#tosa<{name} {r.advance()}>")
    return name, r.attribute()


def chosen_word(op: Operation, name: str) -> str:
    """The word of an attribute, which may be a string.

    >>> from gpucodegen.ir.attributes import StringAttr
    >>> op = Operation("tosa.resize", attributes={"mode": StringAttr("BILINEAR")})
    >>> chosen_word(op, "mode"), chosen_word(op, "rounding_mode")
    ('BILINEAR', '')
    """
    return op.string(name) or word(op.attributes.get(name))


def read_cond_if(r: Reader, state: State) -> None:
    """``%c (%x = %a, ..) : tensor<i1> (types) -> types { .. } else { .. }``.

    Without arguments it is ``%c : tensor<i1> -> types``, or ``%c -> types``.
    """
    condition = r.use()
    pairs = _pairs(r) if r.token == "(" else []
    start = r.start
    ty: Type = TensorType((), I1)
    inputs: Sequence[Type] = ()
    if r.accept(":"):
        ty = r.type()
        inputs = r.listed("(", ")", r.type) if r.token == "(" else ()
    state.result_types = r.arrow_types()
    uses = [condition, *(given for _, given in pairs)]
    state.operands = r.resolve_all(uses, [ty, *inputs], start)
    state.attributes |= r.attr_dict_with_keyword()
    state.regions = [_region(r, pairs, inputs)]
    if r.accept("else"):
        state.regions.append(_region(r, pairs, inputs))


def read_while_loop(r: Reader, state: State) -> None:
    """``(%x = %a, ..) : (types) -> types { .. } do { .. }``."""
    pairs = _pairs(r)
    r.expect(":")
    start = r.start
    function = r.function_type()
    inputs = function.inputs
    state.operands = r.resolve_all([given for _, given in pairs], inputs, start)
    state.result_types = list(function.results)
    state.attributes |= r.attr_dict_with_keyword()
    state.regions = [_region(r, pairs, inputs)]
    r.one_of(("do",), "'do'")
    state.regions.append(_region(r, pairs, inputs))


def _pairs(r: Reader) -> list[tuple[Use, Use]]:
    return r.listed("(", ")", lambda: parse_pair(r))


def _region(
    r: Reader, pairs: Sequence[tuple[Use, Use]], types: Sequence[Type]
) -> Region:
    """A region of named arguments, unless its block names them again."""
    named = [r.argument(name, ty) for (name, _), ty in zip(pairs, types, strict=True)]
    return r.region(named, renamed=True)


def _op(
    name: str, read: ParseOp = read_op, write: PrintOp | None = write_functional
) -> Op:
    """A table entry; without ``write`` the operation is printed in generic form."""
    return pure(f"tosa.{name}", "operands* -> results*", (read, write), regions=None)


OPERATIONS = (
    *map(_op, (*ELEMENTWISE, *COMPARED, *OTHERS, *REFUSED)),
    _op("cond_if", read_cond_if, None),
    _op("while_loop", read_while_loop, None),
    terminator("tosa.yield", "operands*", (read_return, write_return)),
)
