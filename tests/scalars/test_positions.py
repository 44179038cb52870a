"""Every scalar operation at every type, wherever it may stand, against the oracle.

Open results may be any number; what computes them must not crash.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from tests.scalars import casts, complexes, floats, integers
from tests.scalars.positions import POSITIONS, inputs_of, run
from tests.scalars.table import Row
from tests.scalars.values import COMPLEXES, FLOATS, INTEGERS, ODD, Number, same, within

TABLE: dict[str, list[Row]] = {
    **{
        ty: [*integers.arith(ty), *integers.math(ty), *casts.rows(ty)]
        for ty in INTEGERS
    },
    **{
        ty: [
            *floats.arith(ty),
            *floats.math(ty),
            *floats.functions(ty),
            *casts.rows(ty),
        ]
        for ty in FLOATS
    },
    **{ty: complexes.rows(ty) for ty in COMPLEXES},
    **{
        ty: [
            *integers.arith(ty),
            *integers.math(ty),
            *(row for row in casts.rows(ty) if "bitcast" not in row.name),
        ]
        for ty in ODD
    },
    "index dialect": integers.index(),
    "to odd widths": [
        row
        for ty in ("i7", "i32", "i64", "index", "f64")
        for row in casts.rows(ty, ODD)
        if "bitcast" not in row.name
    ],
}
ONLY_SCALARS = {"index dialect", *COMPLEXES}
CASES = [
    (ty, position)
    for ty in TABLE
    for position, (kind, _) in POSITIONS.items()
    if not (kind == "vector" and ty in ONLY_SCALARS)
]
QUICK = {
    ("i1", "host"),
    ("i1", "kernel"),
    ("i1", "vector"),
    ("i8", "loop"),
    ("i3", "loop"),
    ("to odd widths", "loop"),
    ("i24", "vector"),
    ("i48", "kernel"),
    ("i16", "vector"),
    ("index", "loop"),
    ("index", "kernel"),
    ("index dialect", "loop"),
    ("f32", "loop"),
    ("bf16", "vector"),
    ("complex<f64>", "loop"),
}


def differences(row: Row, results: Sequence[Sequence[Number]]) -> list[str]:
    """What an operation gave elsewhere than the oracle."""
    found: list[str] = []
    for i, operands in enumerate(zip(*inputs_of(row), strict=True)):
        want = row.want(*operands)
        wants = want if isinstance(want, tuple) else (want,)
        for one, result, ty in zip(wants, results, row.results, strict=True):
            if one is not None and not same(result[i], within(one, ty), row.tolerance):
                found.append(f"{row.name} of {operands}: {result[i]}, want {one}")
    return found


def by_operands(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows of the same operands share a program."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.operands].append(row)
    return list(groups.values())


@pytest.mark.drawn(15)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ty", "position"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
        for case in CASES
    ],
)
def test_operations(ty: str, position: str):
    wrong: list[str] = []
    for rows in by_operands(TABLE[ty]):
        for row, results in zip(rows, run(position, rows), strict=True):
            wrong += differences(row, results)[:1]
    assert wrong == []


def test_the_oracle_decides():
    """Most results are not open, so the comparison can fail."""
    for rows in TABLE.values():
        for row in rows:
            wants = [row.want(*xs) for xs in zip(*inputs_of(row), strict=True)]
            assert not wants or any(want is not None for want in wants), row.name
