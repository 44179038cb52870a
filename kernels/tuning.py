"""Tuning on the way: a function that was never tuned for a call is, before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpucodegen.compiling.winners import tuning_identity, tuning_store

if TYPE_CHECKING:
    from gpucodegen.calls.function import Function


def tune_once(function: Function, arguments: tuple[Any, ...]) -> None:
    """Tune a function for arguments with quick effort, unless that was done.

    A tuning that was interrupted goes on where it was.
    """
    from gpucodegen.tuning.tune import tune

    source, name, options = function.source, function.name, function.options
    key = function.key_for(arguments)
    identity = tuning_identity(source, name, key, options)
    known = tuning_store().subjects().get(identity, {})
    if "finished" not in known:
        tune(source.module, name, *arguments, target=options.target)
