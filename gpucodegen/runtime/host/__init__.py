"""What a host program calls: buffers, launches, transfers."""

from __future__ import annotations
