"""The proof behind every mapped kernel: no two threads race, no transfer is overtaken.

* a GPU kernel: the rules of `gpucodegen.tiling.races` on its block and thread loops;
* a CPU kernel: no ``affine.parallel`` carries a dependence;
* any function with transfers: every use of their cells comes after the wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucodegen import errors
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.lifting import lift_function
from gpucodegen.tiling.dependences import Dependence
from gpucodegen.tiling.loops import LoopKind, loop_verdicts
from gpucodegen.tiling.model import model
from gpucodegen.tiling.races import Race, races
from gpucodegen.tiling.witness import Witness

TRANSFERS = frozenset({"memref.dma_start", "memref.dma_wait"})


def check_kernel(op: Operation) -> None:
    """Raise RaceFound, with both source positions and a witness, unless proven."""
    for error in _failures(op):
        raise error


def _failures(op: Operation) -> Iterator[errors.RaceFound]:
    if op.name == "gpu.func" or any(inner.name in TRANSFERS for inner in op.walk()):
        for race in races(model(lift_function(op).scop)):
            yield _race_error(race, op)
    if op.name == "func.func":
        yield from _parallel_loops(op)


def _parallel_loops(op: Operation) -> Iterator[errors.RaceFound]:
    """{ d in distances : d_outer = 0, d_l != 0 } = {} for each parallel loop l."""
    if not any(inner.name == "affine.parallel" for inner in op.walk()):
        return
    for verdict in loop_verdicts(model(lift_function(op, trust_parallel=False).scop)):
        made_from = verdict.loop.payload
        is_declared = (
            isinstance(made_from, Operation) and made_from.name == "affine.parallel"
        )
        if is_declared and verdict.kind is not LoopKind.PARALLEL and verdict.decisive:
            yield _dependence_error(verdict.decisive)


def _dependence_error(dependence: Dependence) -> errors.RaceFound:
    places = [dependence.source.access.loc, dependence.sink.access.loc]
    return _error(dependence.source.access.array, str(dependence), places)


def _race_error(race: Race, op: Operation) -> errors.RaceFound:
    places = [*race.locations, op.location][:2]
    array = _array(race.witness)
    return _error(array, str(race), places)


def _array(witness: Witness | None) -> str:
    return witness.array if witness is not None else "memory"


def _error(buffer: str, text: str, places: list[object]) -> errors.RaceFound:
    located = [p if _is_location(p) else UNKNOWN for p in places]
    notes = [(located[1], "the other access")] if len(located) > 1 else []
    return errors.RaceFound(located[0], notes=notes, buffer=buffer, witness=text)


def _is_location(place: object) -> bool:
    return isinstance(place, Location)
