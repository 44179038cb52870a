"""The bufferization dialect."""

from __future__ import annotations
