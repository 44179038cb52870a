"""Memory cells as values of an iteration, or with a cell for each iteration."""

from __future__ import annotations
