"""Diagnostics of the compiler: verbosity, timing, settings, terminal and notebooks."""
