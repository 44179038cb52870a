"""Vectors that no register holds: buffers, and loops over their elements."""
