"""Floating-point instructions, as formulas over their sources."""

from __future__ import annotations

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import Line, OperandText, Untranslatable
from gpucodegen.ptx.translation.rules.tables import ROUNDINGS, Rule, chosen, mods
from gpucodegen.ptx.types import DTYPES

FORMULAS = {
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
"""What NumPy computes in the type itself, rounded to nearest."""

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
"""What is computed in f64 and rounded once; the hardware's approximations are worse."""

FUSED = {
    "f16": "fma16({0}, {1}, {2})",
    "bf16": "fma32({0}, {1}, {2})",
    "f32": "fma32({0}, {1}, {2})",
    "f64": "fma64({0}, {1}, {2})",
    "f16x2": "{0} * {1} + {2}",
    "bf16x2": "fma32({0}, {1}, {2})",
}

CARRIERS = {
    "f16": ("{}", "{}"),
    "bf16": ("from_bf16({})", "to_bf16({})"),
    "f32": ("{}", "{}"),
    "f64": ("{}", "{}"),
    "f16x2": ("halves({})", "from_halves({})"),
    "bf16x2": ("bf16_halves({})", "from_bf16_halves({})"),
}
"""How each type becomes a type that NumPy computes with, and back."""


def floating(x: Instruction, o: OperandText) -> list[Line]:
    """An instruction of the tables."""
    given = mods(x, (*ROUNDINGS, "ftz", "sat", "NaN", "approx", "full"))
    kind = given[-1]
    rounding = chosen(given, ROUNDINGS, "rn")
    unwrap, wrap = CARRIERS[kind]
    sources = [unwrap.format(o.read(a, kind)) for a in x.operands[1:]]
    if x.opcode in ("fma", "mad") and rounding == "rn":
        value = FUSED[kind].format(*sources)
    elif x.opcode in WIDE or rounding != "rn":
        value = _wide(x.opcode, kind, sources, rounding)
    else:
        table = WITH_NAN if "NaN" in given else FORMULAS
        value = table[x.opcode].format(*sources)
    value = wrap.format(value)
    if "sat" in given:
        value = f"saturated({value})"
    if "ftz" in given and kind == "f32":
        value = f"flushed({value})"
    return [o.write(x.operands[0], value, kind)]


def _wide(opcode: str, kind: str, sources: list[str], rounding: str) -> str:
    """A result of f64 arithmetic, rounded once to a type."""
    if kind not in ("f16", "f32", "f64"):
        raise Untranslatable(f"{opcode} of {kind}")
    wide = [f"({source}).astype('f8')" for source in sources]
    if opcode in WIDE:
        text = WIDE[opcode].format(*wide)
    elif kind == "f64" or opcode not in ("add", "sub", "mul", "div", "fma"):
        raise Untranslatable(f"rounding {rounding}")
    else:
        text = "{0} * {1} + {2}" if opcode == "fma" else FORMULAS[opcode]
        text = text.format(*wide)
    return f"rounded({text}, {DTYPES[kind]!r}, {rounding!r})"


FLOAT_RULES: dict[str, Rule] = dict.fromkeys((*FORMULAS, *WIDE, "fma", "mad"), floating)
