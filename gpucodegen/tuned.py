"""What was tuned on this machine, for `compile` to look up: a database in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpucodegen.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program


DATABASE = "tuning.sqlite"


def tuning_store() -> Any:
    """The database of trials in the cache directory, which must be the user's alone.

    Raises CacheRefused.
    """
    from gpucodegen import errors
    from gpucodegen.runtime.cache import cache_directory, cache_folder
    from gpucodegen.tiling.store import Store

    try:
        with cache_folder(create=True) as folder:
            folder.check(DATABASE, create=True)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise errors.CacheRefused(path=cache_directory(), reason=reason) from problem
    return Store(tuning_path())


def tuning_path() -> Path:
    """Where that database lies, once something was tuned."""
    from gpucodegen.runtime.cache import cache_directory

    return cache_directory() / DATABASE


def is_there() -> bool:
    """Whether something was tuned, by the user; a warning if others could have."""
    from gpucodegen.runtime.cache import cache_folder, refused
    from gpucodegen.runtime.private import Untrusted

    try:
        with cache_folder() as folder:
            folder.check(DATABASE)
    except Untrusted as problem:
        refused(problem)
        return False
    except OSError:
        return False
    return True


def tuning_identity(program: Program, name: str, arguments: Sequence[Any]) -> str:
    """Key of what was tuned: the function's IR, shapes, machine and versions."""
    from gpucodegen.runtime.processor import host_name
    from gpucodegen.signature import Signature

    function = program[name]
    signature = Signature.of(function.view)
    types = signature.specialized(signature.convert(arguments))
    return identity(program.module, name, types, function.options, host_name())


def identity(
    module: Module, name: str, types: Sequence[object], options: Options, host: str
) -> str:
    """The key for known argument types."""
    from importlib.metadata import version

    from gpucodegen.passes.reachable import reachable
    from gpucodegen.tiling.store import tuning_key

    return tuning_key(
        ir=str(reachable(module, name)),
        function=name,
        types=[str(ty) for ty in types],
        host=host,
        threads=str(options.threads),
        versions=[version("gpucodegen"), version("numba")],
    )


def tuned_options(
    module: Module, name: str, types: Sequence[object], options: Options
) -> Options:
    """The options with the stored best point, if this function was tuned here."""
    if not options.tuned or options.tile_sizes or options.register_tile:
        return options
    if not is_there():
        return options
    from gpucodegen.runtime.processor import host_name
    from gpucodegen.schedules import with_point

    best = tuning_store().best(identity(module, name, types, options, host_name()))
    return options if best is None else with_point(options, best.point)
