"""One kernel function as source."""

from __future__ import annotations
