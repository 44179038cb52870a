"""Conversion of MLIR text of 2018 to 2025 to today's operations."""
