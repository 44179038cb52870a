"""From a module to a compiled function: pipeline, lowering, artifact."""

from __future__ import annotations
