"""The processor: features, caches, quotas."""

from __future__ import annotations
