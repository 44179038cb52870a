"""Plans of contractions on a CPU."""

from __future__ import annotations
