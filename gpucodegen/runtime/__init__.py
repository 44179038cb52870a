"""Devices, buffers, compilation, disk cache and launches."""
