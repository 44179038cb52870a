"""What was tuned on this machine, for `compile` to look up: a database in the cache."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from gpucodegen.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from gpucodegen.compiling.lowering import Key
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.tiling.tuning.store import Store


DATABASE = "tuning.sqlite"


def tuning_store() -> Store:
    """The database of trials in the cache directory, which must be the user's alone.

    Raises CacheRefused.
    """
    from gpucodegen import errors
    from gpucodegen.runtime.storage.cache import cache_directory, cache_folder
    from gpucodegen.tiling.tuning.store import Store

    try:
        with cache_folder(create=True) as folder:
            folder.check(DATABASE, create=True)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise errors.CacheRefused(path=cache_directory(), reason=reason) from problem
    return Store(tuning_path())


def tuning_path() -> Path:
    """Where that database lies, once something was tuned."""
    from gpucodegen.runtime.storage.cache import cache_directory

    return cache_directory() / DATABASE


def is_there() -> bool:
    """Whether something was tuned, by the user; a warning if others could have."""
    from gpucodegen.runtime.storage.cache import cache_folder, refused
    from gpucodegen.runtime.storage.private import Untrusted

    try:
        with cache_folder() as folder:
            folder.check(DATABASE)
    except Untrusted as problem:
        refused(problem)
        return False
    except OSError:
        return False
    return True


def tuning_identity(module: Module, name: str, key: Key, options: Options) -> str:
    """Key of what is tuned: all that decides over the code, and so over its speed.

    That is the function's IR, target, argument types, options, host and versions.  What
    tuning itself chooses, and checks around the same code, have no part in it.
    """
    from gpucodegen.compiling.artifact import situation
    from gpucodegen.passes.framework.reachable import reachable
    from gpucodegen.tiling.tuning.store import tuning_key

    target, types = key
    plain = replace(
        options,
        target=target,
        tile_sizes=(),
        register_tile=(),
        verify=True,
        alias="refuse",
        tuned=True,
    )
    return tuning_key(
        ir=str(reachable(module, name)),
        function=name,
        types=list(map(str, types)),
        situation=situation(plain),
        versions=[version(package) for package in PACKAGES],
    )


PACKAGES = ("gpucodegen", "llvmlite", "numba", "numpy")
"""Their versions decide over the code."""


def tuned_options(module: Module, name: str, key: Key, options: Options) -> Options:
    """The options with the stored winner, if this function was tuned here."""
    if not options.tuned or options.tile_sizes or options.register_tile:
        return options
    if not is_there():
        return options
    from gpucodegen.tuning.schedules import with_point

    winner = tuning_store().winner(tuning_identity(module, name, key, options))
    return options if winner is None else with_point(options, winner)
