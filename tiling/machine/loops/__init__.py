"""Plans of other loops on a CPU: vectors, rows, streams, time tiles."""

from __future__ import annotations
