"""Translation of moves, packed words, and conversions of types and address spaces."""

from __future__ import annotations

from gpucodegen.ptx.entries import Instruction, members
from gpucodegen.ptx.floats import WIDTHS
from gpucodegen.ptx.translation.operands import (
    RANGES,
    ROUNDINGS,
    SPACES,
    WINDOWS,
    Line,
    OperandText,
    Rule,
    chosen,
    mods,
)
from gpucodegen.ptx.types import DTYPES, FLOATS

PAIRS = frozenset(f"{name}x2" for name in WIDTHS)
"""Types of packed words."""
LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "tf32": 3.401162134214653e38}
"""The largest numbers of types that ``.satfinite`` keeps finite."""
INTEGRAL = ("rni", "rzi", "rmi", "rpi")


def mov(x: Instruction, o: OperandText) -> list[Line]:
    """``mov``: a copy, or a word unpacked or packed."""
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
    """``cvta``: an address of a space as a generic one, or back."""
    given = mods(x, ("to", *SPACES))
    kind = given[-1]
    window = WINDOWS.get(chosen(given, SPACES).partition(":")[0])
    value = o.read(x.operands[1], "s64" if kind == "u64" else kind)
    if window is not None:
        sign = "-" if "to" in given else "+"
        value = f"{value} {sign} np.int64({window})"
    return [o.write(x.operands[0], value, "s64" if kind == "u64" else kind)]


def isspacep(x: Instruction, o: OperandText) -> list[Line]:
    """``isspacep``: whether a generic address lies in a space."""
    low, high = RANGES[x.modifiers[0].partition(":")[0]]
    address = o.read(x.operands[1], "s64")
    value = f"({address} >= {low}) & ({address} < {high})"
    return [o.write(x.operands[0], value, "pred")]


def cvt(x: Instruction, o: OperandText) -> list[Line]:
    """``cvt``: a value in another type, or two values in a packed word."""
    given = mods(x, (*ROUNDINGS, *INTEGRAL, "rna", "sat", "ftz", "satfinite", "relu"))
    to, of = given[-2:]
    if to in PAIRS:
        return _pair(x, o, given)
    source = o.read(x.operands[1], of)
    if of == "bf16":
        source = f"from_bf16({source})"
    value = _converted(_limited(source, to, given), to, of, given)
    if "sat" in given and to in FLOATS:
        value = f"saturated({value})"
    if "ftz" in given and to == "f32":
        value = f"flushed({value})"
    return [o.write(x.operands[0], value, to)]


def _limited(source: str, to: str, given: list[str]) -> str:
    """A float after ``.relu`` or ``.satfinite``."""
    if "relu" in given:
        source = f"positive({source})"
    if "satfinite" in given and to in LARGEST:
        source = f"finite({source}, {LARGEST[to]!r})"
    return source


def _pair(x: Instruction, o: OperandText, given: list[str]) -> list[Line]:
    """Two f32, or the two numbers of a packed word, in a packed word."""
    to, of = (kind.removesuffix("x2") for kind in given[-2:])
    lines: list[Line] = []
    if given[-1] in PAIRS:
        lines.append(f"t_ = split_pair({o.read(x.operands[1], given[-1])}, {of!r})")
        sources = ["t_[1]", "t_[0]"]
    else:
        sources = [o.read(operand, "f32") for operand in x.operands[1:3]]
    high, low = (_limited(source, to, given) for source in sources)
    mode = chosen(given, ROUNDINGS, "rn")
    value = f"pair_of({high}, {low}, {to!r}, {mode!r})"
    return [*lines, o.write(x.operands[0], value, given[-2])]


def _converted(source: str, to: str, of: str, given: list[str]) -> str:
    integral = chosen(given, INTEGRAL)
    rounding = chosen(given, ROUNDINGS, "rn")
    if to == "tf32":
        mode = chosen(given, ("rna", *ROUNDINGS))
        return f"to_tf32({source}, {mode!r})"
    if to not in FLOATS:
        if of in FLOATS:
            return f"to_integer({source}, {DTYPES[to]!r}, {integral or 'rzi'!r})"
        name = "clamped" if "sat" in given else "wrapped"
        return f"{name}({source}, {DTYPES[to]!r})"
    if integral:
        source = f"integral({source}, {integral!r})"
    if to == "bf16":
        wide = f"{source}.astype('f8')" if of in FLOATS else f"odd_integer({source})"
        return f"rounded_bf16({wide}, {rounding!r})"
    if rounding != "rn" and of not in FLOATS:
        return f"from_integer({source}, {DTYPES[to]!r}, {rounding!r})"
    if rounding != "rn":
        return f"rounded({source}.astype('f8'), {DTYPES[to]!r}, {rounding!r})"
    return f"{source}.astype({DTYPES[to]!r})"


CONVERSION_RULES: dict[str, Rule] = {
    "mov": mov,
    "cvta": cvta,
    "isspacep": isspacep,
    "cvt": cvt,
}
