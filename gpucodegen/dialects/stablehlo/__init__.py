"""StableHLO, and what JAX prints of CHLO, as far as it means linalg on tensors."""
