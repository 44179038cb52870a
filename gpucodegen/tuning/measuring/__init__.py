"""Schedules of a function, compared and timed.

- `arguments`: those of a call, as copies that lie alike
- `rotation`: many such copies, so that no call finds its own in a cache
- `clocks`: of the host, and of a device
- `device_clock`: that one, which keeps the host ahead
- `contest`: schedules timed in turn
- `agreement`: whether they leave the same numbers
- `contained`: a contest in a process of its own
- `crew`: other processes that compile for it
- `hired`: trials in the workers of an executor
- `worker`: that process
"""

from __future__ import annotations
