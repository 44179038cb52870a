"""Evaluation of isl text in NumPy against isl itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiling_nests import nests

from gpucodegen.tiling.model.isl import Solver
from gpucodegen.tiling.model.isl_evaluation import (
    Integers,
    UndecidedError,
    compiled,
    evaluated,
    formula,
    sum_of,
)

PAIRS = list(itertools.product(range(-3, 4), repeat=2))
POINTS: dict[str, Integers] = {
    "i": np.array([i for i, _ in PAIRS]),
    "j": np.array([j for _, j in PAIRS]),
}


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Texts of one more level, with and without the parentheses that they need."""
    number = st.sampled_from(["2", "3", "4", "-2"])
    return st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - "]), inner).map("".join),
        st.tuples(number, st.just("*"), inner).map("".join),
        st.tuples(inner, st.just("*"), number).map("".join),
        inner.map("-{}".format),
        inner.map("({})".format),
        inner.map("({}) mod 3".format),
        inner.map("{} mod 3".format),
        inner.map("({} mod 4)".format),
        inner.map("(({}) mod 4)".format),
        inner.map("floor(({})/2)".format),
        inner.map("floor({}/3)".format),
        st.tuples(inner, st.just(", "), inner).map(lambda t: f"min({''.join(t)})"),
        st.tuples(inner, st.just(", "), inner).map(lambda t: f"max({''.join(t)})"),
    )


TEXTS = st.recursive(
    st.sampled_from(["i", "j", "0", "1", "5"]), _combined, max_leaves=6
)


def agrees_with_isl(text: str) -> bool | None:
    """Whether the values of an index are those of isl; None where it is refused."""
    try:
        values = formula(text).value(POINTS)
    except UndecidedError:
        return None
    solver = Solver()
    found = solver.read(
        f"{{ [i, j] -> [c] : c = {text} and -3 <= i <= 3 and -3 <= j <= 3 }}"
    )
    every = np.broadcast_to(values, len(PAIRS)).tolist()
    points = zip(PAIRS, every, strict=True)
    ours = "; ".join(f"[{i}, {j}] -> [{value}]" for (i, j), value in points)
    return found is None or found.is_equal(solver.map(f"{{ {ours} }}"))


@pytest.mark.slow
@settings(nests, max_examples=100)
@given(TEXTS)
def test_indices_have_the_values_of_isl(text: str) -> None:
    assert agrees_with_isl(text) is not False


@pytest.mark.slow
@settings(nests, max_examples=1500)
@given(TEXTS)
def test_many_indices_have_the_values_of_isl(text: str) -> None:
    assert agrees_with_isl(text) is not False


@settings(nests, max_examples=100)
@given(TEXTS)
def test_parts_and_sums_have_the_value_of_the_whole(text: str) -> None:
    try:
        values = formula(text).value(POINTS)
    except UndecidedError:
        return
    split = formula(text, frozenset({"i"}))
    parts = {name: evaluated(code, POINTS) for name, code in split.parts}
    assert "i" not in split.variables
    assert np.all(split.value({**parts, "j": POINTS["j"]}) == values)
    total = sum_of(text)
    atoms = {
        key: evaluated(compiled(atom), POINTS) for key, atom in total.atoms.items()
    }
    terms = sum((total.factors[key] * atoms[key] for key in atoms), total.constant)
    assert np.all(terms == values)


@pytest.mark.cases(
    "text",
    [
        "2*i mod 4",
        "-i mod 4",
        "i + j mod 4 * 2",
        "i mod 4 mod 3",
        "i mod j",
        "i*j",
        "i/2",
        "floor(i + j/2)",
        "floor(2*i/4)",
        "floor(i/0)",
        "i mod -2",
        "exists e : i = 2*e",
        "ceil(i/2)",
        "i >= 0",
        "1099511627776*(1099511627776*i)",
        "True",
        "2i",
    ],
)
def test_unclear_texts_are_refused(text: str) -> None:
    with pytest.raises(UndecidedError):
        formula(text)


@pytest.mark.cases(
    ("text", "held"),
    [
        ("i = 0", 7),
        ("i - j >= 0", 28),
        ("(i + 2*j) mod 3 = 0", 17),
        ("i != j", 42),
        ("min(i, j) < 0", 33),
    ],
)
def test_constraints(text: str, held: int) -> None:
    assert formula(text, is_constraint=True).value(POINTS).sum() == held


@pytest.mark.cases("text", ["i", "0 <= i < 2", "i = 0 or j = 0", "not (i = 0)"])
def test_unclear_constraints_are_refused(text: str) -> None:
    with pytest.raises(UndecidedError):
        formula(text, is_constraint=True)
