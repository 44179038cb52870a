"""Affine maps and sets as text: today's and old spellings, rules, deep nesting."""

from __future__ import annotations

import pytest
from single import attribute, check_refused

from gpucodegen import errors
from gpucodegen.ir.attributes import AffineMapAttr


@pytest.mark.cases(
    ("written", "printed"),
    [
        ("() -> ()", "() -> ()"),
        ("() -> (0)", "() -> (0)"),
        ("()[n] -> (n)", "()[s0] -> (s0)"),
        ("(i)[] -> (i)", "(d0) -> (d0)"),
        ("(i, j)[n] -> (i + n, j floordiv 2, -j)",
         "(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2, -d1)"),
        ("(d0) -> (d0 * -4 + 3, 2 * d0 - 5)", "(d0) -> (d0 * -4 + 3, d0 * 2 - 5)"),
        ("(d0) -> (0x10 + d0)", "(d0) -> (d0 + 16)"),
        ("(d0) -> (--d0)", "(d0) -> (d0)"),
        ("(d0) -> (5 ceildiv 2, -5 floordiv 2, -5 mod 3)", "(d0) -> (3, -3, 1)"),
        ("(d0)[s0] -> (d0 floordiv s0, d0 mod (s0 * 2))",
         "(d0)[s0] -> (d0 floordiv s0, d0 mod (s0 * 2))"),
        ("(d0)[s0] -> (d0 * s0, (d0 + 1) * (s0 + 2))",
         "(d0)[s0] -> (d0 * s0, (d0 + 1) * (s0 + 2))"),
        ("(d0) -> (d0 floordiv 4 * 4 + d0 mod 4)",
         "(d0) -> ((d0 floordiv 4) * 4 + d0 mod 4)"),
        ("(d0,\n   d1) // both\n -> (d1,\n // swapped\n d0)", "(d0, d1) -> (d1, d0)"),
        ("(d0) -> (d0 div 2)", "(d0) -> (d0 floordiv 2)"),
    ],
)  # fmt: skip
def test_maps(written: str, printed: str):
    value = attribute(f"affine_map<{written}>")
    assert str(value) == f"affine_map<{printed}>"
    assert attribute(str(value)) == value
    assert isinstance(value, AffineMapAttr)
    sizes = ", ".join("9" for _ in value.map.results)
    if sizes:
        assert attribute(f"{written} size ({sizes})") == value


@pytest.mark.cases(
    ("written", "printed"),
    [
        ("(d0) : (d0 - 1 >= 0)", "(d0) : (d0 - 1 >= 0)"),
        ("(d0) : (1 <= d0, d0 <= 7)", "(d0) : (d0 - 1 >= 0, -d0 + 7 >= 0)"),
        ("(i, j)[n] : (i == j * 2, i mod 2 == 0, j >= 0 - n)",
         "(d0, d1)[s0] : (d0 - d1 * 2 == 0, d0 mod 2 == 0, d1 + s0 >= 0)"),
        ("() : (1 == 0)", "() : (1 == 0)"),
    ],
)  # fmt: skip
def test_sets(written: str, printed: str):
    value = attribute(f"affine_set<{written}>")
    assert str(value) == f"affine_set<{printed}>"
    assert attribute(written) == value == attribute(str(value))


@pytest.mark.cases(
    ("text", "code"),
    [
        ("affine_map<(d0) -> §d0>", "P001"),
        ("affine_map<(d0, §d0) -> (d0)>", "P022"),
        ("affine_map<(d0) -> (§d1)>", "P022"),
        ("affine_map<(d0, d1) -> (d0 §* d1)>", "P022"),
        ("affine_map<(d0)[s0] -> (s0 §mod d0)>", "P022"),
        ("affine_map<(d0) -> (d0 +§)>", "P001"),
        ("affine_map<(d0) -> (d0 §/ 2)>", "P004"),
        ("affine_map<(d0) -> (§1.0)>", "P001"),
        ("affine_map<(d0 §-> (d0)>", "P004"),
        ("affine_map<(d0) §: (d0 >= 0)>", "P001"),
        ("affine_set<(d0) §-> (d0)>", "P001"),
        ("affine_set<(d0) : (d0 §> 1)>", "P001"),
        ("affine_set<(d0) : (d0§)>", "P001"),
        ("affine_set<(d0) : §d0 >= 0>", "P001"),
    ],
)
def test_is_refused(text: str, code: str):
    check_refused(text, code)


@pytest.mark.cases(
    "body",
    [
        "(" * 1000 + "d0" + ")" * 1000,
        "-" * 1000 + "d0",
        "d0" + " mod 7 floordiv 3" * 1000,
        "d0" + " * s0" * 1000,
    ],
)
def test_deep_expressions_are_refused(body: str):
    with pytest.raises(errors.TooDeep):
        attribute(f"affine_map<(d0)[s0] -> ({body})>")


def test_long_sums_are_fine():
    names = [f"d{i}" for i in range(300)]
    text = f"affine_map<({', '.join(names)}) -> ({' + '.join(names)})>"
    assert str(attribute(text)) == text
