"""Emits arith, math and complex operations on scalars.

Operators are printed where Python's mean the same as MLIR's; Numba computes integers in
64 bits, so narrower results are cast back. All others are intrinsics of the same name,
which take scalars and vectors alike.
"""

from __future__ import annotations

from gpucodegen.dialects import arith, math
from gpucodegen.emit.context import (
    Emitter,
    Handler,
    shape_of,
    vector_constant,
    vector_dtype,
)
from gpucodegen.emit.expressions import Precedence, Text, binary, call
from gpucodegen.emit.spelling import CONSTRUCTORS
from gpucodegen.emit.tables import comparisons
from gpucodegen.errors import UnsupportedType
from gpucodegen.ir.affine import Const
from gpucodegen.ir.attributes import DenseElementsAttr, FloatAttr, IntegerAttr
from gpucodegen.ir.number_formats import NARROW, SMALL
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import ComplexType, MemRefType, Type, VectorType
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Operator:
    """A Python operator and its precedence."""

    symbol: str
    level: Precedence


ADD, SUBTRACT = Operator("+", Precedence.SUM), Operator("-", Precedence.SUM)
MULTIPLY, DIVIDE = Operator("*", Precedence.PRODUCT), Operator("/", Precedence.PRODUCT)
AND, OR = Operator("&", Precedence.BIT_AND), Operator("|", Precedence.BIT_OR)
XOR = Operator("^", Precedence.BIT_XOR)
LEFT, RIGHT = Operator("<<", Precedence.SHIFT), Operator(">>", Precedence.SHIFT)

INTEGER_OPERATORS = {
    "arith.addi": ADD,
    "arith.subi": SUBTRACT,
    "arith.muli": MULTIPLY,
    "arith.andi": AND,
    "arith.ori": OR,
    "arith.xori": XOR,
    "arith.shli": LEFT,
    "arith.shrsi": RIGHT,
}

SHIFTS = frozenset({"arith.shli", "arith.shrsi"})
"""Shifts print as operators for small constants only: Python refuses large ones."""
OVERFLOWING = frozenset({"arith.addi", "arith.subi", "arith.muli"})
"""Operators whose results may leave the type of their operands."""

BOOLEAN_OPERATORS = {
    "arith.addi": XOR,
    "arith.subi": XOR,
    "arith.muli": AND,
    "arith.andi": AND,
    "arith.ori": OR,
    "arith.xori": XOR,
}
"""i1 arithmetic modulo 2."""

FLOAT_OPERATORS = {
    "arith.addf": ADD,
    "arith.subf": SUBTRACT,
    "arith.mulf": MULTIPLY,
    "arith.divf": DIVIDE,
}

INTRINSICS = frozenset(
    "arith.divsi arith.divui arith.remsi arith.remui arith.floordivsi arith.ceildivsi "
    "arith.ceildivui arith.shrui arith.minsi arith.maxsi arith.minui arith.maxui "
    "arith.remf arith.maximumf arith.minimumf arith.maxnumf arith.minnumf "
    "arith.maximumnumf arith.minimumnumf math.absi math.ctlz math.cttz math.ctpop "
    "math.ipowi math.fpowi".split()
).union(*map(math.names, (math.INSTRUCTIONS, math.POLYNOMIALS, math.LIBRARY)))
EXACT = frozenset(
    "arith.maximumf arith.minimumf arith.maxnumf arith.minnumf "
    "arith.maximumnumf arith.minimumnumf arith.select math.absf".split()
)
"""Operations whose result needs no rounding in the operands' type."""
EXACT_IN_HALVES = EXACT | frozenset(
    "arith.negf math.copysign math.floor math.ceil math.trunc math.round "
    "math.roundeven".split()
)
"""The same for 16 bits; some smaller types lack a sign, a zero or the next integer."""


def kind_of(e: Emitter, op: Operation, value: Value) -> str:
    """The dtype name of a scalar value, or of a vector's elements."""
    if isinstance(value.type, VectorType):
        return vector_dtype(e, op, value.type)
    return e.dtype(op, value)


def rounded(e: Emitter, text: Text, kind: str) -> Text:
    """The result of an operation converted back to its type."""
    if kind in NARROW:
        return call(e.make(f"round_{kind}", "round_to", kind), text)
    if kind == "index":
        is_wrapped = kind in e.spelling.wrapped
        return call("int", call(e.use("int64"), text)) if is_wrapped else e.narrow(text)
    if kind in e.spelling.wrapped:
        return call(e.use(CONSTRUCTORS[kind]), text)
    return text


def require_nearest(e: Emitter, op: Operation) -> None:
    """Refuse rounding modes other than to nearest, ties to even."""
    mode = op.attributes.get("roundingmode")
    if isinstance(mode, IntegerAttr) and mode.value:
        raise e.refusal(op, "Leave out the rounding mode; ties go to even")


def operator(e: Emitter, op: Operation) -> None:
    """Binary arithmetic: an operator for scalars, an intrinsic for vectors."""
    require_nearest(e, op)
    kind = kind_of(e, op, op.result)
    is_small = kind != "i1" and 0 <= e.literals.get(op.operands[1], -1) < 8
    shifts = op.name in SHIFTS and not is_small
    overflows = op.name in OVERFLOWING and kind in e.spelling.overflowing
    if isinstance(op.result.type, VectorType) or shifts or overflows:
        intrinsic(e, op)
        return
    table = BOOLEAN_OPERATORS if kind == "i1" else INTEGER_OPERATORS | FLOAT_OPERATORS
    found = table.get(op.name)
    if found is None:
        raise UnsupportedType(op.location, type=op.result.type, target=e.spelling.name)
    lhs, rhs = (e.text(value) for value in op.operands)
    text = binary(lhs, found.symbol, rhs, found.level)
    e.define(op.result, rounded(e, text, kind))


APPROXIMATED = frozenset({"math.exp", "math.exp2"})
"""Functions with a fast form, for operations that permit approximations (``afn``)."""


def intrinsic(e: Emitter, op: Operation) -> None:
    is_fast = op.name in APPROXIMATED and arith.permits(op, "afn")
    name = e.use(op.name.partition(".")[2] + "_approximate" * is_fast)
    text = call(name, *(e.typed(value) for value in op.operands))
    e.define(op.result, _within_type(e, op, text))


def _within_type(e: Emitter, op: Operation, text: Text) -> Text:
    """A result of narrow floats, rounded if the operation may leave their type.

    An index is an ``int`` on the host, whose buffers add it to addresses.
    """
    kind = kind_of(e, op, op.result)
    if kind == "index" and kind in e.spelling.wrapped:
        return call("int", text)
    exact = EXACT if kind in SMALL else EXACT_IN_HALVES
    return rounded(e, text, kind) if kind in NARROW and op.name not in exact else text


def fused(e: Emitter, op: Operation) -> None:
    kind = kind_of(e, op, op.result)
    if kind not in NARROW:
        intrinsic(e, op)
        return
    made = e.make(f"fused_{kind}", "fused", kind)
    e.define(op.result, call(made, *(e.typed(value) for value in op.operands)))


def negation(e: Emitter, op: Operation) -> None:
    (operand,) = op.operands
    if isinstance(operand.type, VectorType):
        intrinsic(e, op)
        return
    text = Text(f"-{e.text(operand).within(Precedence.UNARY)}", Precedence.UNARY)
    e.define(op.result, _within_type(e, op, text))


def constant(e: Emitter, op: Operation) -> None:
    """A constant is printed at its uses; a vector constant is created once."""
    value = op.attributes["value"]
    if isinstance(value, DenseElementsAttr) and isinstance(op.result.type, VectorType):
        e.texts[op.result] = vector_constant(e, op, value)
        return
    number = arith.constant_value(op)
    if number is None:
        raise UnsupportedType(op.location, type=op.result.type, target=e.spelling.name)
    kind = e.dtype(op, op.result)
    e.literals[op.result] = number
    if kind == "index":
        e.indices[op.result] = Const(int(number))
    else:
        e.texts[op.result] = e.constant(number, kind)


def select(e: Emitter, op: Operation) -> None:
    """``arith.select`` without a branch."""
    condition, *values = op.operands
    if isinstance(op.result.type, MemRefType):
        true, false = (e.text(value) for value in values)
        e.define(op.result, Text(f"{true} if {e.text(condition)} else {false}"))
        return
    arguments = [e.text(condition), *(e.typed(value) for value in values)]
    e.define(op.result, _within_type(e, op, call(e.use("select"), *arguments)))


def clamp(e: Emitter, op: Operation) -> None:
    """``math.clampf``: a NaN stays."""
    value, low, high = (e.typed(v) for v in op.operands)
    inner = call(e.use("maximumf"), value, low)
    e.define(op.result, call(e.use("minimumf"), inner, high))


def sine_and_cosine(e: Emitter, op: Operation) -> None:
    """``math.sincos``."""
    (operand,) = op.operands
    kind = kind_of(e, op, operand)
    for result, name in zip(op.results, ("sin", "cos"), strict=True):
        e.define(result, rounded(e, call(e.use(name), e.text(operand)), kind))


def add_with_carry(e: Emitter, op: Operation) -> None:
    """``arith.addui_extended``: the carry is set if the sum wrapped around."""
    lhs, rhs = (e.typed(value) for value in op.operands)
    total, carry = op.results
    e.define(total, call(e.use("addi"), lhs, rhs))
    below = e.make("cmpi_ult", "cmpi", "ult")
    e.define(carry, call(below, e.text(total), lhs))


def subtract_with_borrow(e: Emitter, op: Operation) -> None:
    """``arith.subui_extended``: the borrow is set if the second is larger."""
    lhs, rhs = (e.typed(value) for value in op.operands)
    difference, borrow = op.results
    below = e.make("cmpi_ult", "cmpi", "ult")
    e.define(borrow, call(below, lhs, rhs))
    e.define(difference, call(e.use("subi"), lhs, rhs))


def wide_product(e: Emitter, op: Operation) -> None:
    """``arith.mulsi_extended`` and ``arith.mului_extended``: low and high half."""
    lhs, rhs = (e.typed(value) for value in op.operands)
    low, high = op.results
    half = e.use(f"{op.name.partition('.')[2].removesuffix('_extended')}_high")
    e.define(low, call(e.use("muli"), lhs, rhs))
    e.define(high, call(half, lhs, rhs))


SCALAR_HANDLERS: dict[str, Handler] = (
    dict.fromkeys(INTEGER_OPERATORS | FLOAT_OPERATORS, operator)
    | dict.fromkeys(INTRINSICS, intrinsic)
    | comparisons.HANDLERS
    | {
        "arith.constant": constant,
        "arith.negf": negation,
        "math.fma": fused,
        "arith.select": select,
        "arith.addui_extended": add_with_carry,
        "arith.subui_extended": subtract_with_borrow,
        "arith.mulsi_extended": wide_product,
        "arith.mului_extended": wide_product,
        "math.clampf": clamp,
        "math.sincos": sine_and_cosine,
    }
)


CASTS_BY_NAME = frozenset(
    "arith.index_cast arith.extsi arith.trunci arith.sitofp arith.extf "
    "arith.truncf".split()
)
"""Casts that are calls of the result type's constructor."""
OTHER_CASTS = frozenset(
    "arith.extui arith.uitofp arith.fptosi arith.fptoui arith.bitcast "
    "arith.index_castui arith.convertf".split()
)
SCALE = "f8E8M0FNU"
"""The type of scales, powers of two, to which other scales are rounded."""


def cast(e: Emitter, op: Operation) -> None:
    """A conversion by the result type's constructor, or by an intrinsic."""
    require_nearest(e, op)
    (operand,) = op.operands
    before, after = kind_of(e, op, operand), kind_of(e, op, op.result)
    if before in NARROW and after == "f32" and op.name == "arith.extf":
        e.define(op.result, e.text(operand))
        return
    if op.name == "arith.bitcast" and {before, after} & NARROW:
        e.define(op.result, _reinterpreted(e, e.typed(operand), before, after))
        return
    plain = op.name in CASTS_BY_NAME and not (
        shape_of(operand.type) or "i1" in {before, after} or after in NARROW
    )
    if plain:
        name = CONSTRUCTORS[e.spelling.index_dtype if after == "index" else after]
        e.define(op.result, call(e.use(name), e.text(operand)))
        return
    e.define(op.result, _made(e, op.name.partition(".")[2], e.typed(operand), after))


def _made(e: Emitter, method: str, text: Text, after: str) -> Text:
    """A call of the intrinsic that converts."""
    kind = e.spelling.index_dtype if after == "index" else after
    return call(e.make(f"{method}_{kind}", "cast", method, kind), text)


def _reinterpreted(e: Emitter, text: Text, before: str, after: str) -> Text:
    """``arith.bitcast`` from or to a narrow float, which is not carried as its bits."""
    if before in NARROW:
        text = call(e.make(f"bits_of_{before}", "bits_of", before), text)
    if after in NARROW:
        text = call(e.make(f"from_bits_{after}", "from_bits", after), text)
    return text


def scale(e: Emitter, op: Operation) -> None:
    """``arith.scaling_extf``: multiply by the scale in the result's type.

    ``arith.scaling_truncf``: divide by the scale in the operand's type, then round.
    """
    require_nearest(e, op)
    operand, factor = op.operands
    before, after = kind_of(e, op, operand), kind_of(e, op, op.result)
    if shape_of(op.result.type):
        raise e.refusal(op, "Scale element by element")
    power = e.text(factor)
    if kind_of(e, op, factor) != SCALE:
        power = _made(e, "truncf", e.typed(factor), SCALE)
    extends = op.name == "arith.scaling_extf"
    kind, symbol = (after, "*") if extends else (before, "/")
    make = e.use(CONSTRUCTORS[kind])
    number, power = (rounded(e, call(make, x), kind) for x in (e.text(operand), power))
    text = rounded(e, binary(number, symbol, power, Precedence.PRODUCT), kind)
    e.define(op.result, text if extends else _made(e, "truncf", text, after))


CAST_HANDLERS: dict[str, Handler] = dict.fromkeys(CASTS_BY_NAME | OTHER_CASTS, cast) | {
    "arith.scaling_extf": scale,
    "arith.scaling_truncf": scale,
}


OPERATORS = {
    "complex.add": ("+", Precedence.SUM),
    "complex.sub": ("-", Precedence.SUM),
    "complex.mul": ("*", Precedence.PRODUCT),
    "complex.eq": ("==", Precedence.COMPARE),
    "complex.neq": ("!=", Precedence.COMPARE),
}
COMPLEX_INTRINSICS = {
    "complex.create": "cmplx",
    "complex.re": "creal",
    "complex.im": "cimag",
    "complex.abs": "cabs",
    "complex.angle": "carg",
    "complex.conj": "conj",
    "complex.sign": "csign",
    "complex.div": "cdiv",
    "complex.pow": "cpow",
    "complex.powi": "cpowi",
    "complex.atan2": "catan2",
    "complex.exp": "cexp",
    "complex.expm1": "cexpm1",
    "complex.log": "clog",
    "complex.log1p": "clog1p",
    "complex.sqrt": "csqrt",
    "complex.rsqrt": "crsqrt",
    "complex.sin": "csin",
    "complex.cos": "ccos",
    "complex.tan": "ctan",
    "complex.tanh": "ctanh",
}


def _check(e: Emitter, op: Operation) -> None:
    """Refuse part types that NumPy's complex numbers lack."""
    for value in (*op.operands, *op.results):
        e.dtype(op, value)


def complex_operator(e: Emitter, op: Operation) -> None:
    _check(e, op)
    symbol, level = OPERATORS[op.name]
    lhs, rhs = (e.text(value) for value in op.operands)
    e.define(op.result, binary(lhs, symbol, rhs, level))


def complex_negation(e: Emitter, op: Operation) -> None:
    _check(e, op)
    operand = e.text(op.operands[0]).within(Precedence.UNARY)
    e.define(op.result, Text(f"-{operand}", Precedence.UNARY))


def complex_intrinsic(e: Emitter, op: Operation) -> None:
    _check(e, op)
    name = e.use(COMPLEX_INTRINSICS[op.name])
    e.define(op.result, call(name, *(e.typed(value) for value in op.operands)))


def complex_constant(e: Emitter, op: Operation) -> None:
    """``complex.constant`` is printed at its uses."""
    _check(e, op)
    parts = op.entries("value")
    kind = str(_part(op.result.type))
    numbers = [e.constant(p.value, kind) for p in parts if isinstance(p, FloatAttr)]
    e.texts[op.result] = call(e.use("cmplx"), *numbers)


def _part(ty: Type) -> Type:
    return ty.element if isinstance(ty, ComplexType) else ty


def complex_cast(e: Emitter, op: Operation) -> None:
    """``complex.bitcast`` to the same type; others are not supported."""
    (operand,) = op.operands
    if operand.type != op.result.type:
        raise UnsupportedType(op.location, type=op.result.type, target=e.spelling.name)
    e.alias(op.result, operand)


COMPLEX_HANDLERS: dict[str, Handler] = (
    dict.fromkeys(OPERATORS, complex_operator)
    | dict.fromkeys(COMPLEX_INTRINSICS, complex_intrinsic)
    | {
        "complex.neg": complex_negation,
        "complex.constant": complex_constant,
        "complex.bitcast": complex_cast,
    }
)
