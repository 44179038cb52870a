"""What `tiling` proves of a function, asked and answered by operation."""
