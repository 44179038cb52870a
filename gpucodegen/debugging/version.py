"""Version of this package, used by the build, the commands and cache keys."""

from __future__ import annotations

__version__ = "0.2.0"
