"""Tasks of threads, blocks, stripes, and the register tile in their middle."""

from __future__ import annotations
