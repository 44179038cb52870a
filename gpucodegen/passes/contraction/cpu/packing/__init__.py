"""Factors read in place, or copied to panels first."""

from __future__ import annotations
