"""Programs against their peers, measured in one process."""

from __future__ import annotations
