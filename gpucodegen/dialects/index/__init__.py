"""The index dialect."""

from __future__ import annotations
