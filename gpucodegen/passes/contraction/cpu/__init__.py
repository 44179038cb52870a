"""A contraction as CPU code.

| module | holds |
|---|---|
| `forms` | whether a nest is a contraction that pays, and how it can be computed |
| `choice` | its facts for the plan, and the lowering of the kind that is chosen |
| `blocking`, `ranges`, `sharing` | axes, panels, blocks and loops over them |
| `register_tiles` | kernels that keep a tile of the result in registers |
| `packing` | where these read their factors: in place, or from copies |
| `packed_dots` | narrow integers several in a word (VNNI) |
| `kernels` | kernels of other kinds |
"""

from __future__ import annotations
