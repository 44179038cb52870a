"""Tuning: knobs, the space of their values, search, verdict, store.

- `knobs`: what may vary
- `space`: legal combinations
- `search`: the fastest within a budget
- `verdict`: whether one is faster
- `store`: all trials in one file
"""

from __future__ import annotations
