"""The operations that give a function memory of its own, on the heap or the stack."""

from __future__ import annotations

ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})
