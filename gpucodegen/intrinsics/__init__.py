"""Intrinsics that generated code calls, with a CPU and a CUDA backend."""
