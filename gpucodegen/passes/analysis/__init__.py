"""What `tiling` proves of a function, asked and answered by operation."""

from __future__ import annotations
