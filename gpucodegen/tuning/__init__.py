"""Tuning: schedules timed in turn, the winner stored and looked up.

- `schedules`: what of a function may vary
- `holes`: what of a pipeline may
- `subject`: what is tuned, as data for other processes
- `measuring`: schedules compared and timed
- `effort`: how long it may take
- `forecasts`: estimates, for a GPU that is not here
- `tune`: the search
- `final`: the fastest against the default
- `result`: what came of it
- `progress`: what a terminal shows meanwhile
- `work`: what a call has to do at least
"""

from __future__ import annotations
