"""The version of this package, for the build, the commands and the keys of results."""

from __future__ import annotations

__version__ = "0.2.0"
