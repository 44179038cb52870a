"""How an intrinsic is made for each compiler."""

from __future__ import annotations
