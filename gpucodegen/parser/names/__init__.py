"""Names in the text: aliases, blocks, SSA values."""

from __future__ import annotations
