"""Which buffer a memref shows, and which ones leave a region."""

from __future__ import annotations
