"""Tuning: schedules timed in turn, the winner stored and looked up.

- `schedules`: what of a function may vary
- `contest`: schedules timed in turn
- `tune`: the search
- `stored`: winners looked up
"""

from __future__ import annotations
