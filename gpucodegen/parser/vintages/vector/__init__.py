"""The vector dialect of 2019 to 2024."""

from __future__ import annotations
