"""Moves, packed words, conversions between types and between address spaces."""

from __future__ import annotations

from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.parsing.text import members
from gpucodegen.ptx.translation.operands import (
    WINDOWS,
    Line,
    OperandText,
    Untranslatable,
)
from gpucodegen.ptx.translation.rules.tables import ROUNDINGS, Rule, chosen, mods
from gpucodegen.ptx.types import DTYPES, FLOATS

INTEGRAL = ("rni", "rzi", "rmi", "rpi")


def mov(x: Instruction, o: OperandText) -> list[Line]:
    """A copy, or a word taken apart or put together."""
    kind = mods(x)[-1]
    target, source = x.operands
    if target.startswith("{"):
        parts = members(target)
        narrow = f"b{int(kind[1:]) // len(parts)}"
        lines: list[Line] = [f"t_ = unpacked({o.read(source, kind)}, {len(parts)})"]
        return lines + [
            o.write(part, f"t_[{i}]", narrow) for i, part in enumerate(parts)
        ]
    if source.startswith("{"):
        parts = members(source)
        narrow = f"b{int(kind[1:]) // len(parts)}"
        words = ", ".join(o.read(part, narrow) for part in parts)
        return [o.write(target, f"packed({DTYPES[kind]!r}, {words})", kind)]
    return [o.write(target, o.read(source, kind), kind)]


def cvta(x: Instruction, o: OperandText) -> list[Line]:
    """An address of a space as a generic one, or back."""
    given = mods(x, ("to", "global", "shared", "shared:cta", "local", "const", "param"))
    kind = given[-1]
    window = WINDOWS.get(
        chosen(given, ("shared", "shared:cta", "local"))[:6].rstrip(":")
    )
    value = o.read(x.operands[1], "s64" if kind == "u64" else kind)
    if window is not None:
        sign = "-" if "to" in given else "+"
        value = f"{value} {sign} np.int64({window})"
    return [o.write(x.operands[0], value, "s64" if kind == "u64" else kind)]


def cvt(x: Instruction, o: OperandText) -> list[Line]:
    """A value in another type."""
    given = mods(x, (*ROUNDINGS, *INTEGRAL, "rna", "sat", "ftz"))
    to, of = given[-2:]
    if to in ("f16x2", "bf16x2"):
        return _pair(x, o, to)
    source = o.read(x.operands[1], of)
    if of == "bf16":
        source = f"from_bf16({source})"
    value = _converted(source, to, of, given)
    if "sat" in given and to in FLOATS:
        value = f"saturated({value})"
    if "ftz" in given and to == "f32":
        value = f"flushed({value})"
    return [o.write(x.operands[0], value, to)]


def _pair(x: Instruction, o: OperandText, to: str) -> list[Line]:
    form = "({}).astype('f2').view('i2')" if to == "f16x2" else "to_bf16({})"
    high, low = (form.format(o.read(a, "f32")) for a in x.operands[1:3])
    return [o.write(x.operands[0], f"packed('i4', {low}, {high})", "b32")]


def _converted(source: str, to: str, of: str, given: list[str]) -> str:
    integral = chosen(given, INTEGRAL)
    rounding = chosen(given, ROUNDINGS, "rn")
    if to == "tf32":
        return f"to_tf32({source})"
    if to not in FLOATS:
        if of in FLOATS:
            return f"to_integer({source}, {DTYPES[to]!r}, {integral or 'rzi'!r})"
        name = "clamped" if "sat" in given else "wrapped"
        return f"{name}({source}, {DTYPES[to]!r})"
    if integral:
        source = f"integral({source}, {integral!r})"
    if to == "bf16":
        if rounding != "rn" or of in ("f64", "s64", "u64"):
            raise Untranslatable("rounding to bf16")
        return f"to_bf16({source})"
    if rounding != "rn":
        if of in ("s64", "u64") or to == "f64":
            raise Untranslatable(f"rounding {rounding}")
        return f"rounded({source}.astype('f8'), {DTYPES[to]!r}, {rounding!r})"
    return f"{source}.astype({DTYPES[to]!r})"


CONVERSION_RULES: dict[str, Rule] = {"mov": mov, "cvta": cvta, "cvt": cvt}
