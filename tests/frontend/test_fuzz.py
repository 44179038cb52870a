"""Whatever the text, the answer is a module or a catalogued error."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpucodegen import errors
from gpucodegen.parser import parse_module

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
def mutated(draw: st.DrawFn) -> str:
    tokens = list(draw(st.sampled_from(CHUNKS)))
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


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=mutated(), allow_unregistered=st.booleans())
def test_mutated_tokens(text: str, allow_unregistered: bool):
    survives(text, allow_unregistered=allow_unregistered)


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=80))
def test_any_text(text: str):
    survives(text, allow_unregistered=True)


@settings(max_examples=300, deadline=None)
@given(words=st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_words(words: list[str]):
    survives(" ".join(words), allow_unregistered=True)
