"""PTX text in memory: statements, instructions, kernels."""
