"""arith, index and math on integers of every width."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.scalars.table import Row, open_if
from tests.scalars.values import bits, signed, unsigned

PREDICATES = "eq ne slt sle sgt sge ult ule ugt uge".split()
RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
Want = Callable[..., Any]


def truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def of_bits(f: Callable[[int, int], Any], width: int) -> Want:
    """``f`` on the operands as unsigned numbers."""
    return lambda x, y: f(unsigned(x, width), unsigned(y, width))


def binary(width: int) -> dict[str, Want]:
    """Name without a dialect: the number that wraps around to the result."""
    lowest = -(1 << (width - 1))

    def no_quotient(x: int, y: int) -> bool:
        return y == 0 or (x == lowest and y == -1)

    def divides(f: Want) -> Want:
        return open_if(no_quotient, f)

    def divides_bits(f: Want) -> Want:
        return open_if(lambda _, y: y == 0, of_bits(f, width))

    def shifts(f: Want) -> Want:
        return open_if(lambda _, y: unsigned(y, width) >= width, f)

    return {
        "addi": lambda x, y: x + y,
        "subi": lambda x, y: x - y,
        "muli": lambda x, y: x * y,
        "andi": lambda x, y: x & y,
        "ori": lambda x, y: x | y,
        "xori": lambda x, y: x ^ y,
        "divsi": divides(truncated),
        "remsi": open_if(lambda _, y: y == 0, lambda x, y: x - truncated(x, y) * y),
        "floordivsi": divides(lambda x, y: x // y),
        "ceildivsi": divides(lambda x, y: -(-x // y)),
        "divui": divides_bits(lambda x, y: x // y),
        "remui": divides_bits(lambda x, y: x % y),
        "ceildivui": divides_bits(lambda x, y: -(-x // y)),
        "shli": shifts(lambda x, y: x << unsigned(y, width)),
        "shrsi": shifts(lambda x, y: x >> unsigned(y, width)),
        "shrui": shifts(lambda x, y: unsigned(x, width) >> unsigned(y, width)),
        "minsi": min,
        "maxsi": max,
        "minui": of_bits(min, width),
        "maxui": of_bits(max, width),
    }


def comparisons(width: int) -> dict[str, Want]:
    """Predicate: the bit, -1 where it holds."""

    def want(predicate: str) -> Want:
        relation = RELATIONS[predicate[-2:]]
        if predicate[0] == "u":
            return of_bits(lambda x, y: -int(relation(x, y)), width)
        return lambda x, y: -int(relation(x, y))

    return {p: want(p) for p in PREDICATES}


def arith(ty: str) -> list[Row]:
    """Everything of two integers, and the selection between them."""
    two, width = (ty, ty), bits(ty)
    rows = [
        Row(f"arith.{n}", f"%r = arith.{n} %x, %y : {{x}}", two, (ty,), f)
        for n, f in binary(width).items()
    ]
    rows += [
        Row(f"cmpi {p}", f"%r = arith.cmpi {p}, %x, %y : {{x}}", two, ("i1",), f)
        for p, f in comparisons(width).items()
    ]
    rows.append(
        Row(
            "arith.select",
            "%c = arith.cmpi slt, %x, %y : {x}\n"
            "%r = arith.select %c, %x, %y : {i1}, {x}",
            two,
            (ty,),
            min,
        )
    )
    return rows + extended(ty)


def extended(ty: str) -> list[Row]:
    """Sums and products with what does not fit."""
    width, two = bits(ty), (ty, ty)

    def halves(is_signed: bool) -> Want:
        def want(x: int, y: int) -> tuple[int, int]:
            if not is_signed:
                x, y = unsigned(x, width), unsigned(y, width)
            return x * y, (x * y) >> width

        return want

    def carry(x: int, y: int) -> tuple[int, int]:
        return x + y, -((unsigned(x, width) + unsigned(y, width)) >> width)

    def borrow(x: int, y: int) -> tuple[int, int]:
        return x - y, -int(unsigned(x, width) < unsigned(y, width))

    return [
        Row(
            f"arith.{name}",
            f"%r, %s = arith.{name} %x, %y : {{x}}{rest}",
            two,
            (ty, second),
            want,
        )
        for name, rest, second, want in (
            ("addui_extended", ", {s}", "i1", carry),
            ("subui_extended", ", {s}", "i1", borrow),
            ("mulsi_extended", "", ty, halves(True)),
            ("mului_extended", "", ty, halves(False)),
        )
    ]


def math(ty: str) -> list[Row]:
    """Functions of integers."""
    width = bits(ty)
    lowest = -(1 << (width - 1))

    def power(x: int, n: int) -> int | None:
        if n >= 0:
            return signed(pow(x, n, 1 << width), width)
        if x == 0:
            return None
        unit = signed(1, width)
        if x not in (unit, -1):
            return 0
        return unit if x == unit else -1 if n % 2 else 1

    one: dict[str, Want] = {
        "absi": open_if(lambda x: x == lowest, abs),
        "ctpop": lambda x: unsigned(x, width).bit_count(),
        "ctlz": lambda x: width - unsigned(x, width).bit_length(),
        "cttz": lambda x: width if x == 0 else (x & -x).bit_length() - 1,
    }
    rows = [
        Row(f"math.{n}", f"%r = math.{n} %x : {{x}}", (ty,), (ty,), f)
        for n, f in one.items()
    ]
    row = Row("math.ipowi", "%r = math.ipowi %x, %y : {x}", (ty, ty), (ty,), power)
    return [*rows, row]


INDEX_NAMES = {
    "add": "addi",
    "sub": "subi",
    "mul": "muli",
    "and": "andi",
    "or": "ori",
    "xor": "xori",
    "divs": "divsi",
    "divu": "divui",
    "rems": "remsi",
    "remu": "remui",
    "ceildivs": "ceildivsi",
    "ceildivu": "ceildivui",
    "floordivs": "floordivsi",
    "shl": "shli",
    "shrs": "shrsi",
    "shru": "shrui",
    "mins": "minsi",
    "maxs": "maxsi",
    "minu": "minui",
    "maxu": "maxui",
}
"""The index dialect's names of arith's operations."""


def index() -> list[Row]:
    """The index dialect."""
    two, wants = ("index", "index"), binary(64)
    rows = [
        Row(f"index.{n}", f"%r = index.{n} %x, %y", two, ("index",), wants[of])
        for n, of in INDEX_NAMES.items()
    ]
    rows += [
        Row(f"index.cmp {p}", f"%r = index.cmp {p}(%x, %y)", two, ("i1",), f)
        for p, f in comparisons(64).items()
    ]
    for ty in ("i1", "i8", "i32", "i64"):
        width = bits(ty)
        for name, extend in (("casts", signed), ("castu", unsigned)):
            text = f"%r = index.{name} %x : {{x}} to {{r}}"
            up = partial(extend, width=width)
            rows.append(Row(f"index.{name} {ty}", text, (ty,), ("index",), up))
            down = Row(f"index.{name} to {ty}", text, ("index",), (ty,), lambda x: x)
            rows.append(down)
    rows.append(
        Row(
            "index.constant",
            "%c = index.constant 4294967301\n%r = index.add %x, %c",
            ("index",),
            ("index",),
            lambda x: x + 4294967301,
        )
    )
    rows.append(
        Row(
            "index.bool.constant",
            "%c = index.bool.constant true\n%r = arith.xori %x, %c : i1",
            ("i1",),
            ("i1",),
            lambda x: ~x,
        )
    )
    rows.append(Row("index.sizeof", "%r = index.sizeof", (), ("index",), lambda: 64))
    return rows
