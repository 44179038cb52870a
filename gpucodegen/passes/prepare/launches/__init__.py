"""Hand-written GPU text: launches and kernels in one form.

- `dynamic_shared`: memory whose size the launch gives
- `exchanges`: lanes that a shuffle reads
- `host_gpu`: operations of gpu on the host
- `identities`: what a thread knows of itself
- `inline_launches`: all launches in one form
- `launches_to_loops`: launches as parallel loops
- `refused`: what no kernel has, and what to write instead
"""

from __future__ import annotations
