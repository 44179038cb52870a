"""Import of TOSA as linalg on tensors, one rule per operation."""
