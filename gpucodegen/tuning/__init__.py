"""Tuning: schedules timed in turn, the winner stored and looked up."""
