"""Tuning: knobs, the space of their values, search, verdict, store.

- `knobs`: what may vary
- `space`: legal combinations
- `trials`: one of them and what became of it
- `strategies`: the order in which they are tried
- `search`: the fastest within a budget
- `verdict`: whether one is faster
- `correction`: what trials teach the model
- `ranks`: how well two orders agree
- `records`: all of it in one file
"""

from __future__ import annotations
