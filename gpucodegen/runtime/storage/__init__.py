"""The disk cache, and machine code in it."""
