"""What a host program calls: buffers, launches, transfers."""
