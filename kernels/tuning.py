"""Tuning on the way: a function that was never tuned for a call is, before it runs."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gpucodegen.compiling.winners import (
    TUNED_OPTIONS,
    scopes_of,
    tuning_identity,
    tuning_store,
)

if TYPE_CHECKING:
    from gpucodegen.calls.function import Function


def tune_once(function: Function, arguments: tuple[Any, ...]) -> None:
    """Tune a function for arguments with quick effort, unless that was done.

    A tuning that was interrupted goes on where it was.
    """
    from gpucodegen.tuning.tune import tune

    source, name, options = function.source, function.name, function.options
    key = function.key_for(arguments)
    known = tuning_store().subjects()
    identities = (
        tuning_identity(source, name, key, options, scope)
        for scope in scopes_of(key[0])
    )
    if not any("finished" in known.get(identity, {}) for identity in identities):
        given = {field.name: getattr(options, field.name) for field in fields(options)}
        chosen = {n: value for n, value in given.items() if n not in TUNED_OPTIONS}
        tune(source.module, name, *arguments, **chosen)
