"""Integer and bit instructions, as formulas over their sources."""

from __future__ import annotations

from typing import NamedTuple

from gpucodegen.ptx.numerics.bits import SELECTORS
from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.rules.tables import (
    COMBINATIONS,
    Rule,
    chosen,
    mods,
)
from gpucodegen.ptx.types import DTYPES, FLOATS, dtype


class Formula(NamedTuple):
    """A result of its sources, with the types of both.

    Types are ``t`` (the instruction's), ``u`` (unsigned of its width), ``w`` (twice its
    width) or PTX types.
    """

    text: str
    sources: str = "t t t t"
    result: str = "t"


FORMULAS: dict[str, Formula] = {
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

_FORMS = tuple({word for key in FORMULAS for word in key.split(".")[1:]})

PACKED = {"add": "np.add", "min": "np.minimum", "max": "np.maximum"}
"""What is done to two halves of 16 bits at once."""


def resolved(letter: str, kind: str) -> str:
    """The PTX type that a letter of a formula stands for."""
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
    """An instruction of the table."""
    given = mods(x, _FORMS)
    kind = next((m for m in given[::-1] if m in DTYPES), "b32")
    if kind.endswith("x2"):
        return _packed(x, o, kind, "relu" in given)
    kind = f"u{kind[1:]}" if x.opcode == "shr" and kind[0] == "b" else kind
    key = ".".join([x.opcode, *[m for m in given if m in _FORMS]])
    if key not in FORMULAS:
        raise Untranslatable("no such form")
    formula = FORMULAS[key]
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
    """Any function of three words, bit by bit; with ``.or``, whether a bit is set."""
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
    """A sum of products of bytes, or of halves and bytes; unsigned if both are."""
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
    """Sums that take and leave a carry: words of longer numbers."""
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
    {name.partition(".")[0]: integer for name in FORMULAS}
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
