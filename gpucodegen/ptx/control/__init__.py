"""Control between basic blocks, as a graph of numbers that knows no instruction.

Comes in: for every basic block the blocks that may run next; the number after the last
block is the exit.

- `meetings`: where ways meet again
- `nesting`: loops within loops, and an order in which inner loops come first
"""

from __future__ import annotations
