"""Elementwise expressions, transposition and copies."""
