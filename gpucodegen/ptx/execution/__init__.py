"""Execution of translated kernels: lanes, memory, checks, counters."""
