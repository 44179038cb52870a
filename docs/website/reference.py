"""Reference pages: functions, commands and errors, as the code has them.

Comes in: the package itself.  Goes out: Markdown; functions are left to mkdocstrings.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING
from unittest.mock import patch

import gpucodegen
from gpucodegen import cli, errors
from website.made import Made
from website.pages import ROOT

if TYPE_CHECKING:
    from tests.frontend.invalid_programs import Chunk

FAMILIES = {
    "P": "Text that is not MLIR",
    "V": "Modules that break a rule",
    "C": "Valid modules that cannot be compiled as asked",
    "J": "Python functions that cannot be compiled as they are",
    "L": "Wrong calls, and failures while running",
    "W": "Warnings",
}
"""The first letter of a code, and what these errors are about."""
RESULTS = (
    "options.Options",
    "calls.function.Function",
    "python.function.JitFunction",
    "python.build.Builder",
    "analysis.Analysis",
    "report.explanation.Explanation",
    "tuning.result.TuneResult",
)
"""What the functions of the package take and return."""
FRAMEWORKS = ("interop.torch", "interop.jax", "interop.dask")

# -- functions ------------------------------------------------------------------------


def functions() -> str:
    """The names of the package, and what they return; modules have other pages."""
    values = {name: getattr(gpucodegen, name) for name in gpucodegen.__all__}
    names = [n for n, v in values.items() if not isinstance(v, str | ModuleType)]
    failures = [n for n in names if _is_kind(values[n])]
    calls = [n for n in names if inspect.isfunction(values[n])]
    others = [n for n in names if n not in {*calls, *failures}]
    ordered = (*calls, *others, *RESULTS, *failures)
    entries = [_entry(f"gpucodegen.{name}") for name in ordered]
    head = "# Functions and classes\n\n`import gpucodegen as gcg`\n"
    return "\n".join([head, *entries])


def modules(title: str, *names: str) -> str:
    """The functions of modules, each after what the module says of itself."""
    parts = [f"# {title}\n"]
    for name in names:
        home = f"gpucodegen.{name}"
        parts.append(f"::: {home}\n    options: {{members: false}}\n")
        parts += [_entry(f"{home}.{m}", 3) for m in _members(import_module(home))]
    return "\n".join(parts)


def _members(module: ModuleType) -> Iterable[str]:
    """What a module offers: as it says, else the functions that it defines."""
    own = [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and name[0] != "_"
    ]
    return getattr(module, "__all__", own)


def _entry(name: str, level: int = 2) -> str:
    return f"::: {name}\n    options: {{heading_level: {level}}}\n"


# -- commands -------------------------------------------------------------------------


_ABOUT_COMMANDS = """\
`gpucodegen COMMAND --help` prints the same. Results go to standard output, the rest to
standard error. The exit status is 0, 1 if any input failed, 2 for a wrong command line.
"""


def commands() -> str:
    """What each command says of itself."""
    parts = [
        "# Commands\n",
        _ABOUT_COMMANDS,
    ]
    with patch.dict(os.environ, COLUMNS="88"):
        for name, parser in cli.parsers().items():
            summary = cli.COMMANDS[name]
            text = parser.format_help().replace(f"{summary}\n\n", "", 1).rstrip()
            parts.append(f"## {name}\n\n{summary[0].upper()}{summary[1:]}.\n")
            parts.append(f"```text\n{text}\n```\n")
    return "\n".join(parts)


# -- errors ---------------------------------------------------------------------------


_ABOUT_ERRORS = """\
Every failure is an exception with a code, a place in the program where there is one,
and a remedy as its last sentence. Names in braces are filled in. The classes are in
`gpucodegen.errors`; a warning is silenced, or made an error, by its class.
"""


def catalogue() -> str:
    """Every error by its code: what it says, what helps, an example."""
    kinds = {value for value in vars(errors).values() if _is_kind(value)}
    coded = sorted((kind for kind in kinds if kind.code), key=lambda kind: kind.code)
    parts = [
        "# Errors and warnings\n",
        _ABOUT_ERRORS,
    ]
    for letter, title in FAMILIES.items():
        parts.append(f"## {title}\n")
        parts += [_error(kind) for kind in coded if kind.code[0] == letter]
    return "\n".join(parts)


def _is_kind(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, errors.Diagnostic)


def _error(kind: type[errors.Diagnostic]) -> str:
    about = " ".join((kind.__doc__ or "").split())
    bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
    message = f"{kind.severity}: {kind.template}. {kind.remedy}"
    parts = [
        f"### {kind.code} {kind.__name__}\n",
        f"{about} A subclass of {bases}.\n",
        f"> `` {message} ``\n",
        *_example(kind.code),
    ]
    if places := [*_mentions(kind.__name__, kind.code)]:
        parts.append(f"See {', '.join(places)}.\n")
    return "\n".join(parts)


def _example(code: str) -> Iterator[str]:
    """The shortest invalid program of the tests with this error, and what is said."""
    from gpucodegen.parser import parse_module

    texts = [chunk.text for chunk in _invalid() if chunk.code == code]
    if not texts:
        return
    text = min(texts, key=len)
    kept = [line for line in text.split("\n") if not re.match(r"//[ ]*\^", line)]
    title = kept.pop(0).removeprefix("// ")
    program = "\n".join(kept).strip("\n")
    unregistered = code != errors.UnknownOperation.code
    try:
        parse_module(program, "example.mlir", allow_unregistered=unregistered)
    except errors.Error as error:
        yield f'```mlir title="{title}"\n{program}\n```\n'
        yield f"```text\n{error}\n```\n"


@cache
def _invalid() -> list[Chunk]:
    from tests.frontend.invalid_programs import chunks

    return chunks()


def _mentions(*names: str) -> Iterator[str]:
    """Pages that name an error, and the first of the tests that do."""
    for path, title, words in _texts("docs/*.md"):
        if not words.isdisjoint(names):
            yield f"[{title}]({path.removeprefix('docs/')})"
    tests = _texts("tests/**/test_*.py")
    named = (path for path, _, words in tests if not words.isdisjoint(names))
    if test := next(named, ""):
        yield f"`{test}`"


@cache
def _texts(pattern: str) -> list[tuple[str, str, frozenset[str]]]:
    """Path, first line and words of files."""
    found: list[tuple[str, str, frozenset[str]]] = []
    for path in sorted(ROOT.glob(pattern)):
        text, name = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
        title = text.partition("\n")[0].removeprefix("# ")
        found.append((name, title, frozenset(re.findall(r"\w+", text))))
    return found


# -- the pages ------------------------------------------------------------------------

PAGES = {
    f"reference/{name}.md": Made("Reference", title, about, text)
    for name, title, about, text in (
        (
            "functions",
            "Functions and classes",
            "what `import gpucodegen as gcg` gives",
            functions,
        ),
        (
            "kernels",
            "Ready-made kernels",
            "the functions of `gcg.kernels`",
            partial(modules, "Ready-made kernels", "kernels"),
        ),
        (
            "frameworks",
            "Other frameworks",
            "`gcg.torch`, `gcg.jax` and `gcg.dask`",
            partial(modules, "Other frameworks", *FRAMEWORKS),
        ),
        ("commands", "Commands", "what `gpucodegen COMMAND --help` says", commands),
        ("errors", "Errors and warnings", "each by its code, with a remedy", catalogue),
    )
}
