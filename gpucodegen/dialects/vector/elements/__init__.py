"""Elements and parts of vectors."""

from __future__ import annotations
