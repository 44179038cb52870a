"""Whether the transfers of a loop may run during the iteration before."""

from __future__ import annotations

from collections.abc import Iterator

from gpucodegen import errors
from gpucodegen.dialects.shared.dma import TRANSFERS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Lifted, Surroundings, lift_function
from gpucodegen.passes.gpu.transfers.overlap.rotate import ACCESSES
from gpucodegen.passes.gpu.transfers.overlap.shape import MEMORY, StreamingLoop
from gpucodegen.tiling.model.relations import Model, Reference, model
from gpucodegen.tiling.proof.flow import TileBody
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts
from gpucodegen.tiling.proof.races import races


def is_sequential(
    function: Operation, loop: Operation, surroundings: Surroundings
) -> bool:
    """Whether a loop carries something; stages would put a parallel one in order."""
    built = model(lift_function(function, surroundings).scop)
    kinds = [v.kind for v in loop_verdicts(built) if v.loop.payload is loop]
    return LoopKind.PARALLEL not in kinds


def check_unshared(
    function: Operation, found: StreamingLoop, surroundings: Surroundings
) -> None:
    """Refuse buffers with other uses, or whose contents outlive an iteration."""
    for op in _other_uses(function, found):
        raise _refusal(found, f"'{op.name}' uses a buffer of its transfers", op)
    lifted = lift_function(function, surroundings)
    built = model(lifted.scop)
    for reference in _reads(built, lifted, found):
        reason = _left_behind(built, reference, found)
        if reason:
            op = lifted.operations[reference.instances.name][reference.position]
            raise _refusal(found, reason, op)


def _left_behind(built: Model, reference: Reference, found: StreamingLoop) -> str:
    """What a read finds in a buffer that no transfer of its iteration brought."""
    loops = [loop.payload for loop in reference.instances.loops]
    body = TileBody(built, loops.index(found.loop) + 1)
    array = reference.access.array
    left = built.solver.ask(lambda: body.exposed(reference, finished=True), None)
    if left is not None and built.solver.is_empty(left):
        return ""
    point = None if left is None else built.solver.smallest(left)
    shown = "" if point is None else f": {_cell(array, *point)}"
    return f"an iteration reads what its own transfers do not bring{shown}"


def _other_uses(function: Operation, found: StreamingLoop) -> Iterator[Operation]:
    """Uses outside of the loop, and in it by what cannot be sent to a slot."""
    inside = {id(op) for op in found.loop.walk()}
    own = {*found.buffers, *found.tags}
    known = {*ACCESSES, *TRANSFERS, *MEMORY}
    for op in function.walk():
        uses = any(value in own for value in op.operands)
        is_known = id(op) in inside and op.name in known
        if uses and not is_known and op.name not in MEMORY:
            yield op


def _reads(built: Model, lifted: Lifted, found: StreamingLoop) -> Iterator[Reference]:
    for reference in built.references:
        memref: Value | None = lifted.arrays.get(reference.access.array)
        if memref in found.buffers and not reference.access.writes:
            yield reference


def _cell(array: str, given: dict[str, int], cell: tuple[int, ...]) -> str:
    where = ", ".join(f"{name}={value}" for name, value in given.items())
    return f"{array}[{', '.join(map(str, cell))}] at ({where})"


def check_result(
    function: Operation, found: StreamingLoop, surroundings: Surroundings
) -> None:
    """Refuse what touches cells of a transfer under way, with a witness."""
    broken = races(model(lift_function(function, surroundings).scop))
    for race in sorted(broken, key=lambda r: r.witness is None):
        raise _refusal(found, str(race), None)


def _refusal(
    found: StreamingLoop, reason: str, op: Operation | None
) -> errors.IllegalTransformation:
    notes = [] if op is None else [(op.location, "this one")]
    return errors.IllegalTransformation(
        found.loop.location,
        notes=notes,
        transformation=f"overlapping the transfers of loop %{found.iv.name}",
        reason=reason,
    )
