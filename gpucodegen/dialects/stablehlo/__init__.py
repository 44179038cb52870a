"""StableHLO and CHLO as printed by JAX, as far as they lower to linalg on tensors."""
