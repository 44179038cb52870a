"""The thread pool of parallel loops, compiled to machine code."""
