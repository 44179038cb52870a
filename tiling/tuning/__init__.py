"""Autotuning: knobs, search, statistics of comparisons, and the store of winners."""
