"""Names in the text: blocks, and SSA values with their uses."""

from __future__ import annotations
