"""The iterations of one loop: unrolled, peeled, split, coalesced."""

from __future__ import annotations
