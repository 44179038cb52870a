"""Translations of Python functions on disk, so that a later process needs none.

A translation follows from the function's text and place in its file, the argument
types, this package, and the global names that the function mentions.  `key_of` digests
all of them; a function that mentions a name whose value could change without a trace
(an array, a module other than NumPy's and Python's, a wrapper of a function)
has no key and is translated in every process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpucodegen.program_text import Source
from gpucodegen.python.results import ArrayResult, Given, Made, Result, is_tuple
from gpucodegen.python.source import block_of, compiled_from, names_of
from gpucodegen.python.types import Truth
from gpucodegen.runtime.storage import cache, records

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.python.types import ArgumentType

STORE = cache.Store("python")
LIBRARIES = ("builtins", "math", "numpy", "gpucodegen")
"""Packages whose contents the key knows by their version."""


class _NotData(Exception):
    """A name has a value of which no key can be made."""


def key_of(function: Callable[..., Any], types: Sequence[ArgumentType]) -> str | None:
    """The key of a translation; None if there is none."""
    try:
        parts = _parts(function, set())
    except (_NotData, OSError, TypeError):
        return None
    versions = sys.version_info[:2], np.__version__, cache.sources_digest()
    return cache.digest(parts, [repr(t) for t in types], versions)


def _parts(function: Any, seen: set[Any]) -> tuple[object, ...]:
    """All that decides over a function's translation, but for the types."""
    if function in seen:
        return ("a function around it",)
    seen.add(function)
    code, visible = function.__code__, names_of(function)
    lines = "".join(block_of(function)[1])
    mentioned = sorted({*_mentioned(code)} & visible.keys())
    positional: tuple[Any, ...] = function.__defaults__ or ()
    named: dict[str, Any] = function.__kwdefaults__ or {}

    def part(value: object) -> object:
        callee = compiled_from(value)
        if callee is not None:
            return _parts(callee, seen)
        return _fingerprint(value)

    return (
        *(code.co_filename, code.co_firstlineno, lines),
        *((name, part(visible[name])) for name in mentioned),
        _fingerprint((positional, tuple(named.items()))),
    )


def _mentioned(code: CodeType) -> Iterator[str]:
    """Global names and names of closures, those of nested functions included."""
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _mentioned(constant)


def _fingerprint(value: Any) -> object:
    """What identifies a value that no translation changes."""
    match value:
        case None | bool() | int() | float() | complex() | str():
            return type(value).__name__, repr(value)
        case _ if is_tuple(value):
            return tuple(map(_fingerprint, value))
        case ModuleType() if _package(value.__name__) in LIBRARIES:
            return value.__name__
        case _ if isinstance(value, (np.generic, np.dtype)):
            return type(cast("object", value)).__name__, repr(cast("object", value))
        case _:
            return _library_name(value)


def _library_name(value: Any) -> tuple[str, str]:
    """Module and name of a type or function of a library."""
    if isinstance(value, np.ufunc):
        place, name = "numpy", value.__name__
        is_known = getattr(np, name, None) is value
    else:
        place = getattr(value, "__module__", None) or ""
        name = getattr(value, "__qualname__", "")
        is_method = not isinstance(getattr(value, "__self__", None), ModuleType | None)
        is_known = bool(name) and not is_method and _package(place) in LIBRARIES
    if not is_known:
        raise _NotData
    return place, name


def _package(name: str) -> str:
    return name.partition(".")[0]


def recalled(key: str) -> tuple[Source, Made] | None:
    """The translation that an earlier process kept."""
    known = records.kept(STORE, key)
    if known is None:
        return None
    symbol, results, text, defined, returned = known
    source = Source(text, defined=defined, results=returned, is_translation=True)
    return source, Made(symbol, _result(results), ())


def keep(key: str, source: Source, made: Made) -> None:
    """Keeps a translation for later processes, if its results are described by data."""
    described = _described(made.results)
    if _result(described) != made.results:
        return
    parts = made.symbol, described, source.text, source.defined, source.results
    records.keep(STORE, key, parts)


def translated(module: Module) -> Source:
    """A module with its text, whose locations lie in a file of Python."""
    from gpucodegen.dialects.framework.printing import print_module
    from gpucodegen.program_text import of_module

    source = of_module(module)
    source.text = print_module(module.operation, locations=True)
    source.is_translation = True
    return source


_KINDS: Mapping[str, Any] = {
    "python bool": bool,
    "python int": int,
    "python float": float,
    "python complex": complex,
    "python truth": Truth,
}


def _described(result: Result) -> Any:
    """A result as data: texts and tuples."""
    match result:
        case None:
            return None
        case Given(number):
            return "argument", number
        case ArrayResult(dtype, rank):
            return "array", _described(dtype), rank
        case _ if is_tuple(result):
            return ("tuple", *map(_described, result))
        case _:
            names = [name for name, kind in _KINDS.items() if kind is result]
            return names[0] if names else result.name


def _result(described: Any) -> Result:
    match described:
        case None:
            return None
        case str():
            known = _KINDS.get(described)
            return np.dtype(described) if known is None else known
        case ("argument", number):
            return Given(number)
        case ("array", dtype, rank):
            return ArrayResult(_result(dtype), rank)
        case _:
            return tuple(map(_result, described[1:]))
