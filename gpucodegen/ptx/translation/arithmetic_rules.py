"""Translation of arithmetic: integer, bit, comparison, selection, float instructions.

Tables map opcodes to `Formula` entries over the sources; functions handle the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gpucodegen.ptx.entries import Instruction
from gpucodegen.ptx.integers import SELECTORS
from gpucodegen.ptx.translation.operands import (
    COMBINATIONS,
    ROUNDINGS,
    Line,
    OperandText,
    Rule,
    Untranslatable,
    chosen,
    mods,
)
from gpucodegen.ptx.types import DTYPES, FLOATS, dtype

FLOAT_FORMULAS = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "abs": "np.abs({0})",
    "min": "minimum({0}, {1})",
    "max": "maximum({0}, {1})",
    "copysign": "np.copysign({1}, {0})",
}
"""Operations that NumPy computes in the type itself, rounded to nearest."""

_ODD = {
    "add": "odd_sum({0}, {1})",
    "sub": "odd_sum({0}, -{1})",
    "fma": "odd_sum({0} * {1}, {2})",
}
"""Sums in f64 that are rounded once more; products of narrower types are exact."""

_FLOAT_MODIFIERS = "ftz sat NaN approx full relu xorsign abs noftz".split()

WITH_NAN = {"min": "minimum_nan({0}, {1})", "max": "maximum_nan({0}, {1})"}

WIDE = {
    "sqrt": "np.sqrt({0})",
    "rcp": "1 / {0}",
    "rsqrt": "1 / np.sqrt({0})",
    "ex2": "np.exp2({0})",
    "lg2": "np.log2({0})",
    "sin": "np.sin({0})",
    "cos": "np.cos({0})",
    "tanh": "np.tanh({0})",
}
"""Operations in f64 that are rounded once; approximations of the hardware are less
accurate.
"""

FUSED = {
    "f16": "fma16({0}, {1}, {2})",
    "bf16": "fma_bf16({0}, {1}, {2})",
    "f32": "fma32({0}, {1}, {2})",
    "f64": "fma64({0}, {1}, {2})",
    "f16x2": "fma16({0}, {1}, {2})",
    "bf16x2": "fma_bf16({0}, {1}, {2})",
    "f32x2": "fma32({0}, {1}, {2})",
}

CARRIERS = {
    "f16": ("{}", "{}"),
    "bf16": ("from_bf16({})", "to_bf16({})"),
    "f32": ("{}", "{}"),
    "f64": ("{}", "{}"),
    "f16x2": ("halves({})", "from_halves({})"),
    "bf16x2": ("bf16_halves({})", "from_bf16_halves({})"),
    "f32x2": ("singles({})", "from_singles({})"),
}
"""Conversions of each type to a type that NumPy computes with, and back."""


DIRECTED = {
    "add": "directed_sum({0}, {1}, {2!r})",
    "sub": "directed_sum({0}, -{1}, {2!r})",
    "mul": "directed_product({0}, {1}, {2!r})",
    "div": "directed_quotient({0}, {1}, {2!r})",
    "rcp": "directed_quotient(np.float64(1), {0}, {1!r})",
    "sqrt": "directed_root({0}, {1!r})",
    "fma": "directed_fma({0}, {1}, {2}, {3!r})",
}
"""f64 rounded in a direction."""


def floating(x: Instruction, o: OperandText) -> list[Line]:
    """A floating-point instruction of the tables.

    ``add.f32.f16 d, a, c`` and its like widen all operands but the last one first.
    """
    given = mods(x, (*ROUNDINGS, *_FLOAT_MODIFIERS))
    kinds = [modifier for modifier in given if modifier in CARRIERS]
    kind, narrow = kinds[0], kinds[1:]
    rounding = chosen(given, ROUNDINGS, "rn")
    unwrap, wrap = CARRIERS[kind]
    sources = [unwrap.format(o.read(a, kind)) for a in x.operands[1:]]
    if narrow:
        if x.opcode not in _ODD or kind != "f32" or narrow[0] not in ("f16", "bf16"):
            raise Untranslatable(f"types {kinds}")
        widen = f"({CARRIERS[narrow[0]][0]}).astype('f4')"
        first = [widen.format(o.read(a, narrow[0])) for a in x.operands[1:-1]]
        sources = [*first, sources[-1]]
    if x.opcode in ("fma", "mad") and rounding == "rn":
        value = FUSED[kind].format(*sources)
    elif x.opcode in WIDE or rounding != "rn":
        value = _wide(x.opcode, kind, sources, rounding)
    elif x.opcode in WITH_NAN:
        value = _extreme(x.opcode, given, sources)
    else:
        value = FLOAT_FORMULAS[x.opcode].format(*sources)
    if "relu" in given:
        value = f"positive({value})"
    value = wrap.format(value)
    if "sat" in given:
        value = f"saturated({value})"
    if "ftz" in given and kind == "f32":
        value = f"flushed({value})"
    return [o.write(x.operands[0], value, kind)]


def _extreme(opcode: str, given: list[str], sources: list[str]) -> str:
    """The minimum or maximum of two or three numbers, or of their magnitudes."""
    form = (WITH_NAN if "NaN" in given else FLOAT_FORMULAS)[opcode]
    used = [f"np.abs({s})" for s in sources] if "abs" in given else sources
    value = used[0]
    for other in used[1:]:
        value = form.format(value, other)
    if "xorsign" in given:
        signs = " ^ ".join(f"np.signbit({source})" for source in sources)
        value = f"np.copysign({value}, select({signs}, -1.0, 1.0))"
        value = f"({value}).astype(({sources[0]}).dtype)"
    return value


def _wide(opcode: str, kind: str, sources: list[str], rounding: str) -> str:
    """A result of f64 arithmetic, rounded once to a type."""
    if kind == "f64" and rounding != "rn":
        if opcode not in DIRECTED:
            raise Untranslatable(f"rounding {rounding}")
        return DIRECTED[opcode].format(*sources, rounding)
    wide = [f"({source}).astype('f8')" for source in sources]
    if opcode in WIDE:
        text = WIDE[opcode].format(*wide)
        if kind not in ("f16", "f32", "f64"):  # its carrier rounds
            return text
    elif opcode not in ("add", "sub", "mul", "div", "fma"):
        raise Untranslatable(f"rounding {rounding}")
    else:
        text = _ODD.get(opcode, FLOAT_FORMULAS.get(opcode, "")).format(*wide)
    if kind == "f32x2":
        return f"rounded({text}, 'f4', {rounding!r})"
    return f"rounded({text}, {DTYPES[kind]!r}, {rounding!r})"


FLOAT_RULES: dict[str, Rule] = dict.fromkeys(
    (*FLOAT_FORMULAS, *WIDE, "fma", "mad"), floating
)


COMPARISONS = {
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "lo": "{0} < {1}",
    "ls": "{0} <= {1}",
    "hi": "{0} > {1}",
    "hs": "{0} >= {1}",
}
FLOAT_COMPARISONS = COMPARISONS | {
    "ne": "({0} < {1}) | ({0} > {1})",
    "equ": "~(({0} < {1}) | ({0} > {1}))",
    "neu": "~({0} == {1})",
    "ltu": "~({0} >= {1})",
    "leu": "~({0} > {1})",
    "gtu": "~({0} <= {1})",
    "geu": "~({0} < {1})",
    "nan": "np.isnan({0}) | np.isnan({1})",
    "num": "~(np.isnan({0}) | np.isnan({1}))",
}
"""Unordered forms are the opposite of an ordered one, and so true for NaN."""


TESTS = {
    "finite": "np.isfinite({0})",
    "infinite": "np.isinf({0})",
    "number": "~np.isnan({0})",
    "notanumber": "np.isnan({0})",
    "normal": "np.isfinite({0}) & (np.abs({0}) >= np.finfo({0}.dtype).tiny)",
    "subnormal": "(np.abs({0}) < np.finfo({0}.dtype).tiny) & ({0} != 0)",
}


def _compared(x: Instruction, o: OperandText) -> tuple[list[Line], str]:
    """A comparison, left in ``c_``, and its combination with another predicate."""
    given = mods(x, (*FLOAT_COMPARISONS, *COMBINATIONS, "ftz"))
    kind = given[-1]
    unwrap = CARRIERS[kind][0] if kind in CARRIERS else "{}"
    sources = [unwrap.format(o.read(a, kind)) for a in x.operands[1:3]]
    table = FLOAT_COMPARISONS if kind in CARRIERS else COMPARISONS
    sign = COMBINATIONS.get(chosen(given[1:], COMBINATIONS))
    other = f" {sign} {o.predicate(x.operands[3])}" if sign else ""
    return [f"c_ = {table[given[0]].format(*sources)}"], other


def setp(x: Instruction, o: OperandText) -> list[Line]:
    """``setp``: a comparison into a predicate, and its negation into a second one.

    Comparisons of packed halves set one predicate for each half.
    """
    lines, other = _compared(x, o)
    halves = x.modifiers[-1].endswith("x2")
    values = ("c_[..., 0]", "c_[..., 1]") if halves else ("c_", "~c_")
    for target, value in zip(x.operands[0].split("|"), values, strict=False):
        lines.append(o.write(target.strip(), f"{value}{other}", "pred"))
    return lines


def set_word(x: Instruction, o: OperandText) -> list[Line]:
    """``set``: a comparison into a word: all ones, or 1.0, where it holds."""
    to = x.modifiers[-2]
    plain = replace(x, modifiers=(*x.modifiers[:-2], x.modifiers[-1]))
    lines, other = _compared(plain, o)
    held, lost = ("-1", "0") if to not in FLOATS else ("0f3F800000", "0f00000000")
    yes, no = (o.read(text, to) for text in (held, lost))
    value = f"select(c_{other}, {yes}, {no})"
    return [*lines, o.write(x.operands[0], value, to)]


def testp(x: Instruction, o: OperandText) -> list[Line]:
    """``testp``: the class of a float."""
    what, kind = mods(x, TESTS)
    value = TESTS[what].format(o.read(x.operands[1], kind))
    return [o.write(x.operands[0], value, "pred")]


def slct(x: Instruction, o: OperandText) -> list[Line]:
    """``slct``: one of two values, by the sign of a third."""
    kind, sign = mods(x, ("ftz",))[-2:]
    yes, no = (o.read(a, kind) for a in x.operands[1:3])
    value = f"select({o.read(x.operands[3], sign)} >= 0, {yes}, {no})"
    return [o.write(x.operands[0], value, kind)]


def selp(x: Instruction, o: OperandText) -> list[Line]:
    """``selp``: one of two values, by a predicate."""
    kind = mods(x)[-1]
    yes, no = (o.read(a, kind) for a in x.operands[1:3])
    value = f"select({o.predicate(x.operands[3])}, {yes}, {no})"
    return [o.write(x.operands[0], value, kind)]


COMPARISON_RULES: dict[str, Rule] = {
    "setp": setp,
    "set": set_word,
    "selp": selp,
    "slct": slct,
    "testp": testp,
}


class Formula(NamedTuple):
    """An expression of the sources, with the types of result and sources.

    Types are ``t`` (the instruction's), ``u`` (unsigned of its width), ``w`` (twice its
    width) or PTX types.
    """

    text: str
    sources: str = "t t t t"
    result: str = "t"


INTEGER_FORMULAS: dict[str, Formula] = {
    "add": Formula("{0} + {1}"),
    "sub": Formula("{0} - {1}"),
    "mul": Formula("{0} * {1}"),
    "mul.lo": Formula("{0} * {1}"),
    "mul.hi": Formula("high_product({0}, {1})"),
    "mul.wide": Formula("{0}.astype({w}) * {1}.astype({w})", result="w"),
    "mad.lo": Formula("{0} * {1} + {2}"),
    "mad.hi": Formula("high_product({0}, {1}) + {2}"),
    "mad.wide": Formula("{0}.astype({w}) * {1}.astype({w}) + {2}", "t t w", "w"),
    "div": Formula("quotient({0}, {1})"),
    "rem": Formula("remainder({0}, {1})"),
    "min": Formula("np.minimum({0}, {1})"),
    "max": Formula("np.maximum({0}, {1})"),
    "neg": Formula("-{0}"),
    "abs": Formula("np.abs({0})"),
    "and": Formula("{0} & {1}"),
    "or": Formula("{0} | {1}"),
    "xor": Formula("{0} ^ {1}"),
    "not": Formula("~{0}"),
    "cnot": Formula("({0} == 0).astype({t})"),
    "sad": Formula("np.maximum({0}, {1}) - np.minimum({0}, {1}) + {2}"),
    "shl": Formula("left_shift({0}, {1})", "t u32"),
    "shr": Formula("right_shift({0}, {1})", "t u32"),
    "shf.l.wrap": Formula("funnel({0}, {1}, {2} & 31, True)", "u32 u32 u32", "u32"),
    "shf.r.wrap": Formula("funnel({0}, {1}, {2} & 31, False)", "u32 u32 u32", "u32"),
    "shf.l.clamp": Formula(
        "funnel({0}, {1}, np.minimum({2}, 32), True)", "u32 u32 u32", "u32"
    ),
    "shf.r.clamp": Formula(
        "funnel({0}, {1}, np.minimum({2}, 32), False)", "u32 u32 u32", "u32"
    ),
    "bfe": Formula("bit_field({0}, {1}, {2})", "t u32 u32"),
    "bfi": Formula("bit_insert({0}, {1}, {2}, {3})", "t t u32 u32"),
    "prmt": Formula("permute({0}, {1}, {2})"),
    "popc": Formula("ones({0})", "u", "s32"),
    "clz": Formula("leading_zeros({0})", "u", "s32"),
    "brev": Formula("reversed_bits({0})"),
    "bfind": Formula("highest_bit({0}, False)", result="s32"),
    "bfind.shiftamt": Formula("highest_bit({0}, True)", result="s32"),
    "szext.wrap": Formula("extended({0}, {1}, True)", "t u32"),
    "szext.clamp": Formula("extended({0}, {1}, False)", "t u32"),
    "bmsk.wrap": Formula("bit_mask({0}, {1}, True)", "u32 u32", "u32"),
    "bmsk.clamp": Formula("bit_mask({0}, {1}, False)", "u32 u32", "u32"),
    "fns": Formula("nth_bit({0}, {1}, {2})", "u32 u32 s32", "s32"),
    "add.sat": Formula("clamped({0}.astype('i8') + {1}, {t})"),
    "sub.sat": Formula("clamped({0}.astype('i8') - {1}, {t})"),
    "mad.hi.sat": Formula(
        "clamped(high_product({0}, {1}).astype('i8') + {2}, {t})",
    ),
    "min.relu": Formula("np.maximum(np.minimum({0}, {1}), 0)"),
    "max.relu": Formula("np.maximum(np.maximum({0}, {1}), 0)"),
    "mul24.lo": Formula("product24({0}, {1}, 0)"),
    "mul24.hi": Formula("product24({0}, {1}, 16)"),
    "mad24.lo": Formula("product24({0}, {1}, 0) + {2}"),
    "mad24.hi": Formula("product24({0}, {1}, 16) + {2}"),
    "mad24.hi.sat": Formula(
        "clamped(product24({0}, {1}, 16).astype('i8') + {2}, {t})",
    ),
} | {
    f"prmt.{mode}": Formula(f"permute_by({{0}}, {{1}}, {{2}}, {mode!r})")
    for mode in SELECTORS
}
"""Opcode and the modifiers that choose a form -> formula."""

_INTEGER_MODIFIERS = tuple(
    {word for key in INTEGER_FORMULAS for word in key.split(".")[1:]}
)

PACKED = {"add": "np.add", "min": "np.minimum", "max": "np.maximum"}
"""Operations on two halves of 16 bits at once."""


def resolved(letter: str, kind: str) -> str:
    """The PTX type that a type letter of a formula stands for."""
    bits = kind.lstrip("bsu")
    match letter:
        case "t":
            return kind
        case "u":
            return f"u{bits}"
        case "w":
            return f"{kind[0]}{2 * int(bits)}"
        case _:
            return letter


def integer(x: Instruction, o: OperandText) -> list[Line]:
    """An integer or bit instruction of the table."""
    given = mods(x, _INTEGER_MODIFIERS)
    kind = next((m for m in given[::-1] if m in DTYPES), "b32")
    if kind.endswith("x2"):
        return _packed(x, o, kind, "relu" in given)
    kind = f"u{kind[1:]}" if x.opcode == "shr" and kind[0] == "b" else kind
    key = ".".join([x.opcode, *[m for m in given if m in _INTEGER_MODIFIERS]])
    if key not in INTEGER_FORMULAS:
        raise Untranslatable("no such form")
    formula = INTEGER_FORMULAS[key]
    letters = formula.sources.split()
    sources = [
        o.read(operand, resolved(letter, kind))
        for operand, letter in zip(x.operands[1:], letters, strict=False)
    ]
    names = {"t": _quoted(kind)}
    if "{w}" in formula.text:
        names["w"] = _quoted(resolved("w", kind))
    value = formula.text.format(*sources, **names)
    return [o.write(x.operands[0], value, resolved(formula.result, kind))]


def _packed(x: Instruction, o: OperandText, kind: str, relu: bool) -> list[Line]:
    narrow = {"s16x2": "i2", "u16x2": "u2"}[kind]
    a, b = (o.read(operand, kind) for operand in x.operands[1:])
    value = f"lanewise({PACKED[x.opcode]}, {narrow!r}, {a}, {b})"
    if relu:
        value = f"lanewise(np.maximum, {narrow!r}, {value}, np.int32(0))"
    return [o.write(x.operands[0], value, kind)]


def _quoted(kind: str) -> str:
    name = dtype(kind).str[1:] if kind != "pred" else "?"
    return repr(name)


def lop3(x: Instruction, o: OperandText) -> list[Line]:
    """``lop3``: any bitwise function of three words; ``.or``: whether a bit is set."""
    a, b, c = (o.read(operand, "b32") for operand in x.operands[1:4])
    target, _, flag = x.operands[0].partition("|")
    value = f"lookup({a}, {b}, {c}, {int(x.operands[4], 0)})"
    lines: list[Line] = [f"t_ = {value}", o.write(target.strip(), "t_", "b32")]
    if flag:
        sign = COMBINATIONS[chosen(x.modifiers, COMBINATIONS)]
        result = f"(t_ != 0) {sign} {o.predicate(x.operands[5])}"
        lines.append(o.write(flag.strip(), result, "pred"))
    return lines


def dot(x: Instruction, o: OperandText) -> list[Line]:
    """``dp4a``, ``dp2a``: sums of products of bytes, or of halves and bytes.

    Unsigned if both operands are.
    """
    left, right = (m for m in x.modifiers if m not in ("lo", "hi"))
    kind = "u32" if left == right == "u32" else "s32"
    kinds = left, right, kind
    sources = ", ".join(
        o.read(s, t) for s, t in zip(x.operands[1:], kinds, strict=True)
    )
    value = f"byte_products({sources})"
    if x.opcode == "dp2a":
        first = {"lo": 0, "hi": 2}[chosen(x.modifiers, ("lo", "hi"))]
        value = f"half_products({sources}, {first})"
    return [o.write(x.operands[0], value, kind)]


def carried(x: Instruction, o: OperandText) -> list[Line]:
    """Additions with carry in and out: words of longer numbers."""
    given = mods(x, ("cc", "lo", "hi"))
    kind = resolved("u", given[-1])
    o.entry.registers.single.setdefault("%carry", "pred")
    sources = [o.read(operand, kind) for operand in x.operands[1:]]
    if x.opcode.startswith("mad"):
        part = chosen(given, ("lo", "hi"))
        product = "{0} * {1}" if part == "lo" else "high_product({0}, {1})"
        sources = [product.format(*sources), sources[2]]
    carry = o.read("%carry", "pred") if x.opcode.endswith("c") else "np.False_"
    function = "sub_borrow" if x.opcode.startswith("sub") else "add_carry"
    lines: list[Line] = [f"t_ = {function}({', '.join(sources)}, {carry})"]
    lines.append(o.write(x.operands[0], "t_[0]", kind))
    if "cc" in given:
        lines.append(o.write("%carry", "t_[1]", "pred"))
    return lines


def _plain_or_carried(x: Instruction, o: OperandText) -> list[Line]:
    return carried(x, o) if "cc" in x.modifiers else integer(x, o)


INTEGER_RULES: dict[str, Rule] = (
    {name.partition(".")[0]: integer for name in INTEGER_FORMULAS}
    | {
        "lop3": lop3,
        "dp4a": dot,
        "dp2a": dot,
        "addc": carried,
        "subc": carried,
        "madc": carried,
    }
    | dict.fromkeys(("add", "sub", "mad"), _plain_or_carried)
)


def is_float(x: Instruction) -> bool:
    """Whether an instruction computes with floats."""
    return bool(x.modifiers) and (
        x.modifiers[-1] in FLOATS or x.modifiers[-1] in ("f16x2", "bf16x2", "f32x2")
    )
