"""The order of iterations: interchange, fusion, distribution, skewing."""

from __future__ import annotations
