"""Characters to words and strings."""

from __future__ import annotations
