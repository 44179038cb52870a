"""One host function as source."""

from __future__ import annotations
