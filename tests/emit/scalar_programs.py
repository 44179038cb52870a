"""MLIR programs that apply every scalar operation to arrays, and what they should give.

Operation ``r`` writes row ``r`` of the result, so one kernel tests a whole table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

CMPI = "eq ne slt sle sgt sge ult ule ugt uge".split()
CMPF = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()


@dataclass(frozen=True)
class Case:
    """One operation: MLIR lines over ``%x`` and ``%y`` that define ``%r``."""

    name: str
    lines: str
    want: Callable[[int | float, int | float], int | float | None]
    """The expected number; None where MLIR leaves the result open."""


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def integer_cases(bits: int) -> list[Case]:
    ty, mask, lowest = f"i{bits}", (1 << bits) - 1, -(1 << (bits - 1))

    def divides(f: Callable[[int, int], int], is_signed: bool = True) -> Callable:
        def want(x: int, y: int) -> int | None:
            if y == 0 or (is_signed and (x, y) == (lowest, -1)):
                return None
            return f(x, y) if is_signed else f(x & mask, y & mask)

        return want

    def shifts(f: Callable[[int, int], int]) -> Callable:
        return lambda x, y: f(x, y) if 0 <= y < bits else None

    wants: dict[str, Callable] = {
        "addi": lambda x, y: x + y,
        "subi": lambda x, y: x - y,
        "muli": lambda x, y: x * y,
        "andi": lambda x, y: x & y,
        "ori": lambda x, y: x | y,
        "xori": lambda x, y: x ^ y,
        "divsi": divides(truncated),
        "remsi": divides(lambda x, y: x - truncated(x, y) * y),
        "floordivsi": divides(lambda x, y: x // y),
        "ceildivsi": divides(lambda x, y: -(-x // y)),
        "divui": divides(lambda x, y: x // y, False),
        "remui": divides(lambda x, y: x % y, False),
        "ceildivui": divides(lambda x, y: -(-x // y), False),
        "shli": shifts(lambda x, y: x << y),
        "shrsi": shifts(lambda x, y: x >> y),
        "shrui": shifts(lambda x, y: (x & mask) >> y),
        "minsi": min,
        "maxsi": max,
        "minui": lambda x, y: min(x & mask, y & mask),
        "maxui": lambda x, y: max(x & mask, y & mask),
    }
    cases = [
        Case(name, f"%r = arith.{name} %x, %y : {ty}", want)
        for name, want in wants.items()
    ]
    return cases + _comparisons(ty, mask) + _narrowed(bits) + _counted(ty, bits)


def _comparisons(ty: str, mask: int) -> list[Case]:
    tests: dict[str, Callable[[int, int], bool]] = {
        "eq": lambda x, y: x == y,
        "ne": lambda x, y: x != y,
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
    }

    def want(predicate: str) -> Callable:
        test = tests[predicate[-2:]]
        if predicate[0] == "u":
            return lambda x, y: int(test(x & mask, y & mask))
        return lambda x, y: int(test(x, y))

    return [
        Case(
            f"cmpi {p}",
            f"%c = arith.cmpi {p}, %x, %y : {ty}\n"
            f"%r = arith.select %c, %one, %zero : {ty}",
            want(p),
        )
        for p in CMPI
    ]


def _narrowed(bits: int) -> list[Case]:
    """Casts down and up again, through floats, and to one bit."""
    ty, cases = f"i{bits}", []
    for width in (1, 8, 16, 32):
        if width >= bits:
            continue
        for extension in ("extsi", "extui"):
            mask = (1 << width) - 1
            cases.append(
                Case(
                    f"trunci {width} {extension}",
                    f"%t = arith.trunci %x : {ty} to i{width}\n"
                    f"%r = arith.{extension} %t : i{width} to {ty}",
                    lambda x, _, w=width, m=mask, e=extension: (
                        signed(x, w) if e == "extsi" else x & m
                    ),
                )
            )
    full = (1 << bits) - 1
    for way, back in (("sitofp", "fptosi"), ("uitofp", "fptoui")):
        cases.append(
            Case(
                f"{way} {back}",
                f"%h = arith.shrui %x, %three : {ty}\n"
                f"%f = arith.{way} %h : {ty} to f64\n"
                f"%r = arith.{back} %f : f64 to {ty}",
                lambda x, _: (x & full) >> 3 if bits < 64 else None,
            )
        )
    return cases


def _counted(ty: str, bits: int) -> list[Case]:
    mask = (1 << bits) - 1
    return [
        Case(
            "ctpop",
            f"%r = math.ctpop %x : {ty}",
            lambda x, _: (x & mask).bit_count(),
        ),
        Case(
            "ctlz",
            f"%r = math.ctlz %x : {ty}",
            lambda x, _: bits - (x & mask).bit_length(),
        ),
        Case(
            "cttz",
            f"%r = math.cttz %x : {ty}",
            lambda x, _: bits if x == 0 else (x & -x).bit_length() - 1,
        ),
        Case(
            "absi",
            f"%r = math.absi %x : {ty}",
            lambda x, _: None if x == -(1 << (bits - 1)) else abs(x),
        ),
        Case(
            "addui_extended",
            f"%s, %c = arith.addui_extended %x, %y : {ty}, i1\n"
            f"%r = arith.select %c, %one, %s : {ty}",
            lambda x, y: 1 if (x & mask) + (y & mask) > mask else x + y,
        ),
        Case(
            "mulsi_extended",
            f"%l, %h = arith.mulsi_extended %x, %y : {ty}\n"
            f"%r = arith.xori %l, %h : {ty}",
            lambda x, y: (x * y) ^ ((x * y) >> bits),
        ),
        Case(
            "mului_extended",
            f"%l, %h = arith.mului_extended %x, %y : {ty}\n"
            f"%r = arith.xori %l, %h : {ty}",
            lambda x, y: (
                ((x & mask) * (y & mask)) ^ (((x & mask) * (y & mask)) >> bits)
            ),
        ),
    ]


def larger(x: float, y: float) -> float:
    return max(x, y, key=lambda v: (v, math.copysign(1, v)))


def smaller(x: float, y: float) -> float:
    return min(x, y, key=lambda v: (v, math.copysign(1, v)))


def float_cases(ty: str) -> list[Case]:
    def minmax(pick: Callable, numbers_win: bool) -> Callable:
        def want(x: float, y: float) -> float:
            if math.isnan(x) or math.isnan(y):
                if not numbers_win:
                    return math.nan
                return y if math.isnan(x) else x
            return pick(x, y)

        return want

    def quotient(x: float, y: float) -> float:
        with np.errstate(all="ignore"):
            return float(np.float64(x) / np.float64(y))

    def remainder(x: float, y: float) -> float:
        if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
            return math.nan
        return math.fmod(x, y)

    two: dict[str, Callable] = {
        "addf": lambda x, y: x + y,
        "subf": lambda x, y: x - y,
        "mulf": lambda x, y: x * y,
        "divf": quotient,
        "remf": remainder,
        "maximumf": minmax(larger, False),
        "minimumf": minmax(smaller, False),
        "maxnumf": minmax(larger, True),
        "minnumf": minmax(smaller, True),
    }
    cases = [
        Case(name, f"%r = arith.{name} %x, %y : {ty}", want)
        for name, want in two.items()
    ]
    one: dict[str, Callable] = {
        "arith.negf": lambda x, _: -x,
        "math.absf": lambda x, _: abs(x),
        "math.floor": lambda x, _: _whole(math.floor, x),
        "math.ceil": lambda x, _: _whole(math.ceil, x),
        "math.trunc": lambda x, _: _whole(math.trunc, x),
        "math.roundeven": lambda x, _: _whole(round, x),
    }
    cases += [Case(name, f"%r = {name} %x : {ty}", want) for name, want in one.items()]
    return cases + _float_comparisons(ty) + _tests(ty)


def _whole(function: Callable[[float], int], x: float) -> float:
    return math.copysign(float(function(x)), x) if math.isfinite(x) else x


def _float_comparisons(ty: str) -> list[Case]:
    def want(predicate: str) -> Callable:
        def test(x: float, y: float) -> int:
            unordered = math.isnan(x) or math.isnan(y)
            fixed = {"false": 0, "true": 1, "ord": not unordered, "uno": unordered}
            if predicate in fixed:
                return int(fixed[predicate])
            if unordered:
                return int(predicate[0] == "u")
            relations = {
                "eq": x == y,
                "gt": x > y,
                "ge": x >= y,
                "lt": x < y,
                "le": x <= y,
                "ne": x != y,
            }
            return int(relations[predicate[1:]])

        return test

    return [
        Case(
            f"cmpf {p}",
            f"%c = arith.cmpf {p}, %x, %y : {ty}\n"
            f"%r = arith.select %c, %one, %zero : {ty}",
            want(p),
        )
        for p in CMPF
    ]


def _tests(ty: str) -> list[Case]:
    wants = {"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite}
    return [
        Case(
            name,
            f"%c = math.{name} %x : {ty}\n%r = arith.select %c, %one, %zero : {ty}",
            lambda x, _, f=f: int(f(x)),
        )
        for name, f in wants.items()
    ]


def _renamed(lines: str, number: int) -> str:
    """Give the values that a case defines names of their own."""
    for name in "rcthfsl":
        lines = lines.replace(f"%{name} ", f"%{name}{number} ")
        lines = lines.replace(f"%{name},", f"%{name}{number},")
    return lines


def program(ty: str, cases: Sequence[Case], target: str) -> str:
    """A function ``ops(x, y, out)`` that fills ``out[case, element]``."""
    array, out = f"memref<?x{ty}>", f"memref<?x?x{ty}>"
    decimal = ".0" if ty[0] != "i" else ""
    lines = [
        f"%x = memref.load %a[%i] : {array}",
        f"%y = memref.load %b[%i] : {array}",
        *(
            f"%{name} = arith.constant {n}{decimal} : {ty}"
            for name, n in (("zero", 0), ("one", 1), ("three", 3))
        ),
    ]
    for number, case in enumerate(cases):
        lines += [
            _renamed(case.lines, number),
            f"%row{number} = arith.constant {number} : index",
            f"memref.store %r{number}, %out[%row{number}, %i] : {out}",
        ]
    arguments = f"%a: {array}, %b: {array}, %out: {out}"
    return (_on_cpu if target == "cpu" else _on_gpu)(arguments, "\n".join(lines))


def _on_cpu(arguments: str, body: str) -> str:
    types = ", ".join(part.partition(": ")[2] for part in arguments.split(", "))
    array = arguments.partition(", ")[0].partition(": ")[2]
    return f"""
func.func private @ops_k0({arguments}) attributes {{gcg.kernel = "cpu"}} {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : {array}
  affine.for %i = 0 to %n {{
    {body}
  }}
  return
}}
func.func @ops({arguments}) {{
  call @ops_k0(%a, %b, %out) : ({types}) -> ()
  return
}}"""


def _on_gpu(arguments: str, body: str) -> str:
    array = arguments.partition(", ")[0].partition(": ")[2]
    return f"""
gpu.module @m {{
  gpu.func @ops_k0({arguments}) kernel {{
    %i = gpu.thread_id x
    {body}
    gpu.return
  }}
}}
func.func @ops({arguments}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : {array}
  gpu.launch_func @m::@ops_k0 blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
    args({arguments.replace(":", " :")})
  return
}}"""
