"""The processor: features, caches, quotas; and the library of C.

- `c_library`: its name
- `quota`: how much time a container gives
- `processor`: vectors, caches and threads
- `processors`: processors by name
"""

from __future__ import annotations
