"""What stands around a contraction, computed in its tiles: prologue and epilogue."""

from __future__ import annotations
