"""The shape dialect."""

from __future__ import annotations
