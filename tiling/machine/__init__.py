"""What is fast: facts of processors and devices, plans and their costs."""

from __future__ import annotations
