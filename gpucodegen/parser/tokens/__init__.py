"""Characters to tokens, numbers and strings."""

from __future__ import annotations
