"""The library of C in this process, as `ctypes` finds it."""

from __future__ import annotations

import sys

C_LIBRARY = "ucrtbase" if sys.platform == "win32" else None
"""Its name; None, which Windows does not know, is whatever the process has loaded."""
