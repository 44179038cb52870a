"""Plans on a CPU depend on few thresholds, each with its meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gpucodegen.tiling import machine

FOLDER = Path(machine.__file__).parent
MOST = 29
OTHERS = {
    *("HELD", "WORD", "BYTE", "CACHE_LINE"),  # facts of processors
    "ALONGSIDE",  # a fact of a loop: the registers that it needs
    *(
        "STEPS",
        "WIDTHS",
        "ROW_WIDTHS",
        "DIAGONAL_ROWS",
        "USUAL_STEPS",
    ),  # what is searched
}


def numbers() -> Iterator[tuple[str, ast.stmt]]:
    """The constants of modules for CPUs with numbers in them, and what follows each."""
    for path in sorted(FOLDER.rglob("*.py")):
        if "gpu" in path.relative_to(FOLDER).parts:
            continue
        for node, after in pairwise(ast.parse(path.read_text("utf-8")).body):
            if not isinstance(node, ast.Assign):
                continue
            (target,) = node.targets
            parts = list(ast.walk(node.value))
            values = [part.value for part in parts if isinstance(part, ast.Constant)]
            numeric = values and all(isinstance(value, int | float) for value in values)
            is_call = any(isinstance(part, ast.Call) for part in parts)
            if isinstance(target, ast.Name) and numeric and not is_call:
                yield target.id, after


FOUND = [each for each in numbers() if each[0] not in OTHERS and each[0].isupper()]


def test_thresholds_are_few():
    assert 0 < len(FOUND) <= MOST


@pytest.mark.cases(("name", "after"), FOUND, ids=[name for name, _ in FOUND])
def test_each_says_what_it_is(name: str, after: ast.stmt):
    assert isinstance(after, ast.Expr), name
    assert isinstance(after.value, ast.Constant), name
