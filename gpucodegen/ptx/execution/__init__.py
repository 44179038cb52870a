"""Lanes at work: control, memory, checks, counters."""
