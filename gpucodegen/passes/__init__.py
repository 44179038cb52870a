"""Compiler passes: rewrites from module to module."""
