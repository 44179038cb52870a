"""From a program of any dialect to affine loop nests on buffers."""

from __future__ import annotations
