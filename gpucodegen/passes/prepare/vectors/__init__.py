"""Lowering of vectors that no register holds to buffers and loops."""
