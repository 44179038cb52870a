"""From how many bytes on rows are bulk copies: ``gcg.bulk_row`` of a kernel.

Comes in: what the mapping decided, by its estimate or as the caller asks.  Goes out: an
attribute of the kernel, from which the code generator plans the copies.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects.nvgpu.copy_kinds import LEAST_ROW
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I64

NAME = "gcg.bulk_row"


@dataclass(frozen=True, slots=True)
class BulkRows:
    """Rows of ``row`` bytes and more are bulk copies where the device has them."""

    row: int = LEAST_ROW

    @property
    def cost(self) -> float:
        """How far it is from the estimate, in powers of two."""
        return abs(self.row.bit_length() - LEAST_ROW.bit_length())


ON_OFFER = tuple(BulkRows(1 << n) for n in range(4, 15))
"""From rows of 16 bytes on to none but those of 16 KiB."""


def with_rows(kernel: Operation, rows: BulkRows) -> Operation:
    """A kernel with what is decided.

    >>> least_row(with_rows(Operation("gpu.func"), BulkRows(64)))
    64
    """
    return kernel.with_attribute(NAME, IntegerAttr(rows.row, I64))


def least_row(kernel: Operation) -> int:
    """Bytes of the shortest rows that are bulk copies in a kernel."""
    found = kernel.attributes.get(NAME)
    return found.value if isinstance(found, IntegerAttr) else LEAST_ROW
