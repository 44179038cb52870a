"""Tuning: knobs, the space of their values, search, verdict, store.

- `knobs`: what may vary
- `space`: legal combinations
- `trials`: one of them and what became of it
- `strategies`: the order in which they are tried
- `search`: the fastest within a budget
- `verdict`: whether one is faster
- `ranks`: how well two orders agree
- `store`: all trials in one file
- `database`: that file, opened and checked
- `rows`: what is written there
- `claims`: which process measures what
- `exchange`: the store as JSON
"""

from __future__ import annotations
