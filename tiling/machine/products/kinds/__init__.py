"""The kinds of kernel that a contraction may become, each with its sizes and its cost.

| module | decides |
|---|---|
| `in_place` | how long rows of a factor are streamed |
| `im2row` | which lines of an image tasks copy |
| `outer_panels` | how threads share outer axes and panels |
| `stripes`, `task_grid` | which stripes of a factor tasks pack, and what tiles fetch |
| `dots`, `packed_dots` | tiles of inner products; integers several in a word |
| `transposed_result` | whether lanes better walk the rows |
| `split_k` | in how many parts threads share the reduction |
| `window` | how many pixels of a window over one channel stay in registers |
"""

from __future__ import annotations
