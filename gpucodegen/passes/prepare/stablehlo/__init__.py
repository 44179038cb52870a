"""StableHLO as linalg on tensors, a rule for each operation."""
