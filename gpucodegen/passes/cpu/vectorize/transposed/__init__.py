"""Two loops that transpose: `accesses` recognizes them, `tiles` runs them."""

from __future__ import annotations
