"""What is compiled: MLIR text that is parsed when somebody looks at its module.

Comes in: a text, a file or a module.  A text that an earlier process parsed without a
warning needs no parser to be compiled again; any other is parsed at once.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.runtime import cache

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module

STORE = cache.Store("text")


@dataclass(slots=True)
class Source:
    """A text under the name of its file, or a module, whose ``text`` is empty.

    ``defined``: the names of its functions with a body.
    """

    text: str = ""
    filename: str = "<string>"
    allow_unregistered: bool = False
    defined: tuple[str, ...] = ()
    parsed: Module | None = field(default=None, repr=False)

    @property
    def module(self) -> Module:
        """The verified module; parsed now if it was not before."""
        if self.parsed is None:
            from gpucodegen.parser import parse_module

            self.parsed = parse_module(
                self.text, self.filename, allow_unregistered=self.allow_unregistered
            )
        return self.parsed

    @property
    def key(self) -> str:
        """All that decides over what is parsed."""
        return cache.digest(
            self.text, self.filename, self.allow_unregistered, cache.sources_digest()
        )


def of_module(module: Module) -> Source:
    """A module as a source.

    >>> import gpucodegen as gcg
    >>> of_module(gcg.parse("func.func @f() { return }")).defined
    ('f',)
    """
    return Source(parsed=module, defined=_defined(module))


def read(
    source: str | os.PathLike[str] | Module, *, allow_unregistered: bool = False
) -> Source:
    """A text, the file at a path, or a module, parsed now or by an earlier process.

    Raises ParseError, VerifyError, UnreadableFile.

    >>> read("func.func @f() { return }").defined
    ('f',)
    """
    if not isinstance(source, str | os.PathLike):
        return of_module(source)
    if isinstance(source, str):
        found = Source(source, allow_unregistered=allow_unregistered)
    else:
        path = os.fspath(source)
        found = Source(_contents(path), path, allow_unregistered)
    _parse_or_recall(found)
    return found


def _parse_or_recall(source: Source) -> None:
    """Fill in the names of the functions; what warns is parsed by every process."""
    key = source.key
    known = STORE.get(key)
    if known is not None:
        source.defined = tuple(json.loads(known))
        return
    from gpucodegen.parser import parse_module

    told: list[errors.CodegenWarning] = []
    allow = source.allow_unregistered
    source.parsed = parse_module(
        source.text, source.filename, allow_unregistered=allow, told=told
    )
    source.defined = _defined(source.parsed)
    if not told:
        STORE.put(key, json.dumps(source.defined).encode())


def _defined(module: Module) -> tuple[str, ...]:
    from gpucodegen.dialects.func import Function

    functions = module.functions.items()
    return tuple(name for name, op in functions if not Function(op).is_external)


def _contents(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise errors.UnreadableFile(path=path, reason=reason) from problem
