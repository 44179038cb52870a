"""How intrinsics are defined for each compiler backend."""
