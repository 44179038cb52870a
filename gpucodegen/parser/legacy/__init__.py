"""Text of earlier years."""
