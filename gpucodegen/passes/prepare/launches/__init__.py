"""Hand-written GPU text: launches and kernels in one form."""

from __future__ import annotations
