"""Pieces of Python source.

- `fragments`: expressions that know how tightly they bind
- `expressions`: affine expressions
- `conditions`: integer sets
- `names`: identifiers that are in use
- `source`: indented lines and where they come from
- `header`: which intrinsics a module takes from which face
"""

from __future__ import annotations
