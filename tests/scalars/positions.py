"""Rows of the table as programs: on the host, in a loop, in vectors.

Every program takes one array for each operand of each type and one for each result;
on the host, the numbers one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import gpucodegen as gcg
from tests.scalars.table import Row
from tests.scalars.values import (
    Number,
    corners,
    loaded,
    passed,
    returned,
    stored,
)

LANES = 8
LETTERS = "xyz"
POSITIONS = {
    "host": ("host", "cpu"),
    "loop": ("loop", "cpu"),
    "vector": ("vector", "cpu"),
    "kernel": ("loop", "sim"),
    "lanes": ("vector", "sim"),
}
"""Name: kind of program, target."""


def body(row: Row, number: int, shape: str = "") -> str:
    """The row's lines, its values numbered."""

    def ty(name: str) -> str:
        return f"vector<{shape}{name}>" if shape else name

    names = dict(zip(LETTERS, map(ty, row.operands), strict=False))
    names |= dict(zip("rs", map(ty, row.results), strict=False))
    text = row.text.format(**names, i1=ty("i1"))
    return re.sub(r"%([xyzrsc])\b", rf"%\g<1>_{number}", text)


def inputs_of(row: Row) -> list[list[Number]]:
    """All tuples of corners, one list for each operand, whole vectors of them."""
    tuples = list(product(*map(corners, row.operands))) or [()]
    if len(row.operands) == 3:
        tuples = tuples[:: max(1, len(tuples) // 256)]
    while len(tuples) % LANES:
        tuples.append(tuples[0])
    return [list(column) for column in zip(*tuples, strict=True)]


def host(rows: Sequence[Row]) -> str:
    operands = rows[0].operands
    given = ", ".join(f"%{n}: {t}" for n, t in zip(LETTERS, operands, strict=False))
    lines: list[str] = []
    values, types = [], []
    for number, row in enumerate(rows):
        text = body(row, number)
        lines.append(re.sub(r"%([xyz])_\d+", r"%\1", text))
        values += [f"%{n}_{number}" for n, _ in zip("rs", row.results, strict=False)]
        types += row.results
    joined = "\n  ".join(lines)
    return (
        f"func.func @f({given}) -> ({', '.join(types)}) {{\n  {joined}\n"
        f"  return {', '.join(values)} : {', '.join(types)}\n}}"
    )


def loop(rows: Sequence[Row], count: int, lanes: int = 0) -> str:
    operands = rows[0].operands
    given = [
        f"%in_{n}: memref<{count}x{t}>" for n, t in zip(LETTERS, operands, strict=False)
    ]
    out: list[str] = []
    lines: list[str] = []
    shape = f"{lanes}x" if lanes else ""
    for name, ty in zip(LETTERS, operands, strict=False):
        lines.append(
            _load(f"%{name}", f"%in_{name}", f"memref<{count}x{ty}>", shape, ty)
        )
    for number, row in enumerate(rows):
        text = body(row, number, shape)
        lines.append(re.sub(r"%([xyz])_\d+", r"%\1", text))
        for name, ty in zip("rs", row.results, strict=False):
            memref = f"memref<{count}x{ty}>"
            out.append(f"%out_{name}_{number}: {memref}")
            value = f"%{name}_{number}"
            lines.append(_store(value, f"%out_{name}_{number}", memref, shape, ty))
    joined = "\n    ".join(lines)
    step = f" step {lanes}" if lanes else ""
    return (
        f"func.func @f({', '.join([*given, *out])}) {{\n"
        f"  affine.for %i = 0 to {count}{step} {{\n    {joined}\n  }}\n  return\n}}"
    )


def _load(name: str, array: str, memref: str, shape: str, ty: str) -> str:
    if shape:
        return f"{name} = vector.load {array}[%i] : {memref}, vector<{shape}{ty}>"
    return f"{name} = affine.load {array}[%i] : {memref}"


def _store(name: str, array: str, memref: str, shape: str, ty: str) -> str:
    if shape:
        return f"vector.store {name}, {array}[%i] : {memref}, vector<{shape}{ty}>"
    return f"affine.store {name}, {array}[%i] : {memref}"


def text_of(position: str, rows: Sequence[Row]) -> str:
    kind, _ = POSITIONS[position]
    columns = inputs_of(rows[0])
    count = len(columns[0]) if columns else LANES
    if kind == "host":
        return host(rows)
    return loop(rows, count, LANES if kind == "vector" else 0)


def run(position: str, rows: Sequence[Row]) -> list[list[list[Number]]]:
    """For each row and result, the numbers at all corners; operands must agree."""
    kind, target = POSITIONS[position]
    columns = inputs_of(rows[0])
    count = len(columns[0]) if columns else LANES
    program = gcg.compile(text_of(position, rows), target=target)
    types = [ty for row in rows for ty in row.results]
    if kind == "host":
        tuples = list(zip(*columns, strict=True)) or [()]
        kinds = rows[0].operands
        found = [_one(program, pair, kinds, types) for pair in tuples]
        flat = [list(column) for column in zip(*found, strict=True)]
    else:
        arrays = [stored(c, t) for c, t in zip(columns, rows[0].operands, strict=True)]
        outs = [stored([0] * count, ty) for ty in types]
        program.f(*arrays, *outs)
        flat = [loaded(o, ty) for o, ty in zip(outs, types, strict=True)]
    results = iter(flat)
    return [[next(results) for _ in row.results] for row in rows]


def _one(program: Any, pair: Any, kinds: Sequence[str], types: Sequence[str]) -> Any:
    given = [passed(v, k) for v, k in zip(pair, kinds, strict=True)]
    result = program.f(*given)
    values = result if len(types) > 1 else (result,)
    return [returned(v, ty) for v, ty in zip(values, types, strict=True)]
