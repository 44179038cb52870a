"""The gcg dialect: operations and attributes of this package."""

from __future__ import annotations
