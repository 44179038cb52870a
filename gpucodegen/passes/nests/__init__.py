"""Loops chosen by name, asked for legality, distributed and replaced."""
