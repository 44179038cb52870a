"""How operations are defined: syntax, constraints, kinds of attributes, printing."""

from __future__ import annotations
