"""Every operation's example does what docs/operations.md says."""

from __future__ import annotations

import pytest

from gpucodegen.parser import parse_module
from tests.operations.examples import Example, examples, names
from tests.operations.execution import RUNS, outcome, refuses
from tests.operations.page import PAGE, VERIFIED, outcomes, page, reason

NEEDS_SCIPY = {"stablehlo.cholesky", "stablehlo.triangular_solve"}
EXAMPLES = list(examples().values())
COMPILED = ("cpu", "sim")
ONCE = [
    (example, target)
    for n, example in enumerate(EXAMPLES)
    for target in ("interp", COMPILED[n % 2])
]
"""Each example in the interpreter and on one target that compiles it."""
AGAIN = [(example, COMPILED[1 - n % 2]) for n, example in enumerate(EXAMPLES)]
"""Each example on the other target."""


def ids(example: Example | str) -> str:
    return example if isinstance(example, str) else f"{example.operation}-"


@pytest.mark.sampled(107)
@pytest.mark.cases(("example", "target"), ONCE, ids=ids, parts=5)
def test_runs_where_the_page_says(example: Example, target: str):
    check_outcome(example, target)


@pytest.mark.slow
@pytest.mark.cases(("example", "target"), AGAIN, ids=ids, parts=5)
@pytest.mark.drawn(1)
def test_runs_on_the_other_target_where_the_page_says(example: Example, target: str):
    check_outcome(example, target)


def check_outcome(example: Example, target: str) -> None:
    if example.operation in NEEDS_SCIPY:
        pytest.importorskip("scipy")
    wanted = outcomes().get((example.operation, target), RUNS)
    assert outcome(example, target) == wanted


@pytest.mark.slow
@pytest.mark.cases("example", EXAMPLES, ids=ids)
def test_parses_back_and_is_verified(example: Example):
    printed = str(parse_module(example.text))
    assert str(parse_module(printed)) == printed
    assert refuses(example) == ((example.operation, VERIFIED) not in outcomes())


def test_every_operation_has_an_example_or_a_reason():
    assert {e for e in examples() if e not in names()} == set()
    assert [n for n in names() if n not in examples() and not reason(n)] == []


def test_what_does_not_run_has_a_reason():
    failed = {name for name, target in outcomes() if target != VERIFIED}
    assert [name for name in sorted(failed) if not reason(name)] == []


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page()
