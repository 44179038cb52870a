"""Narrow integers packed into words whose products one instruction adds."""

from __future__ import annotations
