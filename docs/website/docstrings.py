"""Docstrings as Markdown: examples become blocks, roles become code."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import griffe

_SESSION = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
_ROLE = re.compile(r":\w+:(?=`)")


def markdown(docstring: str) -> str:
    r"""A docstring as Markdown.

    >>> print(markdown("Adds.\n\n>>> 1 + 1\n2"))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    text = _SESSION.sub(lambda found: f"```pycon\n{found[0]}\n```", docstring)
    return _ROLE.sub("", text)


class Docstrings(griffe.Extension):
    """Rewrites every docstring that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)

    def on_alias_instance(self, *, alias: griffe.Alias, **_: Any) -> None:
        """A class of `gpucodegen.records` has the parameters of a dataclass."""
        if alias.target_path == "gpucodegen.records.dataclass":
            alias.target_path = "dataclasses.dataclass"

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """A function that a decorator returns has the signature of that function."""
        if func.decorators and func.module is func.parent:
            function = getattr(import_module(func.module.path), func.name)
            given = signature(function).parameters.values()
            func.parameters = griffe.Parameters(*map(_parameter, given))


def _parameter(given: Parameter) -> griffe.Parameter:
    default = None if given.default is Parameter.empty else repr(given.default)
    kind = griffe.ParameterKind(given.kind.description)
    return griffe.Parameter(
        given.name, annotation=given.annotation, kind=kind, default=default
    )
