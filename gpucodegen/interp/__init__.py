"""The reference interpreter: runs a module as it is written, operation by operation."""
