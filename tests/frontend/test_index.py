"""The predicate of index.cmp, whose attribute changed its spelling."""

from __future__ import annotations

import pytest

from gpucodegen.parser import parse_module


@pytest.mark.parametrize(
    "predicate", ["#index<cmp_predicate slt>", "#index.cmp_predicate<slt>"]
)
def test_both_spellings_of_a_predicate(predicate: str):
    module = parse_module(
        "func.func @f(%a: index) {\n"
        f'  %0 = "index.cmp"(%a, %a) <{{pred = {predicate}}}> : (index, index) -> i1\n'
        "  return\n}"
    )
    assert "%0 = index.cmp slt(%a, %a)" in str(module)
    assert "pred = #index.cmp_predicate<slt>" in module.generic()
