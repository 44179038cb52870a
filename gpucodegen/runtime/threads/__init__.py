"""The threads that kernels share.

- `native_code`: functions of words, compiled once
- `own_pool`: our pool in this process
- `numba_pool`: Numba's, where there are no POSIX threads
- `pool`: which of them
"""

from __future__ import annotations
