"""The polyhedral model: a program part as integer relations, on isl."""

from __future__ import annotations
