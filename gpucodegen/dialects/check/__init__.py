"""The check dialect of IREE and StableHLO: what a program expects of its values."""

from __future__ import annotations
