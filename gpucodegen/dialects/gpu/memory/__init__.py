"""Memory of a device."""

from __future__ import annotations
