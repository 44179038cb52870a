"""Autotuning: schedules are timed in turn; the winner is stored and looked up."""
