"""An access to memory as its instruction states it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SHARED_START = 1024
"""The first address of shared memory that a block may use, as on sm_90."""
SHARED_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW = 1 << 40, 2 << 40, 3 << 40
"""Where shared and local memory and parameters lie among the generic addresses."""
RANK = 24
"""The bit from which on a shared address holds a block's rank in its cluster, plus one;
zero stands for the block itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One instruction that reads or writes ``count`` elements at once.

    ``index`` is that of the instruction, ``offset`` what is added to the address, in
    bytes; ``dtype`` is NumPy's name of an element.
    """

    index: int
    space: str
    offset: int
    dtype: str
    count: int
    width: int
    """Bytes that one lane moves: at most 16."""
    shift: int
    """The width as a power of two."""
    order: str = ""
    """``relaxed`` or more if it is atomic in itself, as ``.volatile`` ones are too."""

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.width // self.count

    @staticmethod
    def of(
        index: int,
        space: str,
        offset: int,
        dtype: str,
        count: int = 1,
        size: int = 0,
        order: str = "",
    ) -> Site:
        """A site; ``size`` is that of an element, if NumPy's type does not tell."""
        width = count * (size or np.dtype(dtype).itemsize)
        return Site(
            index, space, offset, dtype, count, width, width.bit_length() - 1, order
        )
