"""Types, memref layouts of all vintages included."""

from __future__ import annotations
