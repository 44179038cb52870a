"""The tensor dialect."""
