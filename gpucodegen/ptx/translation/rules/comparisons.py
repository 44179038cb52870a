"""Comparisons and selections."""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import Line, OperandText
from gpucodegen.ptx.translation.rules.floats import CARRIERS
from gpucodegen.ptx.translation.rules.tables import (
    COMBINATIONS,
    Rule,
    chosen,
    mods,
)
from gpucodegen.ptx.types import FLOATS

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
    """A comparison left in ``c_``, and what combines it with another predicate."""
    given = mods(x, (*FLOAT_COMPARISONS, *COMBINATIONS, "ftz"))
    kind = given[-1]
    unwrap = CARRIERS[kind][0] if kind in CARRIERS else "{}"
    sources = [unwrap.format(o.read(a, kind)) for a in x.operands[1:3]]
    table = FLOAT_COMPARISONS if kind in CARRIERS else COMPARISONS
    sign = COMBINATIONS.get(chosen(given[1:], COMBINATIONS))
    other = f" {sign} {o.predicate(x.operands[3])}" if sign else ""
    return [f"c_ = {table[given[0]].format(*sources)}"], other


def setp(x: Instruction, o: OperandText) -> list[Line]:
    """A comparison into a predicate, and its opposite into a second one.

    Comparisons of packed halves leave one predicate for each half.
    """
    lines, other = _compared(x, o)
    halves = x.modifiers[-1].endswith("x2")
    values = ("c_[..., 0]", "c_[..., 1]") if halves else ("c_", "~c_")
    for target, value in zip(x.operands[0].split("|"), values, strict=False):
        lines.append(o.write(target.strip(), f"{value}{other}", "pred"))
    return lines


def set_word(x: Instruction, o: OperandText) -> list[Line]:
    """A comparison into a word: all ones, or 1.0, where it holds."""
    to = x.modifiers[-2]
    plain = replace(x, modifiers=(*x.modifiers[:-2], x.modifiers[-1]))
    lines, other = _compared(plain, o)
    held, lost = ("-1", "0") if to not in FLOATS else ("0f3F800000", "0f00000000")
    yes, no = (o.read(text, to) for text in (held, lost))
    value = f"select(c_{other}, {yes}, {no})"
    return [*lines, o.write(x.operands[0], value, to)]


def testp(x: Instruction, o: OperandText) -> list[Line]:
    """Which kind of number a float is."""
    what, kind = mods(x, TESTS)
    value = TESTS[what].format(o.read(x.operands[1], kind))
    return [o.write(x.operands[0], value, "pred")]


def slct(x: Instruction, o: OperandText) -> list[Line]:
    """One of two values, by the sign of a third."""
    kind, sign = mods(x, ("ftz",))[-2:]
    yes, no = (o.read(a, kind) for a in x.operands[1:3])
    value = f"select({o.read(x.operands[3], sign)} >= 0, {yes}, {no})"
    return [o.write(x.operands[0], value, kind)]


def selp(x: Instruction, o: OperandText) -> list[Line]:
    """One of two values."""
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
