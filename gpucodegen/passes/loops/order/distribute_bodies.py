"""Loop distribution: one nest per piece of an imperfect body, where that is legal.

Distributing the loops around pieces G1; G2; .. runs all iterations of G1 before any of
G2.  It keeps every dependence iff there is none from a later piece to an earlier one:

    { x -> y in Dep : x in Gj, y in Gi, i < j } = {}
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.passes.analysis.queries import Analysis
from gpucodegen.passes.framework.nests import inner_operations

Piece = tuple[Operation, ...]


def distribute(op: Operation, analysis: Analysis) -> list[Operation]:
    """Nests, one per piece of the innermost imperfect body, or ``[op]``."""
    chain = [op]
    while True:
        inner = inner_operations(chain[-1])
        if chain[-1].results:
            return [op]
        if len(inner) != 1 or inner[0].name != "affine.for":
            break
        chain.append(inner[0])
    pieces = split(inner)
    if len(pieces) < 2 or not _legal(pieces, analysis):
        return [op]
    return [_around(chain, piece) for piece in pieces]


def split(operations: Sequence[Operation]) -> list[Piece]:
    """Cut before and after every loop; scalar values must not cross a cut."""
    pieces: list[list[Operation]] = [[]]
    for op in operations:
        if op.regions:
            pieces += [[op], []]
        else:
            pieces[-1].append(op)
    found = [tuple(piece) for piece in pieces if piece]
    return found if _self_contained(found) else [tuple(operations)]


def _self_contained(pieces: Sequence[Piece]) -> bool:
    defined: dict[Value, int] = {}
    for number, piece in enumerate(pieces):
        for op in piece:
            defined.update(dict.fromkeys(op.results, number))
    return all(
        defined.get(value, number) == number
        for number, piece in enumerate(pieces)
        for op in piece
        for nested in op.walk()
        for value in nested.used
    )


def _legal(pieces: Sequence[Piece], analysis: Analysis) -> bool:
    numbers = {
        id(nested): number
        for number, piece in enumerate(pieces)
        for op in piece
        for nested in op.walk()
    }
    return not analysis.leads_back(numbers)


def _around(chain: Sequence[Operation], piece: Piece) -> Operation:
    """A copy of the loops of ``chain`` around one piece."""
    body = piece
    for loop in reversed(chain):
        terminator = loop.body.operations[-1]
        body = (loop.with_body((*body, terminator)),)
    return clone(body[0])
