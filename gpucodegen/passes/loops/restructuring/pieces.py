"""A nest of affine loops taken apart: what stays together when the order changes.

Comes in: the root of a nest.  Goes out: `Movable`, the nest as `tiling.schedule` reads
it, and per unit the operations and loop variables to rebuild it from; or a `Refusal`
that says what ties the operations to their loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Lifted, Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.prepare.affine.dead_code import is_pure
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.schedule import Unit, UnitNest


@dataclass(frozen=True, slots=True)
class UnitBody:
    """Operations of one body in order, and the variables of the loops around them."""

    operations: tuple[Operation, ...]
    variables: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Movable:
    """A nest whose units may be executed in another order."""

    nest: UnitNest
    pieces: dict[str, UnitBody]
    lifted: Lifted
    root: Operation


STRUCTURE = frozenset({"affine.for", "affine.parallel", "affine.if"})


def movable(
    root: Operation,
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
) -> Movable | Refusal:
    """The units of a nest.

    ``context`` are the operations before it, ``surroundings`` what it may call.
    """
    tied = next((op for op in root.walk() if _is_tied(op)), None)
    if tied is not None:
        return Refusal(f"'{tied.name}' inside it keeps its place among the loops")
    analysis = analyse([root], context, surroundings)
    pieces: dict[str, UnitBody] = {}
    units: list[Unit] = []
    for piece in _pieces(root.regions[0].blocks[0].operations, _variables(root)):
        names = _statements(piece, analysis.lifted)
        whole = _with_definitions(piece, root)
        if isinstance(whole, Refusal):
            return whole
        if names:
            units.append(Unit(names))
            pieces[names[0]] = whole
    nest = UnitNest(analysis.model, analysis.dependences, tuple(units))
    return Movable(nest, pieces, analysis.lifted, root)


def _is_tied(op: Operation) -> bool:
    """Whether an operation has values or effects that belong to its loops."""
    if op.name in STRUCTURE:
        return bool(op.results)
    return bool(op.regions) or op.name in _TIED


_TIED = frozenset(
    {
        "memref.alloc",
        "memref.alloca",
        "memref.dealloc",
        "memref.dma_start",
        "memref.dma_wait",
        "affine.dma_start",
        "affine.dma_wait",
    }
)


def _variables(op: Operation) -> tuple[Value, ...]:
    """The variables of a loop; a condition has none."""
    return op.regions[0].blocks[0].arguments if op.name != "affine.if" else ()


def _pieces(
    operations: Sequence[Operation], variables: tuple[Value, ...]
) -> Iterator[UnitBody]:
    """Runs of operations between loops and conditions, in textual order."""
    run: list[Operation] = []
    for op in operations:
        if op.name not in STRUCTURE:
            run += [op] if op.name != "affine.yield" else []
            continue
        if run:
            yield UnitBody(tuple(run), variables)
        run = []
        for region in op.regions:
            for block in region.blocks:
                yield from _pieces(block.operations, (*variables, *_variables(op)))
    if run:
        yield UnitBody(tuple(run), variables)


def _statements(piece: UnitBody, lifted: Lifted) -> tuple[str, ...]:
    """The statements made from the operations of a piece."""
    own = {id(op) for op in piece.operations}
    return tuple(
        name
        for name, operations in lifted.operations.items()
        if any(id(op) in own for op in operations)
    )


def _with_definitions(piece: UnitBody, root: Operation) -> UnitBody | Refusal:
    """The piece with copies of the arithmetic that it takes from other pieces."""
    inside = {value: op for op in root.walk() for value in op.results}
    own = {id(op) for op in piece.operations}
    taken: dict[int, Operation] = {}
    work = list(piece.operations)
    while work:
        for value in work.pop().operands:
            op = inside.get(value)
            if op is None or id(op) in own or id(op) in taken:
                continue
            if not _is_arithmetic(op):
                return Refusal(
                    f"%{value.name or '?'} is made in one body of the nest and used "
                    "in another"
                )
            taken[id(op)] = op
            work.append(op)
    first = tuple(op for op in root.walk() if id(op) in taken)
    return UnitBody((*first, *piece.operations), piece.variables)


def _is_arithmetic(op: Operation) -> bool:
    reads = op.name.endswith(("load", "transfer_read"))
    return is_pure(op) and not reads and not op.regions
