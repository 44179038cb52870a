"""Operations on constants: folded, on the host, in kernels and interpreted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import gpucodegen as gcg
from tests.scalars import casts, integers
from tests.scalars.positions import LETTERS, body, inputs_of
from tests.scalars.table import Row
from tests.scalars.values import (
    Number,
    is_integer,
    loaded,
    returned,
    same,
    stored,
    within,
)

Case = tuple[Row, tuple[Number, ...]]


def cases_of(ty: str, most: int) -> list[Case]:
    """Every operation on integers at corners whose results are not open."""
    rows = [*integers.arith(ty), *integers.math(ty)]
    rows += [row for row in casts.rows(ty) if all(map(is_integer, row.operands))]
    made: list[Case] = []
    for row in rows:
        tuples = list(dict.fromkeys(zip(*inputs_of(row), strict=True)))
        known = [t for t in tuples if None not in _wants(row, t)]
        made += [(row, t) for t in known[:: max(1, len(known) // most)]]
    return made


def _wants(row: Row, operands: Sequence[Number]) -> tuple[Number | None, ...]:
    want = row.want(*operands)
    return want if isinstance(want, tuple) else (want,)


def _constant(name: str, value: Number, ty: str) -> str:
    text = ("true" if value else "false") if ty == "i1" else f"{value} : {ty}"
    return f"{name} = arith.constant {text}"


def run(cases: Sequence[Case], target: str, *, in_loop: bool) -> list[Number]:
    """The results, in order: returned, or stored by a loop over one element."""
    lines: list[str] = []
    names: list[str] = []
    types: list[str] = []
    for number, (row, operands) in enumerate(cases):
        for letter, value, ty in zip(LETTERS, operands, row.operands, strict=False):
            lines.append(_constant(f"%{letter}_{number}", value, ty))
        lines.append(body(row, number))
        names += [f"%{n}_{number}" for n, _ in zip("rs", row.results, strict=False)]
        types += row.results
    if not in_loop:
        listed, returns = ", ".join(types), ", ".join(names)
        text = (
            f"func.func @f() -> ({listed}) {{\n" + "\n".join(lines) + "\n"
            f"return {returns} : {listed}\n}}"
        )
        values = gcg.compile(text, target=target).f()
        return [returned(v, ty) for v, ty in zip(values, types, strict=True)]
    kinds = list(dict.fromkeys(types))
    counts = {ty: types.count(ty) for ty in kinds}
    memrefs = {ty: f"memref<4x{n}x{ty}>" for ty, n in counts.items()}
    places = dict.fromkeys(kinds, 0)
    where: list[tuple[str, int]] = []
    for name, ty in zip(names, types, strict=True):
        at = f"%out_{kinds.index(ty)}[%i, {places[ty]}]"
        lines.append(f"affine.store {name}, {at} : {memrefs[ty]}")
        where.append((ty, places[ty]))
        places[ty] += 1
    given = ", ".join(f"%out_{n}: {memrefs[ty]}" for n, ty in enumerate(kinds))
    text = f"func.func @f({given}) {{\naffine.for %i = 0 to 4 {{\n" + "\n".join(lines)
    text += "\n}\nreturn\n}"
    outs = {ty: stored([0] * 4 * n, ty).reshape(4, n) for ty, n in counts.items()}
    gcg.compile(text, target=target).f(*outs.values())
    found = {ty: loaded(out[3].copy(), ty) for ty, out in outs.items()}
    return [found[ty][n] for ty, n in where]


def differences(ty: str, target: str, *, in_loop: bool, most: int = 64) -> list[str]:
    """What an operation on constants gives elsewhere than the oracle."""
    cases = cases_of(ty, most)
    results = iter(run(cases, target, in_loop=in_loop))
    wrong: list[str] = []
    for row, operands in cases:
        for one, kind in zip(_wants(row, operands), row.results, strict=True):
            found = next(results)
            assert one is not None
            if not same(found, within(one, kind), row.tolerance):
                wrong.append(f"{row.name} of {operands}: {found}, want {one}")
    return wrong


def test_constants_of_one_bit():
    for in_loop in (False, True):
        assert differences("i1", "interp", in_loop=in_loop) == []


def test_interpreter_at_odd_widths():
    for ty in ("i2", "i7"):
        assert differences(ty, "interp", in_loop=False, most=4) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim", "interp"])
@pytest.mark.drawn(2)
def test_constants(target: str):
    for ty in ("i1", "i2", "i7"):
        for in_loop in (False, True):
            assert differences(ty, target, in_loop=in_loop, most=2) == [], ty
