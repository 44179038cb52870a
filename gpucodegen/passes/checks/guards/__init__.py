"""Checks of the accesses that are not proven to stay inside their buffers."""
