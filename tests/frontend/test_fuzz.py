"""Whatever the text, the answer is a module or a catalogued error.

``GPUCODEGEN_FUZZ`` multiplies the number of examples: 15 makes more than 20,000.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_modules import modules

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.printing import print_module
from gpucodegen.parser import parse_module

TIMES = int(os.environ.get("GPUCODEGEN_FUZZ", "1"))
CORPUS = [p.read_text() for p in sorted((Path(__file__).parent / "corpus").glob("*"))]
TOKEN = re.compile(r"\s+|[%@#!^]?[\w$.]+|\"[^\"]*\"|->|.", re.DOTALL)
FUNCTIONS = [
    piece
    for text in CORPUS
    for piece in re.split(r"\n(?=func\.func|module|memref\.global)", text)
]
CHUNKS = [TOKEN.findall(piece) for piece in FUNCTIONS if piece.strip()]
WORDS = sorted({token for chunk in CHUNKS for token in chunk if token.strip()})
NASTY = [
    "",
    '"',
    "☃",
    "\0",
    "0x",
    "-",
    "9" * 5000,
    "<" * 50,
    "(" * 400,
    "^",
    "%",
    "{-#",
]


@st.composite
def mutated(draw: st.DrawFn, chunks: st.SearchStrategy[list[str]]) -> str:
    tokens = list(draw(chunks))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(tokens) - 1))
        word = draw(st.sampled_from(WORDS) | st.sampled_from(NASTY))
        match draw(st.integers(0, 4)):
            case 0:
                tokens[at] = word
            case 1:
                tokens.insert(at, word)
            case 2:
                tokens[at] = ""
            case 3:
                other = draw(st.integers(0, len(tokens) - 1))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case _:
                del tokens[at + 1 :]
    return "".join(tokens)


WRITTEN = mutated(st.sampled_from(CHUNKS))
PRINTED = mutated(modules().map(lambda module: TOKEN.findall(str(module))))


def survives(text: str, *, allow_unregistered: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        try:
            module = parse_module(text, allow_unregistered=allow_unregistered)
        except errors.Error as error:
            failure = error
        else:
            failure = None
        if failure is not None:
            assert failure.place is not None
            assert failure.message
            return
        printed = str(module)
        again = parse_module(printed, allow_unregistered=allow_unregistered)
        assert str(again) == printed


def fuzz(examples: int) -> settings:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=examples * TIMES, deadline=None, suppress_health_check=quiet
    )


ANY_MODULE = given(module=modules(), generic=st.booleans(), locations=st.booleans())


def prints_and_parses(module: Module, generic: bool, locations: bool):
    root = module.operation
    text = print_module(root, generic=generic, locations=locations)
    again = parse_module(text, allow_unregistered=True).operation
    assert print_module(again, generic=generic, locations=locations) == text
    assert print_module(again) == print_module(root)


@pytest.mark.slow
@fuzz(8)
@ANY_MODULE
def test_printed_modules(module: Module, generic: bool, locations: bool):
    prints_and_parses(module, generic, locations)


@pytest.mark.slow
@fuzz(150)
@ANY_MODULE
def test_many_printed_modules(module: Module, generic: bool, locations: bool):
    prints_and_parses(module, generic, locations)


@pytest.mark.sampled(40)
@fuzz(600)
@given(text=WRITTEN, allow_unregistered=st.booleans())
def test_mutated_tokens(text: str, allow_unregistered: bool):
    survives(text, allow_unregistered=allow_unregistered)


@pytest.mark.slow
@fuzz(8)
@given(text=PRINTED)
def test_mutated_modules(text: str):
    survives(text, allow_unregistered=True)


@pytest.mark.slow
@fuzz(150)
@given(text=PRINTED)
def test_many_mutated_modules(text: str):
    survives(text, allow_unregistered=True)


@pytest.mark.slow
@fuzz(300)
@given(text=st.text(max_size=80))
def test_any_text(text: str):
    survives(text, allow_unregistered=True)


@pytest.mark.sampled(3)
@fuzz(300)
@given(words=st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_words(words: list[str]):
    survives(" ".join(words), allow_unregistered=True)
