"""The ub dialect."""

from __future__ import annotations
