"""Selects the stored tuned schedule with which a function is compiled.

Input: a function, its arguments and the options of its program. Output: the options
with the stored winner's sizes, if there is one. `gpucodegen.tuning` stores winners in a
database in the cache. Scopes are tried in order: measured results before predicted
ones, exact shapes before their bucket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpucodegen.compiling import bundled_schedules
from gpucodegen.compiling.artifact import kind_of_situation
from gpucodegen.compiling.executable import Specialization
from gpucodegen.compiling.targets.registry import DEVICE_ARRAYS, find
from gpucodegen.options import Options
from gpucodegen.program_text import Source
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import Known
from gpucodegen.runtime.storage import cache

if TYPE_CHECKING:
    from pathlib import Path

    from gpucodegen.tiling.tuning.database import Winner
    from gpucodegen.tiling.tuning.store import TuningStore

Point = Mapping[str, int]
DATABASE = "tuning.sqlite"
TUNED_OPTIONS = "tile_sizes", "register_tile", "plan"
"""Options that a stored winner sets."""


def final_options(
    source: Source, name: str, key: Specialization, options: Options
) -> Options:
    """The options with the stored winner, tuned here or bundled with a package."""
    if options.plan or options.schedule_of(name) is not None:
        return replace(options, tuned=False)
    if not options.tuned or options.tile_sizes or options.register_tile:
        return options
    bundled_schedules.merge(tuning_store)
    if not is_there():
        return options
    winner = winner_of(source, name, key, options)
    return options if winner is None else with_point(options, winner.point)


def winner_of(
    source: Source, name: str, key: Specialization, options: Options
) -> Winner | None:
    """The stored schedule that beats the default, if there is one."""
    from gpucodegen.tiling.tuning.lookup import first_known

    scopes = {
        tuning_identity(source, name, key, options, scope): scope
        for scope in scopes_of(key[0])
    }
    found = first_known(tuning_path(), tuple(scopes))
    if found is None:
        return None
    place, winner = found
    return winner and replace(winner, predicted_for=scopes[place].predicted_for)


SHAPES = "exact", "bucket"
"""Validity of a result: exact shapes, or their bucket."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The validity of a stored result.

    ``shapes``: one of `SHAPES`. ``predicted_for``: the GPU architecture for which a
    model estimated it; "" if it was measured.
    """

    shapes: str = SHAPES[0]
    predicted_for: str = ""


MEASURED = Scope()


def is_cuda(target: str) -> bool:
    """Whether a target's kernels are CUDA kernels."""
    return find(target).passes is DEVICE_ARRAYS.passes


def scopes_of(target: str) -> list[Scope]:
    """The scopes in which results for a call are searched, in order of priority.

    >>> [scope.shapes for scope in scopes_of("cpu")], scopes_of("sim")[2].predicted_for
    (['exact', 'bucket'], 'sm_90')
    """
    architectures = ["", _architecture(target)] if is_cuda(target) else [""]
    return [Scope(shapes, arch) for arch in architectures for shapes in SHAPES]


def _architecture(target: str) -> str:
    """The architecture of the GPU, or of the emulated one."""
    from gpucodegen.runtime.devices import inventory

    gpu = None if find(target).emulates else inventory.current_gpu()
    if gpu is not None:
        return gpu.architecture
    from gpucodegen.runtime.devices.emulated_device import current

    major, minor = current().compute_capability
    return f"sm_{major}{minor}"


def bucket(extent: int) -> int:
    """The extent rounded up to a power of two.

    >>> [bucket(n) for n in (0, 1, 5, 64, 65)]
    [0, 1, 8, 64, 128]
    """
    return 1 << (extent - 1).bit_length() if extent > 0 else 0


def bucketed(known: Known | None) -> Known | None:
    """Facts that the arrays of a bucket share; strides of 0, 1 and -1 are kept.

    >>> bucketed(Known((100, 3), (-300, 1), 16))
    Known(shape=(128, 4), strides=(-512, 1), alignment=16)
    """
    if known is None or known.shape is None:
        return known
    strides = known.strides and tuple(
        bucket(step) if step >= 0 else -bucket(-step) for step in known.strides
    )
    return Known(tuple(map(bucket, known.shape)), strides, known.alignment)


def with_point(options: Options, point: Point) -> Options:
    """Options with the sizes of a search point; trailing zeros are dropped.

    >>> with_point(Options(), {"tile0": 8, "tile1": 0}).tile_sizes
    (8,)
    >>> with_point(Options(), {"columns": 24, "k_block": 9, "rows": 0}).register_tile
    (0, 24, 9)
    >>> with_point(Options(), {"rows": 0, "columns": 0, "k_block": 0}) == Options()
    True
    >>> with_point(Options(), {"stream.width": 2, "stream.groups": 0}).plan
    (('stream.width', 2),)
    >>> made = with_point(Options(), {"order0": 21, "rows": 4, "columns": 0})
    >>> made.plan, made.register_tile
    ((('order0', 21),), (4,))
    """
    from gpucodegen.tiling.tuning.search import REGISTER_TILE

    tiles = [f"tile{n}" for n in range(len(point))]
    sizes = {
        "register_tile": _sizes(point, REGISTER_TILE),
        "tile_sizes": _sizes(point, tiles),
    }
    others = point.keys() - {*REGISTER_TILE, *tiles}
    plan = tuple(sorted((name, point[name]) for name in others if point[name]))
    chosen = {name: value for name, value in sizes.items() if value}
    return replace(options, **chosen, **({"plan": plan} if plan else {}))


def _sizes(point: Point, names: Sequence[str]) -> tuple[int, ...]:
    """The sizes of these names without trailing zeros."""
    sizes = [point.get(name, 0) for name in names]
    while sizes and not sizes[-1]:
        sizes.pop()
    return tuple(sizes)


def tuning_store() -> TuningStore:
    """The database of trials in the cache directory, which only the user may write.

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
    """Path of the database, which exists once something was tuned."""
    return cache.cache_directory() / DATABASE


def is_there() -> bool:
    """Whether the user tuned anything; warns if other users could have written it."""
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
    source: Source,
    name: str,
    key: Specialization,
    options: Options,
    scope: Scope = MEASURED,
) -> str:
    """Key of a tuning: everything that affects the code and its speed.

    These are the function's IR, target, argument types, options, kind of host or device
    with its driver, versions and this package's files. Choices of the tuner itself,
    checks around the same code and paths are excluded: identical machines have equal
    keys.
    """
    from gpucodegen.tiling.tuning.lookup import tuning_key

    target, known = key
    arch = find(target).settled_arch(options)
    if scope.predicted_for:
        target = DEVICE_ARRAYS.name
    if scope.shapes == "bucket":
        known = ("bucket", *map(bucketed, known))
    plain = replace(
        options,
        target=target,
        arch=arch,
        **dict.fromkeys(TUNED_OPTIONS, ()),
        verify=True,
        alias="refuse",
        tuned=True,
    )
    return tuning_key(
        ir=source.digest(name),
        function=name,
        known=known,
        situation=kind_of_situation(plain, _device(target, scope)),
    )


def machine_identity(target: str, threads: int | None) -> str:
    """Key of a machine and of the cost model that trials calibrate.

    The machine is the host with its caches and threads, or the device with its driver.
    """
    from gpucodegen.runtime.processor import facts
    from gpucodegen.runtime.storage.machine_code import kind_of_host
    from gpucodegen.tiling.tuning.lookup import tuning_key

    on = device_name(target) or (facts(), threads, kind_of_host())
    return tuning_key(target=target, on=on, sources=cache.sources_content())


def _device(target: str, scope: Scope) -> object:
    """The device that runs kernels; a prediction is valid for any of its kind."""
    if scope.predicted_for:
        return "predicted", scope.predicted_for.removesuffix("a")
    return device_name(target)


def device_name(target: str) -> str:
    """The device of a target's kernels with its driver; "" for the host."""
    if not is_cuda(target):
        return ""
    from gpucodegen.runtime.devices import inventory

    gpu = None if find(target).emulates else inventory.current_gpu()
    if gpu is None:
        return "emulated device"
    return f"{gpu.name}, {gpu.architecture}, driver {gpu.driver}"
