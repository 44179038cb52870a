"""Decides what may be done to a loop nest, and which of it is fast."""
