"""Outer-loop vectorization: a row of a recurrence in each lane."""

from __future__ import annotations
