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

_ODD = {
    "add": "odd_sum({0}, {1})",
    "sub": "odd_sum({0}, -{1})",
    "fma": "odd_sum({0} * {1}, {2})",
}
"""Sums in f64 that are rounded once more; products of narrower types are exact."""

_FORMS = "ftz sat NaN approx full relu xorsign abs noftz".split()

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
"""How each type becomes a type that NumPy computes with, and back."""


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
    """An instruction of the tables."""
    given = mods(x, (*ROUNDINGS, *_FORMS))
    kind = given[-1]
    rounding = chosen(given, ROUNDINGS, "rn")
    unwrap, wrap = CARRIERS[kind]
    sources = [unwrap.format(o.read(a, kind)) for a in x.operands[1:]]
    if x.opcode in ("fma", "mad") and rounding == "rn":
        value = FUSED[kind].format(*sources)
    elif x.opcode in WIDE or rounding != "rn":
        value = _wide(x.opcode, kind, sources, rounding)
    elif x.opcode in WITH_NAN:
        value = _extreme(x.opcode, given, sources)
    else:
        value = FORMULAS[x.opcode].format(*sources)
    if "relu" in given:
        value = f"positive({value})"
    value = wrap.format(value)
    if "sat" in given:
        value = f"saturated({value})"
    if "ftz" in given and kind == "f32":
        value = f"flushed({value})"
    return [o.write(x.operands[0], value, kind)]


def _extreme(opcode: str, given: list[str], sources: list[str]) -> str:
    """The least or greatest of two or three numbers, or of their magnitudes."""
    form = (WITH_NAN if "NaN" in given else FORMULAS)[opcode]
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
        text = _ODD.get(opcode, FORMULAS.get(opcode, "")).format(*wide)
    if kind == "f32x2":
        return f"rounded({text}, 'f4', {rounding!r})"
    return f"rounded({text}, {DTYPES[kind]!r}, {rounding!r})"


FLOAT_RULES: dict[str, Rule] = dict.fromkeys((*FORMULAS, *WIDE, "fma", "mad"), floating)
