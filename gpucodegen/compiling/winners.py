"""What was tuned on this machine: the options that a function is compiled with.

Comes in: a function, its arguments and the options of its program.  Goes out: the
options with the stored winner's sizes, if there is one.  Winners are stored by
`gpucodegen.tuning`, in a database in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gpucodegen.compiling import shipped
from gpucodegen.compiling.artifact import kind_of_situation
from gpucodegen.compiling.executable import Specialization
from gpucodegen.options import Options
from gpucodegen.program_text import Source
from gpucodegen.runtime.storage import cache

if TYPE_CHECKING:
    from pathlib import Path

    from gpucodegen.tiling.tuning.rows import Winner
    from gpucodegen.tiling.tuning.store import TuningStore

Point = Mapping[str, int]
DATABASE = "tuning.sqlite"


def final_options(
    source: Source, name: str, key: Specialization, options: Options
) -> Options:
    """The options with the stored winner, if this function was tuned here.

    Or where a package was tuned that is installed.
    """
    if not options.tuned or options.tile_sizes or options.register_tile:
        return options
    shipped.merge(tuning_store)
    if not is_there():
        return options
    winner = winner_of(source, name, key, options)
    return options if winner is None else with_point(options, winner.point)


def winner_of(
    source: Source, name: str, key: Specialization, options: Options
) -> Winner | None:
    """The stored schedule that is faster than the default one, if there is one."""
    return tuning_store().winner(tuning_identity(source, name, key, options))


def with_point(options: Options, point: Point) -> Options:
    """Options that compile with the sizes of a point; zeros at the end ask nothing.

    >>> with_point(Options(), {"tile0": 8, "tile1": 0}).tile_sizes
    (8,)
    >>> with_point(Options(), {"columns": 24, "k_block": 9, "rows": 0}).register_tile
    (0, 24, 9)
    >>> with_point(Options(), {"rows": 0, "columns": 0, "k_block": 0}) == Options()
    True
    """
    from gpucodegen.tiling.tuning.knobs import REGISTER_TILE

    is_register = set(point) <= set(REGISTER_TILE)
    names = REGISTER_TILE if is_register else [f"tile{n}" for n in range(len(point))]
    sizes = [point.get(name, 0) for name in names]
    while sizes and not sizes[-1]:
        sizes.pop()
    option = "register_tile" if is_register else "tile_sizes"
    return replace(options, **{option: tuple(sizes)}) if sizes else options


def tuning_store() -> TuningStore:
    """The database of trials in the cache directory, which must be the user's alone.

    Raises CacheRefused.
    """
    from gpucodegen import errors
    from gpucodegen.tiling.tuning.store import TuningStore

    try:
        with cache.cache_folder(create=True) as folder:
            folder.check(DATABASE, create=True)
    except OSError as problem:
        place = cache.cache_directory()
        reason = problem.strerror or str(problem)
        raise errors.CacheRefused(path=place, reason=reason) from problem
    return TuningStore(tuning_path())


def tuning_path() -> Path:
    """Where that database lies, once something was tuned."""
    return cache.cache_directory() / DATABASE


def is_there() -> bool:
    """Whether something was tuned, by the user; a warning if others could have."""
    from gpucodegen.runtime.storage.private import Untrusted

    try:
        with cache.cache_folder() as folder:
            folder.check(DATABASE)
    except Untrusted as problem:
        cache.refused(problem)
        return False
    except OSError:
        return False
    return True


def tuning_identity(
    source: Source, name: str, key: Specialization, options: Options
) -> str:
    """Key of what is tuned: all that decides over the code, and so over its speed.

    That is the function's IR, target, argument types, options, kind of host, versions
    and this package's files.  What tuning itself chooses, and checks around the same
    code, have no part in it, nor has where anything lies: machines that are alike have
    the same keys.
    """
    from gpucodegen.tiling.tuning.store import tuning_key

    target, known = key
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
        ir=source.digest(name),
        function=name,
        known=known,
        situation=kind_of_situation(plain),
    )
