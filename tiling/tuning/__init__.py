"""Tuning: knobs, the space of their values, search, verdict, store."""
