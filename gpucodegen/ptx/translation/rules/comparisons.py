"""Comparisons and selections."""

from __future__ import annotations

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import Line, OperandText
from gpucodegen.ptx.translation.rules.tables import Rule, chosen, mods
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
COMBINATIONS = {"and": "&", "or": "|", "xor": "^"}


def setp(x: Instruction, o: OperandText) -> list[Line]:
    """A comparison into a predicate, and its opposite into a second one."""
    given = mods(x, (*FLOAT_COMPARISONS, *COMBINATIONS, "ftz"))
    kind = given[-1]
    sources = [o.read(a, kind) for a in x.operands[1:3]]
    if kind == "bf16":
        sources = [f"from_bf16({source})" for source in sources]
    table = FLOAT_COMPARISONS if kind in FLOATS else COMPARISONS
    lines: list[Line] = [f"c_ = {table[given[0]].format(*sources)}"]
    sign = COMBINATIONS.get(chosen(given[1:], COMBINATIONS))
    other = f" {sign} {o.predicate(x.operands[3])}" if sign else ""
    targets = x.operands[0].split("|")
    for target, value in zip(targets, ("c_", "~c_"), strict=False):
        lines.append(o.write(target.strip(), f"{value}{other}", "pred"))
    return lines


def selp(x: Instruction, o: OperandText) -> list[Line]:
    """One of two values."""
    kind = mods(x)[-1]
    yes, no = (o.read(a, kind) for a in x.operands[1:3])
    value = f"select({o.predicate(x.operands[3])}, {yes}, {no})"
    return [o.write(x.operands[0], value, kind)]


COMPARISON_RULES: dict[str, Rule] = {"setp": setp, "selp": selp}
