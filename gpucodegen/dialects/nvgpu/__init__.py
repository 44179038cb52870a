"""The nvgpu dialect."""

from __future__ import annotations
