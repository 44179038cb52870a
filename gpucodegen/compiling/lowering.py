"""The passes of one function: module in, mapped kernels and their source out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpucodegen.compiling.artifact import Artifact
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.emit.copy_plan import PlannedTransfer
    from gpucodegen.emit.program import GlobalConstant
    from gpucodegen.ir.types import Type
    from gpucodegen.options import Options
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.runtime.host.spec import Constant, StatedLaunch

Stages = list[tuple[str, "Module"]]
"""The name of each pass and what it made; printing takes longer than many a pass."""

Key = tuple[str, tuple["Type | None", ...], tuple[int, ...]]
"""Target, the types of the arguments where they are known, and their alignments."""


def emitted(
    module: Module, mapped: Module, name: str, target: str, options: Options
) -> Artifact:
    """Emit the source of a module of mapped kernels, made of ``module``."""
    from gpucodegen.compiling.artifact import Artifact
    from gpucodegen.compiling.targets.registry import find
    from gpucodegen.debugging.spans import span
    from gpucodegen.dialects.gcg import alias_groups
    from gpucodegen.emit import emit_program
    from gpucodegen.library.routines import is_offered
    from gpucodegen.runtime.host.loader import CONTRACTED, kernel_spec
    from gpucodegen.runtime.host.spec import StatedLaunch
    from gpucodegen.runtime.processor import thread_count
    from gpucodegen.tiling.machine.gpu.devices import bulk_copies

    emission = replace(find(target).emission(), bulk=bulk_copies(options.arch))
    with span("source", "emission"):
        program = emit_program(mapped, emission, options.outside, is_offered)
    fastmath = () if options.exact else CONTRACTED
    threads = options.threads or thread_count()
    entry = program.entries[name]
    unsigned = _unsigned(module, name)
    launch = program.functions[name].launch
    runs_launches = find(target).runs_launches
    if launch and launch.numbers and (runs_launches or any(unsigned)):
        launch = None  # numbers on a device are read by the host program
    return Artifact(
        program.host_source,
        tuple(
            kernel_spec(kernel, fastmath, threads, options.arch)
            for kernel in program.kernels
        ),
        {key: _constant(value) for key, value in program.constants.items()},
        entry.python_name,
        program.source_of(name),
        tuple(entry.written),
        tuple(entry.overwritten),
        tuple(map(_placed, program.transfers_of(name))),
        _numbered(alias_groups(mapped.functions[name])),
        launch and _declared(StatedLaunch(*launch), unsigned),
        unsigned,
    )


def _unsigned(module: Module, name: str) -> tuple[str, ...]:
    """For each result of a function, its element type if it is unsigned."""
    from gpucodegen.dialects.func import Function
    from gpucodegen.ir.types import element_type
    from gpucodegen.runtime.host.engines import UNAMBIGUOUS

    types = Function(module.functions[name]).type.results
    names = [str(element_type(ty)) for ty in types]
    return tuple(n if n in UNAMBIGUOUS and n[0] == "u" else "" for n in names)


def _declared(launch: StatedLaunch, unsigned: Sequence[str]) -> StatedLaunch:
    """A launch that makes all its results, with the declared types."""
    if not launch.results or not any(unsigned):
        return launch
    made = zip(launch.results, unsigned, strict=True)
    results = tuple((shape, name or kind) for (shape, kind), name in made)
    return replace(launch, results=results)


def _constant(value: GlobalConstant) -> Constant:
    """A constant with its numbers as an array."""
    import numpy as np

    from gpucodegen.runtime.host.spec import Constant

    values = value.values
    numbers = None if values is None else np.asarray(values)
    return Constant(value.shape, value.dtype, numbers)


def _placed(transfer: PlannedTransfer) -> PlannedTransfer:
    """A transfer with a file position, if known, as its location."""
    from gpucodegen.ir.locations import file_location

    location = transfer.location
    return replace(transfer, location=location and file_location(location))


def _numbered(groups: Sequence[object]) -> tuple[int | None, ...]:
    """Groups as numbers; only equality of groups matters.

    >>> _numbered(["a", None, "b", "a"])
    (0, None, 2, 0)
    """
    return tuple(None if g is None else groups.index(g) for g in groups)


def map_module(
    module: Module,
    name: str,
    key: Key,
    options: Options,
    stages: Stages,
    ran: list[ModulePass] | None = None,
) -> Module:
    """The module of a function's mapped kernels; ``stages`` gets all stages.

    ``ran`` gets the pass of each stage but the first.

    Time tiling that the proof cannot verify within its limits is dropped, unless the
    caller requested it.
    """
    from gpucodegen import errors
    from gpucodegen.debugging.spans import span

    with span("the passes", "import"):
        from gpucodegen.compiling.pipeline import all_passes
        from gpucodegen.passes.framework.base import run_pipeline
        from gpucodegen.passes.framework.functions import reachable
        from gpucodegen.passes.loops.requested_schedules import is_of_time_tiles

    target, types, alignments = key
    module, options = _as_stated(module, name, target, options)
    passes = all_passes(name, types, target, options, alignments)
    module = reachable(module, name)
    stages[:] = [("parse", module)]
    passes_run = [] if ran is None else ran

    def after(pass_: ModulePass, current: Module) -> None:
        stages.append((pass_.name, current))
        passes_run.append(pass_)

    try:
        return run_pipeline(module, passes, after=after)
    except errors.RaceFound as problem:
        if any(is_of_time_tiles(field) for field, _ in options.plan):
            raise
        plain = replace(options, time_tiles=False)
        without = all_passes(name, types, target, plain, alignments)
        if without == passes:
            raise
        del stages[1:], passes_run[:]
        mapped = run_pipeline(module, without, after=after)
        place, reason = module.functions[name].location, problem.message
        given_up = errors.TimeTilesUnproven(place, function=name, reason=reason)
        errors.tell(given_up)
        return mapped


def _as_stated(
    module: Module, name: str, target: str, options: Options
) -> tuple[Module, Options]:
    """The module without transform sequences, and options with what these state.

    A schedule among the options takes their place.
    """
    if not any(op.dialect == "transform" for op in module.operation.body.operations):
        return module, options
    from gpucodegen.compiling.targets.registry import find
    from gpucodegen.schedule.passes import fitting
    from gpucodegen.schedule.transform_sequences import payload

    module, stated = payload(module)
    if options.schedule_of(name) is not None or name not in stated:
        return module, options
    given = fitting(stated[name], on_gpu=find(target).runs_launches)
    without = {"tile_sizes": (), "register_tile": (), "plan": (), "tuned": False}
    return module, replace(options, schedule=((name, given),), **without)


def printed(stages: Stages) -> list[tuple[str, str]]:
    """The stages as text; a module that passes leave unchanged is printed once."""
    distinct = {id(module.operation): module for _, module in stages}
    texts = {key: str(module) for key, module in distinct.items()}
    return [(name, texts[id(module.operation)]) for name, module in stages]
