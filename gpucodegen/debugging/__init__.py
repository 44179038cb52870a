"""What the compiler tells of itself, on standard error and in a trace."""
