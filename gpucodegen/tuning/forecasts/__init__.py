"""Tuning for a GPU that is not here: estimates in the place of times.

- `forecast`: what a model expects of a schedule, and whether its numbers are right
- `basis`: whether a tuning is a forecast, and for which architecture
- `reduced`: arguments so small that the emulated device runs all of a call
"""

from __future__ import annotations
