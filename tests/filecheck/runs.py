"""The ``RUN:`` lines of a file, carried out in this process.

A line is a pipeline of commands as a shell has it: ``gpucodegen``, ``not`` before it
where it has to fail, ``2>&1`` for its diagnostics too, and ``filecheck``. ``%s`` is the
file.  A backslash at its end joins a line with the next RUN line.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options

from gpucodegen.cli import main

RUN = re.compile(r"^\s*//\s*RUN:(.*)$", re.MULTILINE)


class RunFailed(Exception):
    """A command of a RUN line ended as it should not, or a check found no match."""


def lines(text: str) -> list[str]:
    r"""The commands of a file.

    >>> lines("// RUN: a \\\n// RUN: b\n// RUN: c\n// CHECK: d")
    ['a b', 'c']
    """
    found = "\n".join(line.strip() for line in RUN.findall(text))
    return re.sub(r"\s*\\\n", " ", found).splitlines()


def carry_out(line: str, path: Path) -> None:
    """Run the commands of a line, each on what the one before it printed.

    Raises RunFailed.
    """
    printed = ""
    for command in _commands(line):
        words = [word.replace("%s", str(path)) for word in command]
        printed = _carried_out(words, printed, line)


def _commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a pipeline."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    command: list[str] = []
    for word in lexer:
        if word == "|":
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _carried_out(words: Sequence[str], given: str, line: str) -> str:
    is_both = words[-1] == "2>&1"
    shown = words[:-1] if is_both else words
    expects_failure = shown[0] == "not"
    name, *arguments = shown[expects_failure:]
    if name not in COMMANDS:
        raise RunFailed(f"no command {name!r}; known: {', '.join(COMMANDS)}")
    out = StringIO()
    err = out if is_both else StringIO()
    with _standard_input(given), redirect_stdout(out), redirect_stderr(err):
        status = COMMANDS[name](arguments)
    if bool(status) != expects_failure:
        told = "" if is_both else err.getvalue()
        raise RunFailed(f"{line}\n{name} ended with {status}\n{out.getvalue()}{told}")
    return out.getvalue()


@contextmanager
def _standard_input(text: str) -> Iterator[None]:
    before, sys.stdin = sys.stdin, StringIO(text)
    try:
        yield
    finally:
        sys.stdin = before


def _filecheck(arguments: Sequence[str]) -> int:
    return Matcher.from_opts(parse_argv_options(["filecheck", *arguments])).run()


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "gpucodegen": main,
    "filecheck": _filecheck,
}
