"""Constants as data: numbers, dense elements, resources."""

from __future__ import annotations
