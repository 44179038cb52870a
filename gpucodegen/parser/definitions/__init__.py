"""What a file defines beside its operations: aliases, and resources at its end."""

from __future__ import annotations
