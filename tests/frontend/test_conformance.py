"""Every duty of the table of conformance is met, or stated as open."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest
from conformance.helpers import holds
from conformance.page import PAGE, page
from conformance.table import Chunk, chunks, elsewhere, owed, rows, shown, targets

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.parser import parse_module

REPOSITORY = Path(__file__).parents[2]
CHUNKS = chunks()
CLOSED = [chunk for chunk in CHUNKS if not chunk.open]
OPEN = [chunk for chunk in CHUNKS if chunk.open]
VALID = [chunk for chunk in CLOSED if not chunk.error]
INVALID = [chunk for chunk in CLOSED if chunk.error]

CLAIMS = [
    pytest.param(chunk, claim, target, id=f"{chunk.name}-{i}-{target}")
    for chunk in VALID
    for i, claim in enumerate(chunk.all("="))
    for target in targets(chunk, claim)
]


def ids(some: list[Chunk]) -> list[str]:
    return [chunk.name for chunk in some]


def parse(text: str) -> tuple[Module, list[str]]:
    """The module, and the names of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", errors.CodegenWarning)
        module = parse_module(text, allow_unregistered=True)
    return module, [type(warning.message).__name__ for warning in caught]


@pytest.mark.sampled(2)
@pytest.mark.cases("chunk", VALID, ids=ids(VALID), parts=4)
def test_parses_and_prints(chunk: Chunk):
    module, warned = parse(chunk.text)
    printed = str(module)
    assert str(parse(printed)[0]) == printed
    for line in chunk.all(">"):
        assert line in printed
    assert set(chunk.all("~")) <= set(warned)


@pytest.mark.cases("chunk", INVALID, ids=ids(INVALID))
def test_is_refused(chunk: Chunk):
    with pytest.raises(errors.Error) as caught:
        parse(chunk.text)
    error = caught.value
    place = error.place
    assert place is not None
    found = (type(error).__name__, (place.line, place.column))
    assert found == (chunk.error, chunk.place), str(error)


@pytest.mark.cases(("chunk", "claim", "target"), CLAIMS, parts=6)
@pytest.mark.sampled(28)
def test_holds(chunk: Chunk, claim: str, target: str):
    assert holds(claim, parse(chunk.text)[0], target)


def test_what_is_stated_as_open_is_not_met():
    """Remove the //! of those that are."""
    assert [chunk.name for chunk in OPEN if _is_met(chunk)] == []


def _is_met(chunk: Chunk) -> bool:
    try:
        if chunk.error:
            test_is_refused(chunk)
            return True
        test_parses_and_prints(chunk)
        for claim in chunk.all("="):
            for target in targets(chunk, claim):
                test_holds(chunk, claim, target)
    except (Exception, pytest.fail.Exception):  # noqa: BLE001
        return False
    return True


def test_every_duty_is_shown_or_stated_as_open():
    due = {(row.id, duty) for row in rows() for duty in row.duties}
    met, missing = set(shown()), set(owed())
    assert (met | missing) - due == set()
    assert due - met - missing == set()


def test_tests_elsewhere_exist():
    for _, name in elsewhere():
        path, _, function = name.partition("::")
        tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
        names = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        assert function.partition("[")[0].split("::")[-1] in names, name


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page()
