"""Tuning: schedules timed in turn, the winner stored and looked up.

- `schedules`: what of a function may vary
- `subject`: what is tuned, as data for other processes
- `arguments`: those of a call, as copies that lie alike
- `contest`: schedules timed in turn
- `agreement`: whether they leave the same numbers
- `contained`: a contest in a process of its own
- `worker`: that process
- `effort`: how long it may take
- `tune`: the search
- `result`: what came of it
- `progress`: what a terminal shows meanwhile
- `plot`: pictures of it
"""

from __future__ import annotations
