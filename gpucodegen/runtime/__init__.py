"""The runtime: devices, buffers, compilation, disk cache and launches."""
