"""Conversion of programs of any dialect to affine loop nests on buffers."""
