"""Packed dot products: narrow integers in words, whose products a processor adds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpucodegen.tiling.machine.products.tiling import PACKING_PAYS

WORD = 32
"""Bits of a word, and of a sum."""
BYTE = 8
"""Bits of the narrowest integers that any processor multiplies several of."""


@dataclass(frozen=True, slots=True)
class Part:
    """Integers of so many bits."""

    bits: int
    signed: bool = True

    @property
    def count(self) -> int:
        """How many a word holds."""
        return WORD // self.bits

    @property
    def other_sign(self) -> Part:
        """With the sign changed: what an inverted top bit makes of them."""
        return replace(self, signed=not self.signed)

    def holds(self, other: Part) -> bool:
        """Whether these are able to represent all of the others."""
        spare = self.bits - other.bits
        return spare >= 0 if self.signed == other.signed else self.signed and spare > 0


@dataclass(frozen=True, slots=True)
class PackedDots:
    """What parts words of two factors have.

    ``shift``: how far elements of the right factor lie above what is multiplied.
    """

    left: Part
    right: Part
    shift: int = 0


def plan_packed_dots(
    left: Part, right: Part, narrowest: int, rows: int
) -> PackedDots | None:
    """What parts words of two factors have; None where words do not pay.

    ``narrowest``: bits of the narrowest parts that the processor multiplies: 16, pairs
    of signed ones, on every x86 (PMADDWD); 8, unsigned times signed ones, with AVX-512
    VNNI (VPDPBUSD).  ``rows``: of the result; the right factor is packed once for all.
    The left one is summed up once for all columns if the right one is shifted; even for
    8 columns of sums of 512 that takes 0.8 of the time of pairs on a Zen 4.

    >>> i8, u8 = Part(8), Part(8, signed=False)
    >>> plan_packed_dots(u8, i8, 8, 64) == PackedDots(u8, i8)
    True
    >>> plan_packed_dots(i8, i8, 8, 64) == PackedDots(i8, u8, shift=-128)
    True
    >>> plan_packed_dots(i8, i8, 16, 64) == PackedDots(Part(16), Part(16))
    True
    >>> plan_packed_dots(Part(16, signed=False), i8, 8, 64) is None
    True
    """
    if rows < PACKING_PAYS or narrowest > 2 * BYTE:
        return None
    if left.bits == right.bits == BYTE == narrowest:
        if left.signed != right.signed:
            return PackedDots(left, right)
        return PackedDots(left, right.other_sign, -128 if right.signed else 128)
    pair = Part(2 * BYTE)
    fits = pair.holds(left) and pair.holds(right)
    return PackedDots(pair, pair) if fits else None
