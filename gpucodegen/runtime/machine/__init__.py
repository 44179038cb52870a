"""The processor: features, caches, quotas.

- `quota`: how much time a container gives
- `processor`: vectors, caches and threads
- `processors`: processors by name
"""

from __future__ import annotations
