"""What a lane starts now and waits for later.

- `copies`: ``cp.async``
- `warpgroups`: ``wgmma``
- `mbarriers`: barriers in memory, bulk and tensor copies
- `stores`: bulk copies to global memory
"""

from __future__ import annotations
