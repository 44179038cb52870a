"""Calls of a compiled function.

- `scalars`: numbers as arguments
- `signature`: the arguments of a first call, checked and converted
- `repeated`: calls of an earlier form, which need no such checks
- `direct`: calls that are one launch on the arguments themselves
- `remembered`: calls that an earlier process made
"""

from __future__ import annotations
