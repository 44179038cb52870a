"""Checks of programs and of their mapping: errors, warnings and run-time guards."""
