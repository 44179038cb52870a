"""Constants that are no lists: sparse elements, resources, opaque data."""

from __future__ import annotations
