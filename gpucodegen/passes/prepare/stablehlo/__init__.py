"""Import of StableHLO as linalg on tensors, one rule per operation."""
