"""Room for deep recursion is one limit of the whole interpreter, shared by threads."""

from __future__ import annotations

import sys

from gpucodegen.ir.operation import deep_recursion


def test_the_limit_stays_raised_until_the_last_leaves_and_then_returns() -> None:
    before = sys.getrecursionlimit()
    first, second = deep_recursion(), deep_recursion()
    with first:
        raised = sys.getrecursionlimit()
        second.__enter__()
    during = sys.getrecursionlimit()
    second.__exit__(None, None, None)
    assert before < raised == during
    assert sys.getrecursionlimit() == before


def test_a_limit_that_others_set_meanwhile_is_theirs() -> None:
    before = sys.getrecursionlimit()
    try:
        with deep_recursion():
            sys.setrecursionlimit(9000)
        assert sys.getrecursionlimit() == 9000
    finally:
        sys.setrecursionlimit(before)
