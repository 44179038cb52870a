"""Threads that share the iterations of parallel loops, as machine code."""
