"""arith on ``i1``: numbers 0 and -1, in loops, in vectors and on the host."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gpucodegen as gcg

PAIRS = list(product((0, -1), repeat=2))
LEFT, RIGHT = (np.array(column, bool) for column in zip(*PAIRS, strict=True))


ARITHMETIC = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "andi": lambda x, y: x & y,
    "ori": lambda x, y: x | y,
    "xori": lambda x, y: x ^ y,
    "minsi": min,
    "maxsi": max,
    "minui": lambda x, y: min(x & 1, y & 1),
    "maxui": lambda x, y: max(x & 1, y & 1),
}
UNSIGNED_DIVISION = {
    "divui": lambda x, y: x // y,
    "remui": lambda x, y: x % y,
    "ceildivui": lambda x, y: -(-x // y),
}
SIGNED_DIVISION = "divsi remsi floordivsi ceildivsi".split()
SHIFTS = "shli shrsi shrui".split()
ORDER = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
PREDICATES = "eq ne slt sle sgt sge ult ule ugt uge".split()
NAMES = [*ARITHMETIC, *UNSIGNED_DIVISION, *SIGNED_DIVISION, *SHIFTS, *PREDICATES]


def wanted(name: str, x: int, y: int) -> bool | None:
    """The bit that results; None where MLIR leaves it open."""
    if name in ARITHMETIC:
        return bool(ARITHMETIC[name](x, y) & 1)
    if name in UNSIGNED_DIVISION:
        return bool(UNSIGNED_DIVISION[name](x & 1, y & 1) & 1) if y else None
    if name in SIGNED_DIVISION:
        return False if (x, y) == (0, -1) else None
    if name in SHIFTS:
        return None if y else bool(x)
    if name[0] == "u":
        x, y = x & 1, y & 1
    return ORDER[name[-2:]](x, y)


def lines(ty: str, store: str) -> str:
    """Every operation on ``%x`` and ``%y``, and what becomes of its result."""
    operations = (
        f"arith.cmpi {name}, %x, %y" if name in PREDICATES else f"arith.{name} %x, %y"
        for name in NAMES
    )
    return "\n".join(
        f"%r{n} = {text} : {ty}\n{store.format(n=n)}"
        for n, text in enumerate(operations)
    )


NUMBERS = "\n".join(f"%n{n} = arith.constant {n} : index" for n in range(len(NAMES)))
ROWS = f"memref<{len(NAMES)}x4xi1>"
STORE = f"vector.store %r{{n}}, %c[%n{{n}}, %o] : {ROWS}, vector<4xi1>"
LOOP = f"""
func.func @f(%a: memref<4xi1>, %b: memref<4xi1>, %c: {ROWS}) {{
  affine.for %i = 0 to 4 {{
    %x = affine.load %a[%i] : memref<4xi1>
    %y = affine.load %b[%i] : memref<4xi1>
    {lines("i1", f"affine.store %r{{n}}, %c[{{n}}, %i] : {ROWS}")}
  }}
  return
}}"""
VECTOR = f"""
func.func @f(%a: memref<4xi1>, %b: memref<4xi1>, %c: {ROWS}) {{
  %o = arith.constant 0 : index
  %x = vector.load %a[%o] : memref<4xi1>, vector<4xi1>
  %y = vector.load %b[%o] : memref<4xi1>, vector<4xi1>
  {NUMBERS}
  {lines("vector<4xi1>", STORE)}
  return
}}"""
HOST = f"""
func.func @f(%x: i1, %y: i1) -> ({", ".join(["i1"] * len(NAMES))}) {{
  {lines("i1", "")}
  return {", ".join(f"%r{n}" for n in range(len(NAMES)))}
    : {", ".join(["i1"] * len(NAMES))}
}}"""


def check(results: list[list[bool]]):
    for name, row in zip(NAMES, results, strict=True):
        for (x, y), got in zip(PAIRS, row, strict=True):
            want = wanted(name, x, y)
            assert want is None or bool(got) is want, (name, x, y)


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("text", [LOOP, VECTOR], ids=["loop", "vector"])
def test_kernels(text: str, target: str):
    results = np.zeros((len(NAMES), 4), bool)
    gcg.compile(text, target=target).f(LEFT, RIGHT, results)
    check(results.tolist())


def test_host():
    program = gcg.compile(HOST, target="cpu")
    columns = [program.f(bool(x), bool(y)) for x, y in PAIRS]
    check([list(row) for row in zip(*columns, strict=True)])
