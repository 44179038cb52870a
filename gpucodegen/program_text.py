"""The source of a program: MLIR text that is parsed when its module is needed.

Input: a text, a file or a module. A text that an earlier process parsed without a
warning is compiled again without the parser; any other is parsed at once. A path that
is passed as a text is distinguished from texts with errors.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gpucodegen import errors
from gpucodegen.debugging.spans import span
from gpucodegen.options import flag
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import Parameter, parameters_of, results_of
from gpucodegen.runtime.host.generated_code import deferred_garbage_collection
from gpucodegen.runtime.storage import cache, records

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module

STORE = cache.Store("text")
NO_FILE = "<string>"
"""File name of texts without a file."""


@dataclass(slots=True)
class Source:
    """A text with its file name, or a module, whose ``text`` is empty.

    ``defined``: arguments of its functions with a body; ``results``: their results.
    ``is_translation``: the text's locations are those of another language's file.
    """

    text: str = ""
    filename: str = NO_FILE
    allow_unregistered: bool = False
    defined: Mapping[str, tuple[Parameter, ...]] = field(
        default_factory=dict[str, "tuple[Parameter, ...]"]
    )
    results: Mapping[str, tuple[Parameter, ...]] = field(
        default_factory=dict[str, "tuple[Parameter, ...]"]
    )
    parsed: Module | None = field(default=None, repr=False)
    is_translation: bool = False

    @property
    def module(self) -> Module:
        """The verified module; parsed now if it was not before."""
        return self.parse([]) if self.parsed is None else self.parsed

    def parse(self, told: list[errors.CodegenWarning]) -> Module:
        """Parse and verify; warnings are appended to ``told``."""
        is_path = self.filename == NO_FILE and looks_like_path(self.text)
        allow = self.allow_unregistered and not is_path  # `a.mlir` could be a name
        try:
            with span(self.filename, "parse"), deferred_garbage_collection():
                from gpucodegen.parser import parse_module

                self.parsed = parse_module(
                    self.text, self.filename, allow_unregistered=allow, told=told
                )
        except errors.ParseError:
            if is_path:
                raise errors.PathAsText(path=self.text) from None
            raise
        return self.parsed

    def show_in(self, error: errors.Error) -> None:
        """Attach the source lines to an error, unless it has some."""
        if self.text and not self.is_translation and not error.source_lines:
            error.with_source(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text and the known functions; of a module, its text."""
        text = self.text or str(self.module)
        allow = self.allow_unregistered or not self.text
        known = dict(self.defined), dict(self.results)
        return Source, (text, self.filename, allow, *known, None, self.is_translation)

    @property
    def key(self) -> str:
        """Cache key of the parsed text."""
        return cache.digest(
            self.text, self.filename, self.allow_unregistered, cache.sources_digest()
        )

    def digest(self, name: str) -> str:
        """Hash of the IR of a function and of those that it calls."""
        place = cache.digest(self.key, name)
        known = STORE.get(place) if self.text else None
        if known is not None:
            return known.decode()
        from gpucodegen.passes.framework.functions import reachable

        made = cache.digest(str(reachable(self.module, name)))
        if self.text:
            STORE.put(place, made.encode())
        return made


def _checked(source: object) -> Module:
    """A module; any other type is refused."""
    from gpucodegen.dialects.builtin import Module

    if isinstance(source, Module):
        return source
    raise errors.NotASource(actual=_described(source))


def of_module(module: Module) -> Source:
    """A module as a source.

    >>> import gpucodegen as gcg
    >>> of_module(gcg.parse("func.func @f() { return }")).defined
    {'f': ()}
    """
    made = Source(parsed=module)
    made.defined, made.results = _defined(module)
    return made


def read(
    source: str | os.PathLike[str] | Module, *, allow_unregistered: bool = False
) -> Source:
    """A text, the file at a path, or a module, parsed now or by an earlier process.

    Raises ParseError, VerifyError, UnreadableFile, NotASource.

    >>> read("func.func @f() { return }").defined
    {'f': ()}
    """
    if not isinstance(source, str | os.PathLike):
        return of_module(_checked(source))
    found = unparsed(source, allow_unregistered=allow_unregistered)
    _parse_or_recall(found)
    return found


def unparsed(
    source: object, filename: object = "", *, allow_unregistered: bool
) -> Source:
    """A text or the contents of a file; ``filename`` is used in locations.

    Raises UnreadableFile, NotASource, InvalidOption.

    >>> unparsed("module {}", allow_unregistered=False).filename
    '<string>'
    """
    allow = flag("allow_unregistered", allow_unregistered)
    if not isinstance(filename, str):
        hint = "Pass a text, such as 'matmul.mlir'"
        raise errors.InvalidOption(name="filename", value=filename, hint=hint)
    if isinstance(source, str):
        return Source(source, filename or NO_FILE, allow)
    if not isinstance(source, os.PathLike):
        raise errors.NotASource(actual=_described(source))
    path = os.fsdecode(cast("os.PathLike[str]", source))
    return Source(_contents(path), filename or path, allow)


def _described(value: object) -> str:
    """Description of the passed value: None, or its type."""
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _parse_or_recall(source: Source) -> None:
    """Fill in the functions; texts with warnings are parsed by every process."""
    key = source.key
    known = records.kept(STORE, key)
    if known is not None:
        source.defined, source.results = known
        return
    told: list[errors.CodegenWarning] = []
    source.defined, source.results = _defined(source.parse(told))
    if not told:
        records.keep(STORE, key, (source.defined, source.results))


def looks_like_path(text: str) -> bool:
    """Whether a text is one line that names a file, or ends like a file name.

    >>> looks_like_path("examples/matmul.mlir"), looks_like_path("module {}")
    (True, False)
    """
    line = text.strip()
    if not line or "\n" in line or "\0" in line:
        return False
    return line.endswith(".mlir") or os.path.isfile(line)  # noqa: PTH113 - never raises


Declared = dict[str, "tuple[Parameter, ...]"]


def _defined(module: Module) -> tuple[Declared, Declared]:
    from gpucodegen.dialects.func import Function

    views = {name: Function(op) for name, op in module.functions.items()}
    bodies = {name: view for name, view in views.items() if not view.is_external}
    arguments = {name: parameters_of(view) for name, view in bodies.items()}
    return arguments, {name: results_of(view) for name, view in bodies.items()}


def _contents(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise errors.UnreadableFile(path=path, reason=reason) from problem
