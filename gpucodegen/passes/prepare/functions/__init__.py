"""Functions: calls inlined, argument types fixed, branches put into loops."""

from __future__ import annotations
