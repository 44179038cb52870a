"""One rule per instruction: what it does to the registers of all lanes."""

from __future__ import annotations
