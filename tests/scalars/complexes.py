"""The complex dialect, away from its branch cuts and poles."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

from tests.scalars.table import Row

Want = Callable[..., Any]


def tame(f: Want) -> Want:
    """``f`` where neither operand nor result is extreme."""

    def want(*args: complex) -> Any:
        if not all(0.1 < abs(x) < 10 for x in args):
            return None
        result = f(*args)
        return result if 1e-2 < abs(result) < 100 else None

    return want


ONE: dict[str, Want] = {
    "neg": lambda z: -z,
    "conj": lambda z: z.conjugate(),
    "exp": cmath.exp,
    "expm1": lambda z: cmath.exp(z) - 1,
    "log": cmath.log,
    "log1p": lambda z: cmath.log(1 + z),
    "sqrt": cmath.sqrt,
    "rsqrt": lambda z: 1 / cmath.sqrt(z),
    "sign": lambda z: z / abs(z),
    "sin": cmath.sin,
    "cos": cmath.cos,
    "tan": cmath.tan,
    "tanh": cmath.tanh,
}
TWO: dict[str, Want] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
}
PARTS: dict[str, Want] = {
    "re": lambda z: z.real,
    "im": lambda z: z.imag,
    "abs": abs,
    "angle": cmath.phase,
}


def rows(ty: str) -> list[Row]:
    """Everything of a complex type."""
    part = ty[len("complex<") : -1]
    near = 1e-4 if part == "f32" else 1e-11

    def row(name: str, given: tuple[str, ...], result: str, want: Want) -> Row:
        operands = ", ".join(f"%{n}" for n, _ in zip("xy", given, strict=False))
        text = f"%r = complex.{name} {operands} : {{x}}"
        return Row(f"complex.{name}", text, given, (result,), want, near)

    return [
        *(row(n, (ty,), ty, tame(f)) for n, f in ONE.items()),
        *(row(n, (ty, ty), ty, tame(f)) for n, f in TWO.items()),
        *(row(n, (ty,), part, tame(f)) for n, f in PARTS.items()),
        row("eq", (ty, ty), "i1", lambda a, b: -int(a == b)),
        row("neq", (ty, ty), "i1", lambda a, b: -int(a != b)),
        Row(
            "complex.create",
            "%r = complex.create %x, %y : {r}",
            (part, part),
            (ty,),
            lambda x, y: complex(x, y) if abs(x) < 1e3 > abs(y) else None,
            near,
        ),
        Row(
            "complex.powi",
            "%r = complex.powi %x, %y : {x}, i32",
            (ty, "i32"),
            (ty,),
            lambda z, n: tame(lambda x: x**n)(z) if abs(n) < 8 else None,
            near,
        ),
    ]
