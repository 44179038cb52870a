"""Loop schedules: skewing, isl's scheduler, loop generation and promotion."""
