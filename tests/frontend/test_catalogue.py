"""The catalogue of errors: codes, templates, rendering."""

from __future__ import annotations

import pickle
import string

import pytest

from gpucodegen import errors
from gpucodegen.ir.locations import FileLoc

CLASSES = [
    value
    for name in errors.__all__
    for value in (getattr(errors, name),)
    if isinstance(value, type) and issubclass(value, errors.Diagnostic)
]
CONCRETE = [kind for kind in CLASSES if kind.code]


def test_codes_are_unique():
    codes = [kind.code for kind in CONCRETE]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("kind", CONCRETE, ids=lambda kind: kind.__name__)
def test_class_is_complete(kind: type[errors.Diagnostic]):
    fields = {
        name
        for text in (kind.template, kind.remedy)
        for _, name, _, _ in string.Formatter().parse(text)
        if name
    }
    assert kind.__doc__
    assert kind.remedy, "a remedy is the last sentence"
    error = kind(FileLoc("f", 1, 2), **dict.fromkeys(fields, "x")).with_source("ab")
    assert str(error).startswith("f:1:2: ")
    assert str(error).endswith("\n  ab\n   ^")


def test_errors_survive_pickling():
    error = errors.UnknownType(FileLoc("f", 1, 1), name="f33").with_source("f33")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert type(copy) is errors.UnknownType


def test_notes_have_their_own_place():
    error = errors.RedefinedSymbol(
        FileLoc("f", 2, 1), name="a", notes=[(FileLoc("f", 1, 1), "first here")]
    ).with_source("one\ntwo")
    assert str(error).split("\n")[3:] == ["f:1:1: note: first here", "  one", "  ^"]
