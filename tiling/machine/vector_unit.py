"""The vector unit of a core: what its registers hold, and what it does in a cycle."""

from __future__ import annotations

from dataclasses import dataclass, replace

HELD = {(512, 32): 0.5, (256, 16): 0.0, (128, 32): 1.0}
"""Share of a step's broadcasts that wait in registers, by their bits and number.

With AVX-512 9x3, 7x4 and 3x8 vectors spill and run at half the rate of 8x3 and 6x4 (5x5
and 4x6 do if they prefetch); with AVX2 4x3 and 6x2 do not, 7x2 do; on ARM 6x4 do, 7x3
and 5x4 do not.
"""
FEWEST_LANES = 4
"""Elements side by side for which a vector pays, whatever a register holds."""
IN_FLIGHT = 1.5
"""Most accumulators of a sum, in those that a latency needs: registers are few."""


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The vector unit of a core: register width and count, issue rates per cycle.

    ``narrowest``: bits of the narrowest integers that it multiplies several of in a
    word of 32 bits.
    """

    bits: int = 256
    registers: int = 16
    fma_per_cycle: int = 2
    latency: int = 4
    narrowest: int = 32

    @property
    def loads_per_cycle(self) -> int:
        """Loads and broadcasts of a register: 64 bytes, in two loads at most.

        >>> VectorUnit(512, 32).loads_per_cycle, VectorUnit(256).loads_per_cycle
        (1, 2)
        """
        return min(2, 512 // self.bits)

    @property
    def products_per_cycle(self) -> int:
        """Multiply-adds of a register: as many bytes as are loaded, at least.

        >>> VectorUnit(512, 32).products_per_cycle, VectorUnit().products_per_cycle
        (1, 2)
        """
        return min(self.fma_per_cycle, self.loads_per_cycle)

    def held(self, rows: int) -> int:
        """Registers of scalars of A that are loaded ahead of their use.

        >>> [VectorUnit(*unit).held(6) for unit in ((512, 32), (256, 16), (128, 32))]
        [3, 0, 6]
        """
        return int(rows * HELD.get((self.bits, self.registers), 0.5))

    def accumulators(self, rows: int, row_bits: int) -> int:
        """Registers that each sum of a tile is split between (accumulator splitting).

        A power of two, so that about as many multiply-adds as are issued until one has
        its sum are not of the same register.

        >>> [VectorUnit(512, 32).accumulators(rows, 512) for rows in (1, 2, 4)]
        [4, 2, 1]
        >>> [VectorUnit(512, 32).accumulators(rows, 200) for rows in (1, 3, 7)]
        [8, 4, 1]
        """
        unit = self.holding(row_bits)
        products = rows * -(-row_bits // unit.bits)
        most = IN_FLIGHT * unit.latency * unit.products_per_cycle // products
        return 1 << max(0, int(most).bit_length() - 1)

    @property
    def halved(self) -> VectorUnit:
        """The registers left for sums beside as many products.

        >>> VectorUnit(512, 32).halved.registers
        16
        """
        return replace(self, registers=self.registers // 2)

    def holding(self, bits: int) -> VectorUnit:
        """With registers as small as a power of two may be for so many bits.

        >>> VectorUnit(512, 32).holding(96).bits, VectorUnit(512, 32).holding(5000).bits
        (128, 512)
        """
        return replace(self, bits=min(self.bits, 1 << (bits - 1).bit_length()))

    def lanes(self, element_bits: int) -> int:
        """Elements in one register.

        >>> VectorUnit(512, 32).lanes(32)
        16
        """
        return self.bits // element_bits
