"""Every operation's example does what docs/operations.md says."""

from __future__ import annotations

import pytest

from gpucodegen.parser import parse_module
from tests.operations.examples import Example, examples, names
from tests.operations.execution import RUNS, TARGETS, outcome, refuses
from tests.operations.page import PAGE, VERIFIED, outcomes, page, reason

NEEDS_SCIPY = {"stablehlo.cholesky", "stablehlo.triangular_solve"}
EXAMPLES = list(examples().values())
CASES = [(example, target) for target in TARGETS for example in EXAMPLES]


def ids(example: Example | str) -> str:
    return example if isinstance(example, str) else f"{example.operation}-"


@pytest.mark.sampled(160)
@pytest.mark.cases(("example", "target"), CASES, ids=ids, parts=7)
@pytest.mark.drawn(7)
def test_runs_where_the_page_says(example: Example, target: str):
    if example.operation in NEEDS_SCIPY:
        pytest.importorskip("scipy")
    wanted = outcomes().get((example.operation, target), RUNS)
    assert outcome(example, target) == wanted


@pytest.mark.sampled(8)
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
