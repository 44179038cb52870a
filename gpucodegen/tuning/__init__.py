"""Tuning: schedules timed in turn, the winner stored and looked up.

- `choices`: what may vary, and the order of trials
- `subject`: what is tuned, as data for other processes
- `task`: the same with all that a tuning needs
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
