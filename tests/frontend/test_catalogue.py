"""The catalogue of errors: codes, templates, rendering."""

from __future__ import annotations

import pickle
import string
import sys

import pytest

from gpucodegen import errors
from gpucodegen.ir.locations import FileLoc
from gpucodegen.parser import parse_module

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.Diagnostic)
]
CONCRETE = [kind for kind in CLASSES if kind.code]


def test_codes_are_unique():
    codes = [kind.code for kind in CONCRETE]
    assert len(set(codes)) == len(codes)


def test_no_module_hides_the_class_of_another():
    """What `gpucodegen.errors` gathers by `*` is all there is."""
    modules = {kind.__module__ for kind in CLASSES}
    declared = {
        value
        for module in modules
        for value in vars(sys.modules[module]).values()
        if isinstance(value, type) and issubclass(value, errors.Diagnostic)
    }
    assert declared == set(CLASSES)


@pytest.mark.cases("kind", CONCRETE, ids=lambda kind: kind.__name__)
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


RED = "\x1b[31m"


def test_what_a_terminal_would_obey_is_printed_by_name():
    place = FileLoc(f"{RED}f", 1, 8)
    error = errors.UnknownType(place, name=f"{RED}\u202eevil\x9b", notes=[(place, RED)])
    error.with_source(f"{RED}\t!x")
    printed = str(error)
    assert not [c for c in printed if not c.isprintable() and c not in "\n\t"]
    assert "'\\x1b[31m\\u202eevil\\x9b'" in printed
    head, line, caret, note, *_ = printed.split("\n")
    assert head.startswith("\\x1b[31mf:1:8: error: ")
    assert line == "  \\x1b[31m\t!x"
    assert caret == "  " + " " * len("\\x1b[31m") + "\t ^"
    assert note == "\\x1b[31mf:1:8: note: \\x1b[31m"


def test_a_text_with_escapes_is_refused_without_them():
    with pytest.raises(errors.ParseError) as refused:
        parse_module(f"func.func @f() {{\n  {RED}return\n}}", f"{RED}.mlir")
    assert "\x1b" not in str(refused.value)
