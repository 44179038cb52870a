"""The runtime of host programs: buffers, engines, launches, transfers."""
