"""Ready-made operations: MLIR sources and thin typed wrappers on the public API."""

from __future__ import annotations
