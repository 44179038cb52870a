"""Hand-written GPU text: launches and kernels in one form.

- `host_gpu`: operations of gpu on the host
- `inline_launches`: all launches in one form
- `launches_to_loops`: launches as parallel loops
"""

from __future__ import annotations
