"""From a program of any dialect to affine loop nests on buffers."""
