"""arith and math on floats of every format."""

from __future__ import annotations

import math as c
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from gpucodegen.ir.number_formats import FORMATS
from tests.scalars.table import Row, open_if

Want = Callable[..., Any]
PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true"


def larger(x: float, y: float) -> float:
    return max(x, y, key=lambda v: (v, c.copysign(1, v)))


def smaller(x: float, y: float) -> float:
    return min(x, y, key=lambda v: (v, c.copysign(1, v)))


def extreme(pick: Callable[[float, float], float], *, numbers_win: bool) -> Want:
    def want(x: float, y: float) -> float:
        if c.isnan(x) or c.isnan(y):
            if not numbers_win:
                return c.nan
            return y if c.isnan(x) else x
        return pick(x, y)

    return want


def zeros_of_both_signs(x: float, y: float) -> bool:
    """Of these, maxnumf and minnumf may take either."""
    return x == 0 == y and c.copysign(1, x) != c.copysign(1, y)


def quotient(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(x) / np.float64(y))


def remainder(x: float, y: float) -> float:
    if c.isnan(x) or c.isnan(y) or c.isinf(x) or y == 0:
        return c.nan
    return c.fmod(x, y)


def whole(f: Callable[[float], int]) -> Want:
    return lambda x: c.copysign(float(f(x)), x) if c.isfinite(x) else x


def away(x: float) -> int:
    return int(c.copysign(c.floor(abs(x) + 0.5), x))


def binary() -> dict[str, Want]:
    """Operations of two numbers whose results are rounded once."""
    return {
        "addf": lambda x, y: x + y,
        "subf": lambda x, y: x - y,
        "mulf": lambda x, y: x * y,
        "divf": quotient,
        "remf": remainder,
        "maximumf": extreme(larger, numbers_win=False),
        "minimumf": extreme(smaller, numbers_win=False),
        "maxnumf": open_if(zeros_of_both_signs, extreme(larger, numbers_win=True)),
        "minnumf": open_if(zeros_of_both_signs, extreme(smaller, numbers_win=True)),
        "maximumnumf": extreme(larger, numbers_win=True),
        "minimumnumf": extreme(smaller, numbers_win=True),
    }


def compared(predicate: str) -> Want:
    def want(x: float, y: float) -> int:
        unordered = c.isnan(x) or c.isnan(y)
        fixed = {"false": 0, "true": 1, "ord": not unordered, "uno": unordered}
        if predicate in fixed:
            return -int(fixed[predicate])
        relations = {
            "eq": x == y,
            "gt": x > y,
            "ge": x >= y,
            "lt": x < y,
            "le": x <= y,
            "ne": x != y,
        }
        holds = predicate[0] == "u" if unordered else relations[predicate[1:]]
        return -int(holds)

    return want


def arith(ty: str) -> list[Row]:
    """Everything of two floats."""
    two = (ty, ty)
    rows = [
        Row(f"arith.{n}", f"%r = arith.{n} %x, %y : {{x}}", two, (ty,), f)
        for n, f in binary().items()
    ]
    rows += [
        Row(
            f"cmpf {p}",
            f"%r = arith.cmpf {p}, %x, %y : {{x}}",
            two,
            ("i1",),
            compared(p),
        )
        for p in PREDICATES.split()
    ]
    rows.append(
        Row(
            "arith.select",
            "%c = arith.cmpf olt, %x, %y : {x}\n"
            "%r = arith.select %c, %x, %y : {i1}, {x}",
            two,
            (ty,),
            lambda x, y: min(y, x),
        )
    )
    return rows


def math(ty: str) -> list[Row]:
    """Functions that give one right number."""
    one: dict[str, Want] = {
        "arith.negf": lambda x: -x,
        "math.absf": abs,
        "math.floor": whole(c.floor),
        "math.ceil": whole(c.ceil),
        "math.trunc": whole(c.trunc),
        "math.roundeven": whole(round),
        "math.round": whole(away),
        "math.sqrt": lambda x: x if x == 0 else c.sqrt(x) if x > 0 else c.nan,
    }
    rows = [Row(n, f"%r = {n} %x : {{x}}", (ty,), (ty,), f) for n, f in one.items()]
    tests: dict[str, Callable[[float], bool]] = {
        "isnan": c.isnan,
        "isinf": c.isinf,
        "isfinite": c.isfinite,
        "isnormal": lambda x: c.isfinite(x) and abs(x) >= smallest_normal(ty),
    }
    rows += [
        Row(
            f"math.{n}",
            f"%r = math.{n} %x : {{x}}",
            (ty,),
            ("i1",),
            lambda x, f=f: -int(f(x)),
        )
        for n, f in tests.items()
    ]
    rows.append(
        Row(
            "math.copysign",
            "%r = math.copysign %x, %y : {x}",
            (ty, ty),
            (ty,),
            lambda x, y: c.copysign(x, y) if not c.isnan(y) else None,
        )
    )
    rows.append(
        Row(
            "math.fma",
            "%r = math.fma %x, %y, %x : {x}",
            (ty, ty),
            (ty,),
            lambda x, y: fused(x, y, x),
        )
    )
    rows.append(
        Row(
            "math.clampf",
            "%r = math.clampf %x to [%y, %z] : {x}",
            (ty, ty, ty),
            (ty,),
            clamped,
        )
    )
    rows.append(
        Row(
            "math.fpowi",
            "%r = math.fpowi %x, %y : {x}, {y}",
            (ty, "i32"),
            (ty,),
            small_power,
            1e-5 if ty == "f32" else 1e-13 if ty == "f64" else 0.1,
        )
    )
    return rows


def small_power(x: float, n: int) -> float | None:
    if abs(n) > 7 or c.isnan(x) or x == 0 or abs(x) > 1e3 or abs(x) < 0.1:
        return None
    power = float(x) ** n
    return power if 1e-2 < abs(power) < 200 else None


def clamped(x: float, low: float, high: float) -> float | None:
    if c.isnan(low) or c.isnan(high) or not low <= high or c.isnan(x):
        return None
    return smaller(larger(x, low), high) if low < high else None


def fused(x: float, y: float, z: float) -> float | None:
    """Where the exact result is simple enough for Python's floats."""
    if not all(map(c.isfinite, (x, y, z))):
        return None
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    near = float(exact)
    return near if Fraction(near) == exact and near else None


def smallest_normal(ty: str) -> float:
    return 2.0 ** FORMATS[ty].low


def functions(ty: str) -> list[Row]:
    """Elementary functions, to a few units in the last place."""
    wide = {"f64": 1e-13, "f32": 2e-6}.get(ty, 2e-2 if ty[1] != "8" else 0.26)
    known: dict[str, Want] = {
        "exp": np.exp,
        "exp2": np.exp2,
        "expm1": np.expm1,
        "log": np.log,
        "log2": np.log2,
        "log10": np.log10,
        "log1p": np.log1p,
        "sin": np.sin,
        "cos": np.cos,
        "tan": np.tan,
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "tanh": np.tanh,
        "asinh": np.arcsinh,
        "acosh": np.arccosh,
        "atanh": np.arctanh,
        "erf": c.erf,
        "erfc": c.erfc,
        "cbrt": np.cbrt,
        "rsqrt": lambda x: 1 / np.sqrt(x),
    }

    def tame(f: Want) -> Want:
        def want(x: float) -> float | None:
            if not 0.1 <= abs(x) <= 10:
                return None
            with np.errstate(all="ignore"):
                y = float(f(np.float64(x)))
            return y if c.isfinite(y) and 1e-2 < abs(y) < 200 else None

        return want

    rows = [
        Row(f"math.{n}", f"%r = math.{n} %x : {{x}}", (ty,), (ty,), tame(f), wide)
        for n, f in known.items()
    ]
    rows.append(
        Row(
            "math.sincos",
            "%r, %s = math.sincos %x : {x}",
            (ty,),
            (ty, ty),
            lambda x: (tame(np.sin)(x), tame(np.cos)(x)),
            wide,
        )
    )

    def two(f: Want) -> Want:
        def want(x: float, y: float) -> float | None:
            if not (0.1 <= abs(x) <= 10 and 0.1 <= abs(y) <= 10):
                return None
            with np.errstate(all="ignore"):
                r = float(f(np.float64(x), np.float64(y)))
            return r if c.isfinite(r) and 1e-2 < abs(r) < 200 else None

        return want

    rows += [
        Row(f"math.{n}", f"%r = math.{n} %x, %y : {{x}}", (ty, ty), (ty,), two(f), wide)
        for n, f in (("atan2", np.arctan2), ("powf", np.power))
    ]
    return rows
