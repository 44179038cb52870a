"""Tiles of arrays copied to fast memory, and the accesses that go there instead.

- `levels`: at which loops tiles are held
- `choice`: which arrays get a buffer there
- `scope`: names of the model as values
- `redirect`: accesses sent to the buffer
- `copies`: copies as loops
- `rows`: what one transfer moves
- `transfers`: copies as transfers
- `promote`: the pass
"""

from __future__ import annotations

from gpucodegen.passes.gpu.transfers.promote.promote import Promote

__all__ = ["Promote"]
