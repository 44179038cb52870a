"""Reductions along a row, on vectors.

- `accumulations`: what a loop accumulates
- `rows`: partial results in lanes, added up after the loop
- `argminmax`: loops that keep the best value and its place
- `argminmax_lanes`: what each lane keeps
"""

from __future__ import annotations
