"""Permutable bands: runs of nested loops that may be tiled and interchanged at will.

Comes in: a `Model` and its dependences. Goes out: the bands in pre-order. Each loop is
in exactly one; a band is as long as nesting and dependences allow, from outside in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.tiling.model.scop import If, Loop, Node
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import Refusal, check_tiling, rectangular


@dataclass(frozen=True, slots=True)
class Band:
    """A permutable run of perfectly nested loops and what ended it."""

    loops: tuple[Loop, ...]
    outer: tuple[Loop, ...]
    rectangular: bool
    ended_by: Refusal | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The loops' names, outermost first."""
        return tuple(loop.name for loop in self.loops)


def bands(
    body: tuple[Node, ...], found: Sequence[Dependence], *, relaxed: bool = False
) -> tuple[Band, ...]:
    """All bands of a program with these dependences.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> diagonal = Statement("S", (read("A", "i + 1", "j - 1"), write("A", "i", "j")))
    >>> body = nest([Loop("i", "0", "4"), Loop("j", "1", "5")], (diagonal,))
    >>> scop = Scop(arrays=(Array("A", (5, 5)),), body=body)
    >>> found = bands(body, dependences(model(scop)))
    >>> [band.names for band in found]
    [('i',), ('j',)]
    >>> print(found[0].ended_by)
    a dependence points backward along loop j: S at (i=0, j=2) reads A[1, 1] and \
S at (i=1, j=1) writes it
    """
    return tuple(_bands(body, (), found, relaxed))


def _bands(
    body: tuple[Node, ...],
    outer: tuple[Loop, ...],
    found: Sequence[Dependence],
    relaxed: bool,
) -> Iterator[Band]:
    for node in body:
        match node:
            case Loop():
                band = _band_from(node, outer, found, relaxed)
                yield band
                inside = (*outer, *band.loops)
                yield from _bands(band.loops[-1].body, inside, found, relaxed)
            case If():
                yield from _bands((*node.body, *node.orelse), outer, found, relaxed)
            case _:
                pass


def _band_from(
    loop: Loop, outer: tuple[Loop, ...], found: Sequence[Dependence], relaxed: bool
) -> Band:
    chain = (loop,)
    refusal = None
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], Loop):
        longer = (*chain, chain[-1].body[0])
        refusal = check_tiling(found, longer, relaxed=relaxed)
        if refusal:
            break
        chain = longer
    return Band(chain, outer, rectangular(chain), refusal)
